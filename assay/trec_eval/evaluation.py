"""Values of the measures that were asked for, by topic."""

from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trec_eval.errors import NOT_COMPUTED, TrecEvalError
from assay.trec_eval.inputs.files import BYTES
from assay.trec_eval.inputs.reading import Reading
from assay.trec_eval.measures.catalog import MEASURES, Relevance, TrecMeasure
from assay.trec_eval.measures.parameters import Parameters, parameters
from assay.trec_eval.options import Options

# Modules are loaded when they are asked for: what reads preferences would take a tenth of a short evaluation.
READERS: dict[str, tuple[Relevance, str]] = {
    "qrels": ("qrels", "qrels"),
    "qrels_jg": ("groups", "groups"),
    "prefs": ("preferences", "preferences"),
    "qrels_prefs": ("preferences", "preferences"),
}
SAID = {"qrels": "qrels", "groups": "-R qrels_jg", "preferences": "-R prefs or -R qrels_prefs"}


class Column(NamedTuple):
    """A value of a measure for each topic: a number, or text. None for what has no value of a topic."""

    name: str
    measure: TrecMeasure
    values: NDArray[np.float64] | list[str] | None


class Evaluation(NamedTuple):
    """What was computed.

    topics : those evaluated, sorted by bytes.
    n_left_out : topics of the qrels that the run has not, and that were left out.
    """

    topics: list[str]
    columns: list[Column]
    tag: bytes
    n_left_out: int


def evaluate(options: Options, asked: dict[str, str | None]) -> Evaluation:
    """Read the files, and compute the measures.

    Raises
    ------
    TrecEvalError
        A file cannot be used, a measure cannot be computed from it, or a parameter is not accepted.
    """
    relevance, module = READERS[options.format]
    for name in asked:
        wanted = MEASURES[name].relevance
        if wanted not in ("any", relevance):
            raise TrecEvalError(
                f"measure {name} is computed from {SAID[wanted]}, and not from -R {options.format}",
                status=NOT_COMPUTED,
            )
    taken = {
        name: parameters(name, MEASURES[name].kind, MEASURES[name].default, text)
        for name, text in asked.items()
    }
    reading: Reading = import_module(f"assay.trec_eval.inputs.{module}").read(options)
    is_taken = np.ones(len(reading.topics), dtype=np.bool_) if options.is_complete else reading.n_lines > 0
    if options.topic is not None:
        is_taken &= np.array(reading.topics) == options.topic.encode(errors="surrogateescape").decode(BYTES)
    columns = [column for name in taken for column in _columns(reading, name, taken[name], is_taken)]
    topics = [topic for topic, taken_too in zip(reading.topics, is_taken.tolist(), strict=True) if taken_too]
    n_left_out = 0 if options.topic is not None else len(reading.topics) - len(topics)
    return Evaluation(topics, columns, reading.run.tag, n_left_out)


def _columns(reading: Reading, name: str, given: Parameters, is_taken: NDArray[np.bool_]) -> list[Column]:
    measure = MEASURES[name]
    if measure.relevance == "any":
        return [Column(name, measure, None)]
    values = reading.compute(name, given)
    if measure.summary == "none":
        taken = [text for text, is_one in zip(values, is_taken.tolist(), strict=True) if is_one]
        return [Column(given.names[0], measure, taken)]
    return [Column(name, measure, of[is_taken]) for name, of in zip(given.names, values, strict=True)]
