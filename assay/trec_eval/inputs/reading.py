"""What the first file makes of the second: topics, and measures of them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.trec_eval.inputs.files import TrecRun
from assay.trec_eval.measures.parameters import Parameters


class Reading(NamedTuple):
    """Both files.

    topics : those of the first file, sorted by bytes.
    n_lines : (topics,) that the run has of each, whatever is cut from them or removed.
    compute : the values of a measure by its name, for all topics.
    """

    topics: Sequence[str]
    n_lines: NDArray[np.int64]
    compute: Callable[[str, Parameters], list[Any]]
    run: TrecRun


def n_lines(run: RunColumns, topics: Sequence[str]) -> NDArray[np.int64]:
    """How many lines the run has of each topic."""
    of_topic = dict(zip(run.topics.tolist(), np.diff(run.offsets).tolist(), strict=True))
    return np.array([of_topic.get(topic, 0) for topic in topics], dtype=np.int64)
