"""The same runs scored in several ways: by topics of each label, by instance and by formula, by each group of judges.

Each way is a column: the means of all runs. Beside the means stand the runs' places, how alike the rankings of every
two columns are, and how far neighbors lie apart in each: a ranking whose runs are all close is soon turned round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics.rank_correlation import defined, kendall_tau, ranks, tau_ap_b

ALL = "all topics"
UNLABELED = "no label"
# label values that are steps of a scale stand in its order, any others by name
STEPS = ("low", "easy", "medium", "middle", "high", "hard")


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """Columns of means.

    Attributes
    ----------
    names : of the columns.
    n_topics : (columns,) topics that each mean is over.
    means : (columns, runs)
    ranks : (columns, runs) place of each run, from 1; equal means share the best of their places.
    tau, tau_ap : (columns, columns) Kendall's tau-b and the AP correlation with ties; nan where not defined.
    gap : (columns,) mean difference of neighbors in the ranking; nan with fewer than two runs.
    """

    names: tuple[str, ...]
    n_topics: tuple[int, ...]
    means: NDArray[np.float64]
    ranks: NDArray[np.int64]
    tau: NDArray[np.float64]
    tau_ap: NDArray[np.float64]
    gap: NDArray[np.float64]

    def as_json(self) -> dict[str, Any]:
        """Plain values; null where one is not defined."""
        return {
            "names": list(self.names),
            "n_topics": list(self.n_topics),
            "means": self.means.tolist(),
            "ranks": self.ranks.tolist(),
            "tau": [defined(row) for row in self.tau.tolist()],
            "tau_ap": [defined(row) for row in self.tau_ap.tolist()],
            "gap": defined(self.gap.tolist()),
        }


def side_by_side(names: Sequence[str], means: NDArray[np.float64], n_topics: Sequence[int]) -> SideBySide:
    """Compare columns of means of the same runs.

    Parameters
    ----------
    means : (columns, runs)

    Raises
    ------
    ValueError
        Names, means and numbers of topics are not of one length.
    """
    if not len(names) == len(means) == len(n_topics):
        raise ValueError(f"{len(names)} names, {len(means)} columns and {len(n_topics)} numbers of topics")
    places = np.array([ranks(column) for column in means], dtype=np.int64).reshape(means.shape)
    tau, tau_ap = (
        np.array([[alike(one, other) for other in means] for one in means])
        for alike in (kendall_tau, tau_ap_b)
    )
    n_runs = means.shape[1]
    gap = np.ptp(means, axis=1) / (n_runs - 1) if n_runs > 1 else np.full(len(means), np.nan)
    return SideBySide(tuple(names), tuple(n_topics), means, places, tau, tau_ap, gap)


def by_label(scores: NDArray[np.float64], topics: Sequence[str], labels: Mapping[str, str]) -> SideBySide:
    """The runs' means over all topics, then over those of each value of a label: the Comparison's Table 6.

    Parameters
    ----------
    scores : (runs, topics)
    topics : codes, in the order of the scores.
    labels : the label's value for each topic; topics without one make a column of their own, the last.
    """
    value_of = [labels.get(code, "") for code in topics]
    values = sorted({value for value in value_of if value}, key=_in_order)
    columns = [(ALL, np.ones(len(topics), dtype=np.bool_))]
    columns += [(value, np.array([one == value for one in value_of])) for value in values]
    bare = np.array([not value for value in value_of], dtype=np.bool_)
    if values and bare.any():
        columns.append((UNLABELED, bare))
    means = np.array([scores[:, of_label].mean(axis=1) for _, of_label in columns])
    return side_by_side(
        [name for name, _ in columns], means, [int(of_label.sum()) for _, of_label in columns]
    )


def _in_order(value: str) -> tuple[int, str]:
    known = value.casefold()
    return (STEPS.index(known) if known in STEPS else len(STEPS), value)
