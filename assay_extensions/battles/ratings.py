"""Bradley-Terry ratings of systems from battles, with intervals that know that battles of a topic belong together.

A tie, and two bad answers, are half a win for each side. The likelihood has no ridge. Its greatest value exists only
where each system beat or tied each other one, directly or by way of others; systems are therefore rated in *groups* in
which this holds. A system alone in its group has no rating, such as one that won or lost everything; groups that never
met cannot be compared. A `prior` of some wins each way between all systems makes one group of them.

Sources:
    Bradley and Terry (Biometrika, 1952); arena-rank 0.1.1 `bradley_terry.py`, whose ratings are these; its intervals
    take battles as independent of each other. Clustered covariance: Liang and Zeger (Biometrika, 1986).
"""

from collections.abc import Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.statistics.tukey import letters
from assay_extensions.battles.records import Battle

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Cluster = Literal["topic", "assessor", "battle"]
SCALE, MEAN = 400 / np.log(10), 1000.0  # of Elo
NORMAL_95 = 1.959963984540054
MOST_STEPS, PRECISION = 100, 1e-12
UNLIKE = 1e-6  # smaller scores of clusters are rounding errors: all clusters are alike


class Interval(NamedTuple):
    """A value with its standard error and the 95 % interval by the normal distribution; all nan if undefined."""

    value: float
    error: float

    @property
    def low(self) -> float:
        return self.value - NORMAL_95 * self.error

    @property
    def high(self) -> float:
        return self.value + NORMAL_95 * self.error


class Outcomes:
    """Battles as arrays.

    Attributes:
        systems: names, sorted.
        sides: (battles, 2) places of the systems on side A and B.
        share: (battles,) the share of the win that side A gets.
    """

    def __init__(self, battles: Sequence[Battle]) -> None:
        self.battles = battles
        self.systems = sorted({name for battle in battles for name in battle.pair})
        place = {name: n for n, name in enumerate(self.systems)}
        self.sides = np.array([(place[each.model_a], place[each.model_b]) for each in battles], dtype=np.intp)
        self.share = np.array([battle.share for battle in battles])

    @cached_property
    def wins(self) -> Matrix:
        """(n, n) wins of the row against the column, with half of the ties."""
        wins = np.zeros((len(self.systems), len(self.systems)))
        np.add.at(wins, (self.sides[:, 0], self.sides[:, 1]), self.share)
        np.add.at(wins, (self.sides[:, 1], self.sides[:, 0]), 1 - self.share)
        return wins

    def clusters(self, by: Cluster) -> NDArray[np.intp]:
        """(battles,) the number of the topic, or of the assessor, of each battle; or each battle alone."""
        if by == "battle":
            return np.arange(len(self.battles))
        names = [getattr(battle, by) for battle in self.battles]
        return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.intp)


def groups_of(wins: Matrix) -> list[list[int]]:
    """The systems that can be compared: each beat or tied each other one of its group, also by way of others.

    Sorted by the first system of each.
    """
    reached = (wins > 0) | np.eye(len(wins), dtype=np.bool_)
    for middle in range(len(wins)):  # Warshall
        reached |= reached[:, middle, None] & reached[None, middle]
    mutual = reached & reached.T
    return [np.flatnonzero(row).tolist() for n, row in enumerate(mutual) if not mutual[n, :n].any()]


class Group(NamedTuple):
    """The ratings of systems that can be compared.

    Args:
        members: (n,) places of the systems.
        theta: (n,) logarithm of the strength; the mean is 0. i wins against j with the chance 1 / (1 + e^(j - i)).
        covariance: (n, n) of theta.
    """

    members: list[int]
    theta: Vector
    covariance: Matrix

    def rating(self, n: int) -> Interval:
        """The rating of the member at place n, around 1000: 400 points are odds of 10 to 1."""
        if len(self.members) == 1:
            return Interval(np.nan, np.nan)
        return Interval(
            MEAN + SCALE * float(self.theta[n]), SCALE * float(np.sqrt(max(self.covariance[n, n], 0.0)))
        )

    def difference(self, n: int, m: int) -> Interval:
        """The difference of two ratings, with the interval of the difference."""
        variance = self.covariance[n, n] + self.covariance[m, m] - 2 * self.covariance[n, m]
        return Interval(
            SCALE * float(self.theta[n] - self.theta[m]), SCALE * float(np.sqrt(max(variance, 0.0)))
        )

    def tiers(self) -> list[str]:
        """Letters of each member, a for the best: members that share one do not differ.

        Two differ if the interval of their difference does not contain 0 at the 5 % level, divided by the number of
        pairs (Bonferroni).
        """
        n = len(self.members)
        if n == 1 or np.isnan(self.covariance).any():
            return [""] * n
        width = NormalDist().inv_cdf(1 - 0.025 / (n * (n - 1) / 2))
        order = np.argsort(-self.theta, kind="stable").tolist()
        differs = [
            [abs((gap := self.difference(first, second)).value) > width * gap.error for second in order]
            for first in order
        ]
        groups: list[list[int]] = []
        for start in range(n):
            end = start + 1
            while end < n and not any(differs[place][end] for place in range(start, end)):
                end += 1
            if not groups or order[end - 1] not in groups[-1]:
                groups.append(order[start:end])
        return letters(groups, n)


