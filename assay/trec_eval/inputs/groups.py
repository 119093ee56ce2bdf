"""Evaluate a run with the qrels of several groups of assessors. The measures are means over the groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values
from assay.measures.matching import JudgedDocuments
from assay.trec_eval.inputs.files import read_grouped_qrels, read_run
from assay.trec_eval.inputs.qrels import Reading, n_lines
from assay.trec_eval.measures.catalog import MEASURES
from assay.trec_eval.measures.parameters import Parameters
from assay.trec_eval.measures.ranked import Compute
from assay.trec_eval.measures.view import View
from assay.trec_eval.options import Options


def read(options: Options) -> Reading:
    """Read both files."""
    groups = [JudgedDocuments(qrels) for qrels in read_grouped_qrels(options.files[0]).values()]
    run = read_run(options.files[1], {code for judged in groups for code in judged.topics.tolist()})
    view = GroupedView([View.of(run.columns, judged, options) for judged in groups])

    def compute(name: str, parameters: Parameters) -> list[Any]:
        kernel = MEASURES[name].compute
        return mean_over_groups(view, kernel, parameters) if kernel is not None else []

    topics = view.topics.tolist()
    return Reading(topics, n_lines(run.columns, topics), compute, run)


class GroupedView:
    """A run with the qrels of each group, and the topics that any group judged."""

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        topics = sorted({code for view in views for code in view.judged.topics.tolist()})
        self.topics = np.array(topics, dtype=np.str_)

    def places(self, view: View) -> NDArray[np.intp]:
        """Indexes of the topics of a group among all topics."""
        return np.searchsorted(self.topics, view.judged.topics)


def mean_over_groups(view: GroupedView, compute: Compute, parameters: Parameters) -> list[Values]:
    """The mean of a measure over the groups that judged the topic."""
    n_groups = np.zeros(len(view.topics))
    totals = [np.zeros(len(view.topics)) for _ in parameters.names]
    for group_view in view.views:
        places = view.places(group_view)
        n_groups[places] += 1
        for total, values in zip(totals, compute(group_view, parameters), strict=True):
            total[places] += values
    return [total / n_groups for total in totals]
