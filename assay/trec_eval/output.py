"""The lines that trec_eval prints: those of each topic, then those of all topics."""

from collections.abc import Iterator

import numpy as np

from assay.measures.kernels import Values
from assay.trec_eval.evaluation import Column, Evaluation
from assay.trec_eval.inputs.files import BYTES

MISSING = -1000000.0  # printed if the reference runs give no Z score
ALL = "all"
ZScores = dict[tuple[str, str], tuple[float, float]]


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
        lines += _of_topics(evaluation.topics, columns, mark)
    if is_summed_up:
        lines += _of_all(evaluation, columns, mark)
    return "".join(lines).encode(BYTES)


def _as_zscores(column: Column, topics: list[str], zscores: ZScores) -> Column:
    if not isinstance(column.values, np.ndarray):
        return column
    values = [
        _zscore(value, zscores.get((topic, column.name)))
        for topic, value in zip(topics, column.values.tolist(), strict=True)
    ]
    return column._replace(values=np.array(values), measure=column.measure._replace(is_whole=False))


def _zscore(value: float, reference: tuple[float, float] | None) -> float:
    if reference is None:
        return MISSING
    mean, deviation = reference
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING


def _of_topics(topics: list[str], columns: list[Column], mark: str) -> Iterator[str]:
    formatted = [_format(column, mark) for column in columns if column.measure.is_of_topics]
    printed = [column for column in formatted if column]
    for n, topic in enumerate(topics):
        for prefix, texts in printed:
            yield f"{prefix}{topic}\t{texts[n]}\n"


def _format(column: Column, mark: str) -> tuple[str, list[str]] | None:
    """The prefix of a column's lines, and its values as text."""
    if column.values is None:
        return None
    if isinstance(column.values, list):
        return f"{column.name:<22}\t", [f"'{text}'" for text in column.values]
    texts = [_number(value, column.measure.is_whole) for value in column.values.tolist()]
    return f"{mark}{column.name:<22}\t", texts


def _number(value: float, is_whole: bool) -> str:
    return f"{value:.0f}" if is_whole else f"{value:6.4f}"


def _of_all(evaluation: Evaluation, columns: list[Column], mark: str) -> Iterator[str]:
    for name, measure, values in columns:
        if measure.summary == "tag":
            yield f"{name:<22}\t{ALL}\t{evaluation.tag.decode(BYTES)}\n"
        elif measure.summary == "number of topics":
            number = _number(float(len(evaluation.topics)), not mark)
            yield f"{mark}{name:<22}\t{ALL}\t{number}\n"
        elif isinstance(values, np.ndarray):
            yield f"{mark}{name:<22}\t{ALL}\t{_number(_summarize(values, measure.summary), measure.is_whole)}\n"


def _summarize(values: Values, summary: str) -> float:
    total = float(np.cumsum(values)[-1])  # added in order, like trec_eval does
    if summary == "sum":
        return total
    mean = total / len(values)
    return float(np.exp(mean)) if summary == "geometric mean" else mean