class Board(NamedTuple):
    """The groups of all systems, the largest first."""

    outcomes: Outcomes
    groups: list[Group]

    @property
    def unrated(self) -> list[str]:
        """Systems that no other system both beat or tied and lost to or tied with, also by way of others."""
        return [self.outcomes.systems[group.members[0]] for group in self.groups if len(group.members) == 1]


def rate(battles: Sequence[Battle], *, by: Cluster = "topic", prior: float = 0.0) -> Board:
    """Rate all systems.

    Args:
        battles: at least one.
        by: the battles that depend on each other: those of a topic, or of an assessor, or none. With fewer than two
            clusters in a group, or without differences between them, its errors are nan.
        prior: wins each way that are added between all systems. It makes one group of all, and draws ratings together.
    """
    outcomes = Outcomes(battles)
    n, clusters = len(outcomes.systems), outcomes.clusters(by)
    parts = [list(range(n))] if prior > 0 else groups_of(outcomes.wins)
    groups = [_fit(outcomes, members, clusters, prior, is_scaled=by != "battle") for members in parts]
    return Board(outcomes, sorted(groups, key=lambda group: -len(group.members)))


def _fit(
    outcomes: Outcomes, members: list[int], clusters: NDArray[np.intp], prior: float, *, is_scaled: bool
) -> Group:
    """Fit a group by Newton's method: H is the information, B the sum of s s' over clusters, s their scores."""
    n = len(members)
    wins = outcomes.wins[np.ix_(members, members)] + prior * (1 - np.eye(n))
    theta = np.zeros(n)
    if n == 1:
        return Group(members, theta, np.full((1, 1), np.nan))
    met = wins + wins.T
    for _ in range(MOST_STEPS):
        chance = _chance(theta)
        step = np.linalg.pinv(_information(met, chance)) @ (wins - met * chance).sum(axis=1)
        step *= min(1.0, 2.0 / max(np.abs(step).max(), PRECISION))
        theta = theta + step - step.mean()
        if np.abs(step).max() < PRECISION:
            break
    inverse = np.linalg.pinv(_information(met, _chance(theta)))
    scores = _scores(outcomes, members, clusters, theta)
    n_clusters = len(scores)
    if n_clusters < 2 or np.abs(scores).max() < UNLIKE:
        return Group(members, theta, np.full((n, n), np.nan))
    between = scores.T @ scores * (n_clusters / (n_clusters - 1) if is_scaled else 1.0)
    return Group(members, theta, inverse @ between @ inverse)


def _chance(theta: Vector) -> Matrix:
    """(n, n) the chance that the row wins against the column."""
    return np.asarray(1 / (1 + np.exp(theta[None, :] - theta[:, None])))


def _information(met: Matrix, chance: Matrix) -> Matrix:
    weight = met * chance * (1 - chance)
    return np.asarray(np.diag(weight.sum(axis=1)) - weight)


def _scores(outcomes: Outcomes, members: list[int], clusters: NDArray[np.intp], theta: Vector) -> Matrix:
    """(clusters, n) the sums of (share - chance) x over the battles of each cluster within the group."""
    place = np.full(len(outcomes.systems), -1)
    place[members] = np.arange(len(members))
    sides = place[outcomes.sides]
    inside = (sides >= 0).all(axis=1)
    sides, known = sides[inside], np.unique(clusters[inside], return_inverse=True)
    surprise = outcomes.share[inside] - 1 / (1 + np.exp(theta[sides[:, 1]] - theta[sides[:, 0]]))
    scores = np.zeros((len(known[0]), len(members)))
    np.add.at(scores, (known[1], sides[:, 0]), surprise)
    np.add.at(scores, (known[1], sides[:, 1]), -surprise)
    return scores
