"""Evaluate a run with qrels; and `Reading`, which the readers of all formats return."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.measures.matching import JudgedDocuments
from assay.trec_eval.inputs.files import TrecRun, read_qrels, read_run
from assay.trec_eval.measures.catalog import MEASURES
from assay.trec_eval.measures.parameters import Parameters
from assay.trec_eval.measures.view import View
from assay.trec_eval.options import Options


class Reading(NamedTuple):
    """Both files, and how to compute measures from them.

    topics : topics of the first file, sorted by bytes.
    n_lines : (topics,) number of lines that the run has for each topic, before any are cut or removed.
    compute : values of a measure, given its name and parameters, for all topics.
    """

    topics: Sequence[str]
    n_lines: NDArray[np.int64]
    compute: Callable[[str, Parameters], list[Any]]
    run: TrecRun


def read(options: Options) -> Reading:
    """Read both files."""
    judged = JudgedDocuments(read_qrels(options.files[0]))
    topics = judged.topics.tolist()
    run = read_run(options.files[1], set(topics))
    view = View.of(run.columns, judged, options)

    def compute(name: str, parameters: Parameters) -> list[Any]:
        kernel = MEASURES[name].compute
        return kernel(view, parameters) if kernel is not None else []

    return Reading(topics, n_lines(run.columns, topics), compute, run)


def n_lines(run: RunColumns, topics: Sequence[str]) -> NDArray[np.int64]:
    """The number of lines that the run has for each topic."""
    by_topic = dict(zip(run.topics.tolist(), np.diff(run.offsets).tolist(), strict=True))
    return np.array([by_topic.get(topic, 0) for topic in topics], dtype=np.int64)
