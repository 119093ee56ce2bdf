"""Read the files and compute the measures, by topic."""

from importlib import import_module
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trec_eval.errors import NOT_COMPUTED, TrecEvalError
from assay.trec_eval.inputs.files import BYTES
from assay.trec_eval.inputs.qrels import Reading
from assay.trec_eval.measures.catalog import MEASURES, Relevance, TrecMeasure
from assay.trec_eval.measures.parameters import Parameters, parse_parameters
from assay.trec_eval.options import Options

# A module is imported when its format is used: the module for preferences takes a tenth of a short evaluation.
READERS: dict[str, tuple[Relevance, str]] = {
    "qrels": ("qrels", "qrels"),
    "qrels_jg": ("groups", "groups"),
    "prefs": ("preferences", "preferences"),
    "qrels_prefs": ("preferences", "preferences"),
}
FORMAT_OF = {"qrels": "qrels", "groups": "-R qrels_jg", "preferences": "-R prefs or -R qrels_prefs"}


class Column(NamedTuple):
    """The values of a measure by topic: numbers or text. None for a measure without values of topics."""

    name: str
    measure: TrecMeasure
    values: NDArray[np.float64] | list[str] | None


class Evaluation(NamedTuple):
    """The values of all measures.

    topics : the evaluated topics, sorted by bytes.
    tag : the run's tag.
    n_left_out : number of topics of the qrels that are left out because the run does not have them.
    """

    topics: list[str]
    columns: list[Column]
    tag: bytes
    n_left_out: int


def evaluate(options: Options, measures: dict[str, str | None]) -> Evaluation:
    """Read the files and compute the measures, given as names with their parameters.

    Raises
    ------
    TrecEvalError
        A file cannot be used, a measure cannot be computed from it, or a parameter is not accepted.
    """
    relevance, module = READERS[options.format]
    for name in measures:
        relevance_of_measure = MEASURES[name].relevance
        if relevance_of_measure not in ("any", relevance):
            raise TrecEvalError(
                f"measure {name} is computed from {FORMAT_OF[relevance_of_measure]}, not from -R {options.format}",
                status=NOT_COMPUTED,
            )
    parameters = {
        name: parse_parameters(name, MEASURES[name].kind, MEASURES[name].default, text)
        for name, text in measures.items()
    }
    reading: Reading = import_module(f"assay.trec_eval.inputs.{module}").read(options)
    is_counted = np.ones(len(reading.topics), dtype=np.bool_) if options.is_complete else reading.n_lines > 0
    if options.topic is not None:
        is_counted &= np.array(reading.topics) == options.topic.encode(errors="surrogateescape").decode(BYTES)
    columns = [
        column for name in measures for column in _columns(reading, name, parameters[name], is_counted)
    ]
    topics = list(compress(reading.topics, is_counted.tolist()))
    n_left_out = 0 if options.topic is not None else len(reading.topics) - len(topics)
    return Evaluation(topics, columns, reading.run.tag, n_left_out)


def _columns(
    reading: Reading, name: str, parameters: Parameters, is_counted: NDArray[np.bool_]
) -> list[Column]:
    measure = MEASURES[name]
    if measure.relevance == "any":
        return [Column(name, measure, None)]
    values = reading.compute(name, parameters)
    if measure.summary == "none":
        return [Column(parameters.names[0], measure, list(compress(values, is_counted.tolist())))]
    return [
        Column(name, measure, by_topic[is_counted])
        for name, by_topic in zip(parameters.names, values, strict=True)
    ]
