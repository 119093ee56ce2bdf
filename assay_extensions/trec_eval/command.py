"""Evaluate a run as trec_eval 10.0 does: `assay trec_eval [options] QRELS RUN`."""

import sys
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import plural
from assay.measures.matching import JudgedDocuments
from assay_extensions.trec_eval.catalog import MEASURES, NICKNAMES, Relevance, TrecMeasure, parse_measures
from assay_extensions.trec_eval.files import (
    BYTES,
    TrecRun,
    read_grouped_qrels,
    read_qrels,
    read_run,
    read_zscores,
)
from assay_extensions.trec_eval.options import (
    NOT_COMPUTED,
    NOTHING_COMMON,
    USAGE_LINE,
    Options,
    Parameters,
    TrecEvalError,
    parse,
    parse_parameters,
)
from assay_extensions.trec_eval.ranked import View

VERSION = "trec_eval version 10.0, as Assay computes it\n"
OPTIONS = """
options:
  -q                       also print the values of each topic
  -n                       do not print the values of all topics together
  -c                       average over all topics of QRELS; a topic missing from RUN counts 0 (otherwise: left out)
  -l LEVEL                 lowest grade that counts as relevant (default: 1)
  -J                       remove unjudged documents before computing
  -M DEPTH                 use only the first DEPTH documents of each topic
  -N NUMBER                number of documents in the collection, for utility
  -m MEASURE[.PARAMETERS]  measure, or nickname of several; repeat it for more (default: official)
  -R FORMAT                format of QRELS: qrels, qrels_jg (qrels of several groups of assessors), prefs
                           (preferences), qrels_prefs (qrels read as preferences)
  -Z FILE                  print Z scores; FILE has a topic, measure, mean and standard deviation per line
  -D LEVEL.TOPIC           evaluate only this topic
  -h, -v                   print this help, or the version

QRELS has a topic, 0, docno and grade per line. RUN has a topic, Q0, docno, rank, score and tag per line. Documents are
ordered by score, then by docno, both descending. A file may be compressed with gz, xz, bz2 or zip, or be - for standard
input. A line that begins with # is a comment.

example:
  assay trec_eval -q -m map -m ndcg_cut.5 qrels.txt runs/abacus-trec.txt
"""

MISSING = -1000000.0  # printed if the reference runs give no Z score
ALL = "all"
ZScores = dict[tuple[str, str], tuple[float, float]]


RELEVANCE: dict[str, Relevance] = {
    "qrels": "qrels",
    "qrels_jg": "groups",
    "prefs": "preferences",
    "qrels_prefs": "preferences",
}
FORMAT_OF = {"qrels": "qrels", "groups": "-R qrels_jg", "preferences": "-R prefs or -R qrels_prefs"}
# The values of a measure for all topics, by its name and parameters.
Compute = Callable[[str, Parameters], list[Any]]
Reading = tuple[Sequence[str], TrecRun, Compute]  # topics of the first file, sorted by bytes


class Column(NamedTuple):
    """The values of a measure by topic: numbers or text. None for a measure without values of topics."""

    name: str
    measure: TrecMeasure
    values: NDArray[np.float64] | list[str] | None


class Evaluation(NamedTuple):
    """The values of all measures.

    Args:
        topics: the evaluated topics, sorted by bytes.
        tag: the run's tag.
        n_left_out: number of topics of the qrels that are left out because the run does not have them.
    """

    topics: list[str]
    columns: list[Column]
    tag: bytes
    n_left_out: int


def evaluate(options: Options, measures: dict[str, str | None]) -> Evaluation:
    """Read the files and compute the measures, given as names with their parameters.

    Raises TrecEvalError: a file cannot be used, a measure cannot be computed from it, or a parameter is not accepted.
    """
    for name in measures:
        relevance = MEASURES[name].relevance
        if relevance not in ("any", RELEVANCE[options.format]):
            raise TrecEvalError(
                f"measure {name} is computed from {FORMAT_OF[relevance]}, not from -R {options.format}",
                status=NOT_COMPUTED,
            )
    parameters = {
        name: parse_parameters(name, MEASURES[name].kind, MEASURES[name].default, text)
        for name, text in measures.items()
    }
    if RELEVANCE[options.format] == "preferences":
        # not imported with this module: it takes a tenth of a short evaluation
        from assay_extensions.trec_eval.preferences import read  # noqa: PLC0415

        all_topics, run, compute = read(options)
    else:
        all_topics, run, compute = _read(options)
    is_counted = (
        np.ones(len(all_topics), dtype=np.bool_) if options.is_complete else run.n_lines(all_topics) > 0
    )
    if options.topic is not None:
        is_counted &= np.array(all_topics) == options.topic.encode(errors="surrogateescape").decode(BYTES)
    columns: list[Column] = []
    for name in measures:
        measure, names = MEASURES[name], parameters[name].names
        if measure.relevance == "any":
            columns.append(Column(name, measure, None))
            continue
        values = compute(name, parameters[name])
        if measure.summary == "none":
            columns.append(Column(names[0], measure, list(compress(values, is_counted.tolist()))))
        else:
            by_topic = zip(names, values, strict=True)
            columns += [
                Column(of_measure, measure, of_topics[is_counted]) for of_measure, of_topics in by_topic
            ]
    topics = list(compress(all_topics, is_counted.tolist()))
    n_left_out = 0 if options.topic is not None else len(all_topics) - len(topics)
    return Evaluation(topics, columns, run.tag, n_left_out)


