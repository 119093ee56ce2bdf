"""The lines that trec_eval prints: those of each topic, then those of all topics."""

import numpy as np

from assay.trec_eval.evaluation import Column, Evaluation
from assay.trec_eval.files import BYTES

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
