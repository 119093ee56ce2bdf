"""Values of the documents of a topic from votes on their pairs, and the contradictions of the votes.

Sources: Bradley and Terry, "Rank Analysis of Incomplete Block Designs" (Biometrika, 1952), fitted as by Hunter, "MM
Algorithms for Generalized Bradley-Terry Models" (Annals of Statistics, 2004); Kendall and Babington Smith, "On the
Method of Paired Comparisons" (Biometrika, 1940).
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from math import inf, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.preferences.votes import BAD, TIE, Vote
from assay.tables import Undefinable

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
PRIOR = 0.1  # a tie of this weight between all documents, if some never lose or never win
PRECISION, MOST_STEPS = 1e-12, 100_000
NORMAL_95 = 1.959963984540054


class Strengths(NamedTuple):
    """Bradley-Terry values of documents.

    Args:
        log: (documents,) logarithm of the strength; the mean is 0. Document i is preferred to j with the chance
            s_i / (s_i + s_j).
        low: (documents,) lower end of the 95 % interval, from the Fisher information.
        high: (documents,) its upper end.
        is_regularized: a tie of weight 0.1 was added to every pair, since without it values would be infinite.
    """

    log: Vector
    low: Vector
    high: Vector
    is_regularized: bool


class Consistency(NamedTuple):
    """The consistency of the votes on a topic."""

    judged: int  # pairs with a vote
    pairs: int  # pairs that the documents have
    circular: int  # triads whose three sides are decided, in a circle
    triads: int  # triads whose three sides are decided
    zeta: Undefinable  # Kendall's coefficient of consistence; nan unless every pair is decided
    repeated: int  # pairs that an assessor judged in both orders
    repeated_alike: int  # those that were judged alike
    left: Undefinable  # share of votes for the left document among those for one of the two; nan without any


class Comparisons:
    """The votes on the pairs of one topic."""

    def __init__(self, votes: Sequence[Vote]) -> None:
        self.votes = votes
        self.docnos = sorted({docno for vote in votes for docno in vote.pair})
        self._place = {docno: n for n, docno in enumerate(self.docnos)}

    @cached_property
    def wins(self) -> Matrix:
        """(n, n) votes for the document of the row against that of the column; a tie is half a vote for each."""
        place = self._place
        wins = np.zeros((len(place), len(place)))
        for vote in self.votes:
            left, right = place[vote.left], place[vote.right]
            if vote.winner == TIE:
                wins[left, right] += 0.5
                wins[right, left] += 0.5
            elif vote.winner != BAD:
                wins[place[vote.winner], place[vote.loser]] += 1
        return wins

    @cached_property
    def outcomes(self) -> Matrix:
        """(n, n) 1 where the row has more votes than the column, 0 where it has fewer, 1/2 where they are level.

        nan where nobody voted. `bad` is a vote for neither.
        """
        has_votes = np.zeros(self.wins.shape, dtype=np.bool_)
        for vote in self.votes:
            left, right = self._place[vote.left], self._place[vote.right]
            has_votes[left, right] = has_votes[right, left] = True
        return np.where(has_votes, 0.5 + 0.5 * np.sign(self.wins - self.wins.T), np.nan)

    def copeland(self) -> Vector:
        """(n,) pairs won, with half of those that are level; nan for a document with a pair without a vote.

        A pair of which both documents are only called useless is a point for neither.
        """
        outcomes = self.outcomes.copy()
        outcomes[np.isfinite(outcomes) & (self.wins + self.wins.T == 0)] = 0.0
        np.fill_diagonal(outcomes, 0.0)
        return np.asarray(outcomes.sum(axis=1), dtype=np.float64)

    def strengths(self) -> Strengths:
        """Fit the Bradley-Terry values."""
        wins = self.wins
        beats = wins > 0
        is_regularized = not all(_n_reached(graph) == len(beats) for graph in (beats, beats.T))
        if is_regularized:
            wins = wins + PRIOR / 2 * (1 - np.eye(len(wins)))
        # (n,) strengths with a geometric mean of 1
        n_votes, won = wins + wins.T, wins.sum(axis=1)
        strength: Vector = np.ones(len(wins))
        for _ in range(MOST_STEPS):
            before = strength
            new = won / (n_votes / (before[:, None] + before)).sum(axis=1)
            strength = np.asarray(new / np.exp(np.log(new).mean()), dtype=np.float64)
            if np.abs(np.log(strength / before)).max(initial=0.0) < PRECISION:
                break
        log = np.log(strength)
        log -= log.mean()
        chance = 1 / (1 + np.exp(log[None, :] - log[:, None]))
        information = -(wins + wins.T) * chance * chance.T
        np.fill_diagonal(information, 0.0)
        np.fill_diagonal(information, -information.sum(axis=1))
        deviation = np.sqrt(
            np.maximum(
                np.diag(np.asarray(np.linalg.pinv(information, hermitian=True), dtype=np.float64)), 0.0
            )
        )
        return Strengths(log, log - NORMAL_95 * deviation, log + NORMAL_95 * deviation, is_regularized)

    def consistency(self) -> Consistency:
        """Count circular triads, and what repeated pairs and sides say."""
        n = len(self.docnos)
        is_judged = np.isfinite(self.outcomes)
        beats = self.outcomes == 1
        wins, sides = beats.astype(np.int64), (beats | beats.T).astype(np.int64)
        circular = int(np.trace(wins @ wins @ wins)) // 3
        triads = int(np.trace(sides @ sides @ sides)) // 6  # those whose sides are decided
        most = (n**3 - n) / 24 if n % 2 else (n**3 - 4 * n) / 24
        is_decided = np.abs(np.nan_to_num(self.outcomes, nan=0.5) - 0.5) > 0
        is_complete = n > 2 and int(is_decided.sum()) == n * (n - 1)
        of_pair: defaultdict[tuple[str, tuple[str, str]], list[Vote]] = defaultdict(list)
        for vote in self.votes:
            of_pair[vote.assessor, vote.pair].append(vote)
        # For each pair that an assessor judged in both orders, whether the votes are alike.
        repeated = [a.winner == b.winner for both in of_pair.values() for a, b in combinations(both, 2)]
        decided = [vote.winner == vote.left for vote in self.votes if vote.loser]
        return Consistency(
            judged=int(is_judged.sum()) // 2,
            pairs=n * (n - 1) // 2,
            circular=circular,
            triads=triads,
            zeta=1 - circular / most if is_complete else nan,
            repeated=len(repeated),
            repeated_alike=sum(repeated),
            left=sum(decided) / len(decided) if decided else nan,
        )


def _n_reached(graph: NDArray[np.bool_]) -> int:
    reached = np.arange(len(graph)) == 0
    while not np.array_equal(more := reached | graph[reached].any(axis=0), reached):
        reached = more
    return int(reached.sum())


def best_first(docnos: Sequence[str], values: Vector) -> list[int]:
    """The places of documents by value, the highest first, those without a value last; equal ones by docno."""
    keys = [-inf if np.isnan(value) else float(value) for value in values]
    return sorted(range(len(docnos)), key=lambda n: (-keys[n], docnos[n]))