def _read(options: Options) -> Reading:
    """A run with the qrels of each group; measures are means over the groups that judged the topic."""
    is_grouped, path = RELEVANCE[options.format] == "groups", options.files[0]
    qrels = read_grouped_qrels(path).values() if is_grouped else [read_qrels(path)]
    groups = [JudgedDocuments(columns) for columns in qrels]
    topics = sorted({code for judged in groups for code in judged.topics.tolist()})
    run = read_run(options.files[1], set(topics))
    views = [View.of(run.columns, judged, options) for judged in groups]
    places = [np.searchsorted(topics, judged.topics) for judged in groups]

    def compute(name: str, parameters: Parameters) -> list[Any]:
        kernel = MEASURES[name].compute
        assert kernel is not None
        if len(views) == 1:
            values: list[Any] = kernel(views[0], parameters)
            return values
        n_groups, totals = np.zeros(len(topics)), [np.zeros(len(topics)) for _ in parameters.names]
        for view, place in zip(views, places, strict=True):
            n_groups[place] += 1
            for total, of_group in zip(totals, kernel(view, parameters), strict=True):
                total[place] += of_group
        return [total / n_groups for total in totals]

    return topics, run, compute


def main(words: Sequence[str]) -> int:
    """Run the command and return trec_eval's exit status: 0, or another one after an error."""
    try:
        output = _output(parse(words))
    except TrecEvalError as error:
        print(f"trec_eval: {error}", file=sys.stderr)  # noqa: T201
        return error.status
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    return 0


def _output(options: Options) -> bytes:
    if options.is_version:
        sys.stderr.write(VERSION)
        return b""
    measures = parse_measures(options.measures)
    if options.is_help:
        return _help(list(measures) if options.measures else []).encode()
    evaluation = evaluate(options, measures)
    if not evaluation.topics:
        raise TrecEvalError("no topic has both results and relevance information", status=NOTHING_COMMON)
    if evaluation.n_left_out:
        qrels, run = options.files
        sys.stderr.write(
            f"trec_eval: {plural(evaluation.n_left_out, 'topic')} of {qrels} not in {run} and left out; "
            "-c counts them as 0\n"
        )
    zscores = None if options.zscores is None else read_zscores(options.zscores)
    return lines_of(
        evaluation, is_per_topic=options.is_per_topic, is_summed_up=options.is_summed_up, zscores=zscores
    )


def _help(names: list[str]) -> str:
    """The usage, and a line for each of the named measures, or for all."""
    lines = [f"{USAGE_LINE}\n{OPTIONS}\nmeasures:"]
    for name in names or MEASURES:
        default = ",".join(format(number, "g") for number in MEASURES[name].default)
        shown = f": {name}.{default}" if default else ""  # as -m accepts it
        lines.append(f"  {name:<24} {MEASURES[name].about}{shown}")
    if not names:
        lines.append("\nnicknames:")
        lines += [f"  {nickname:<24} {', '.join(measures)}" for nickname, measures in NICKNAMES.items()]
    return "\n".join(lines) + "\n"


def lines_of(
    evaluation: Evaluation, *, is_per_topic: bool, is_summed_up: bool, zscores: ZScores | None
) -> bytes:
    """The output. With `zscores`, it has deviations from the mean of reference runs instead of the values."""
    columns = evaluation.columns
    mark = ""
    if zscores is not None:
        columns = [_as_zscores(column, evaluation.topics, zscores) for column in columns]
        mark = "Z"
    lines: list[str] = []
    if is_per_topic:
        shown = []
        for name, measure, values in columns:
            if measure.is_of_topics and isinstance(values, np.ndarray):
                numbers = [_number(value, measure.is_whole) for value in values.tolist()]
                shown.append((f"{mark}{name:<22}\t", numbers))
            elif measure.is_of_topics and values is not None:
                shown.append((f"{name:<22}\t", [f"'{text}'" for text in values]))
        for n, topic in enumerate(evaluation.topics):
            lines += [f"{prefix}{topic}\t{texts[n]}\n" for prefix, texts in shown]
    for name, measure, values in columns if is_summed_up else ():
        if measure.summary == "tag":
            lines.append(f"{name:<22}\t{ALL}\t{evaluation.tag.decode(BYTES)}\n")
        elif measure.summary == "number of topics":
            lines.append(f"{mark}{name:<22}\t{ALL}\t{_number(float(len(evaluation.topics)), not mark)}\n")
        elif isinstance(values, np.ndarray):
            total = float(np.cumsum(values)[-1])  # added in order, like trec_eval does
            mean = total if measure.summary == "sum" else total / len(values)
            summary = float(np.exp(mean)) if measure.summary == "geometric mean" else mean
            lines.append(f"{mark}{name:<22}\t{ALL}\t{_number(summary, measure.is_whole)}\n")
    return "".join(lines).encode(BYTES)


def _as_zscores(column: Column, topics: list[str], zscores: ZScores) -> Column:
    if not isinstance(column.values, np.ndarray):
        return column
    values = []
    for topic, value in zip(topics, column.values.tolist(), strict=True):
        mean, deviation = zscores.get((topic, column.name), (None, 0.0))
        if mean is not None and deviation:
            values.append((value - mean) / deviation)
        else:
            values.append(0.0 if value == mean else MISSING)
    return column._replace(values=np.array(values), measure=column.measure._replace(is_whole=False))


def _number(value: float, is_whole: bool) -> str:
    return f"{value:.0f}" if is_whole else f"{value:6.4f}"
