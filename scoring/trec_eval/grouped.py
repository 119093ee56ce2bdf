"""Measures that are means over several groups of judges, each with qrels of its own."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.measures import Values
from scoring.trec_eval.parameters import Parameters
from scoring.trec_eval.ranked import Compute
from scoring.trec_eval.view import View


class GroupedView:
    """A run against the qrels of each group, and the topics that any of them has judged."""

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        topics = sorted({code for view in views for code in view.judged.topics.tolist()})
        self.topics = np.array(topics, dtype=np.str_)
        self.n_returned = np.zeros(len(topics), dtype=np.int64)
        for view in views:
            self.n_returned[self.places(view)] = view.n_returned

    def places(self, view: View) -> NDArray[np.intp]:
        """Where the topics of a group stand among all."""
        return np.searchsorted(self.topics, view.judged.topics)


def mean_over_groups(view: GroupedView, compute: Compute, parameters: Parameters) -> list[Values]:
    """What a measure is for each group, summed up and divided by the number of groups that judged the topic."""
    n_groups = np.zeros(len(view.topics))
    totals = [np.zeros(len(view.topics)) for _ in parameters.names]
    for of_group in view.views:
        places = view.places(of_group)
        n_groups[places] += 1
        for total, values in zip(totals, compute(of_group, parameters), strict=True):
            total[places] += values
    return [total / n_groups for total in totals]
