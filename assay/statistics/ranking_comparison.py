"""Comparison of several rankings of the same runs: by the topics of each label, by different qrels, by group of judges.

Each ranking is a column of means. The comparison has the places of the runs, the correlation of every two columns, and
the mean difference of neighbors in each: where it is small, small changes of the means change the ranking.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.measures.scores import step_or_name
from assay.statistics.rank_correlation import kendall_tau, ranks, tau_ap_b

ALL = "all topics"
UNLABELED = "no label"
INSTANCES, DISTINCT = "instances", "distinct formulas"
EVERYBODY = "all judgments"


@dataclass(frozen=True, slots=True, eq=False)
class RankingComparison:
    """Columns of means of the same runs.

    Args:
        names: (columns,) name of each column.
        n_topics: (columns,) number of topics of each mean.
        means: (columns, runs) means.
        ranks: (columns, runs) place of each run, from 1; equal means share the best of their places.
        tau, tau_ap: (columns, columns) Kendall's tau-b, and AP correlation with ties; nan if undefined.
        gap: (columns,) mean difference of neighbors in the ranking; nan if there are fewer than two runs.
    """

    names: tuple[str, ...]
    n_topics: tuple[int, ...]
    means: NDArray[np.float64]
    ranks: NDArray[np.int64]
    tau: NDArray[np.float64]
    tau_ap: NDArray[np.float64]
    gap: NDArray[np.float64]

    @property
    def swaps(self) -> NDArray[np.int64]:
        """(columns, columns) number of pairs of runs that the two columns order differently; ties are no difference."""
        order = np.sign(self.ranks[:, :, None] - self.ranks[:, None, :])
        differs = order[:, None] * order[None, :] < 0
        swaps: NDArray[np.int64] = differs.sum(axis=(2, 3)) // 2
        return swaps

    @property
    def moves(self) -> NDArray[np.float64]:
        """(columns, columns) mean difference of the places of a run; nan without runs."""
        if not self.ranks.shape[1]:
            return np.full((len(self.names), len(self.names)), np.nan)
        moves: NDArray[np.float64] = np.abs(self.ranks[:, None] - self.ranks[None, :]).mean(axis=2)
        return moves

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """From its plain values."""
        numbers = {key: np.array(values[key], dtype=np.float64) for key in ("means", "tau", "tau_ap", "gap")}
        ranks_of = np.array(values["ranks"], dtype=np.int64)
        return cls(tuple(values["names"]), tuple(values["n_topics"]), ranks=ranks_of, **numbers)


def compare_rankings(
    names: Sequence[str], means: NDArray[np.float64], n_topics: Sequence[int]
) -> RankingComparison:
    """Compare columns of means of the same runs.

    Args:
        names: (columns,) name of each column.
        means: (columns, runs) means.
        n_topics: (columns,) number of topics of each mean.

    Raises ValueError: the three arguments differ in length.
    """
    if not len(names) == len(means) == len(n_topics):
        raise InputError(
            f"got {len(names)} names, {len(means)} columns and {len(n_topics)} numbers of topics; "
            "each column needs one of each"
        )
    places = np.array([ranks(column) for column in means], dtype=np.int64).reshape(means.shape)
    tau, tau_ap = (
        np.array([[correlation(left, right) for right in means] for left in means])
        for correlation in (kendall_tau, tau_ap_b)
    )
    n_runs = means.shape[1]
    gap = np.ptp(means, axis=1) / (n_runs - 1) if n_runs > 1 else np.full(len(means), np.nan)
    return RankingComparison(tuple(names), tuple(n_topics), means, places, tau, tau_ap, gap)


def compare_by_label(
    scores: NDArray[np.float64], topics: Sequence[str], labels: Mapping[str, str]
) -> RankingComparison:
    """Compare the runs by their means over all topics, and over the topics with each value of a label.

    Args:
        topics: codes, in the order of the scores.
        labels: the value of the label for each topic. Topics without one are a column of their own, the last.

    Source:
        Mansouri et al., Effects of Context, Complexity, and Clustering on Evaluation for Math Formula Retrieval, table
        6.
    """
    value_of = [labels.get(code, "") for code in topics]
    values = sorted({value for value in value_of if value}, key=step_or_name)
    columns = [(ALL, np.ones(len(topics), dtype=np.bool_))]
    columns += [(value, np.array([of_topic == value for of_topic in value_of])) for value in values]
    is_unlabeled = np.array([not value for value in value_of], dtype=np.bool_)
    if values and is_unlabeled.any():
        columns.append((UNLABELED, is_unlabeled))
    means = np.array([scores[:, is_counted].mean(axis=1) for _, is_counted in columns])
    return compare_rankings(
        [name for name, _ in columns], means, [int(is_counted.sum()) for _, is_counted in columns]
    )
