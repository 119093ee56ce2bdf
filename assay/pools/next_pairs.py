"""The pairs of documents to judge next: all of the best, or a tournament that needs few comparisons.

The tournament is that of Clarke, Vtyurina and Smucker, "Assessing Top-k Preferences" (TOIS, 2021). Nothing is stored
between rounds: the votes say which round it is, and a seed gives the pairs of each round again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from assay.preferences.votes import Vote
from assay.protocols.pair_rules import TOURNAMENT
from assay.random_draws import random_numbers, stream_starts

TOP = 100  # what the grade of a winner of the tournament exceeds the highest old grade by, besides its wins
Pair = tuple[str, str]


class Plan(NamedTuple):
    """The pairs to judge next for a topic.

    Args:
        round: the number of the round, from 1; the last one has all pairs of the remaining documents.
        remaining: the documents that are still in, in the order of their grades.
        pairs: the pairs of the round without a vote, each as (left, right).
        is_last: the round is the last one.
        is_stuck: the judged round removed no document, so no pair is left to ask about.
    """

    round: int
    remaining: list[str]
    pairs: list[Pair]
    is_last: bool
    is_stuck: bool = False


class Tournament(NamedTuple):
    """The figures of a tournament.

    Args:
        k: how many documents are to be the best.
        partners: pairs of each document in a round, above k.
        few: the number of documents of which all pairs are judged, above `partners`.
        seed: of pairs and sides.
    """

    k: int = TOURNAMENT["k"]
    partners: int = TOURNAMENT["partners"]
    few: int = TOURNAMENT["few"]
    seed: int = 1

    def plan(self, topic: str, grades: Mapping[str, int], votes: Sequence[Vote]) -> Plan:
        """The pairs of a topic to judge next, given the votes so far."""
        remaining = candidates(grades, self.k)
        round_ = 1
        while len(remaining) > self.few:
            pairs = self._drawn(topic, round_, remaining)
            open_ = _open(pairs, votes)
            if open_:
                return Plan(round_, remaining, with_sides(self.seed, topic, open_), is_last=False)
            least = min(self.partners, len(remaining) - 1) // 2
            won = n_wins(votes, pairs)
            kept = [docno for docno in remaining if won.get(docno, 0) > least]
            if len(kept) in {0, len(remaining)}:
                return Plan(round_, remaining, [], is_last=False, is_stuck=True)
            remaining, round_ = kept, round_ + 1
        open_ = _open(list(combinations(sorted(remaining), 2)), votes)
        return Plan(round_, remaining, with_sides(self.seed, topic, open_), is_last=True)

    def grades(self, topic: str, grades: Mapping[str, int], votes: Sequence[Vote]) -> dict[str, int]:
        """New grades of a topic: those of the k best, and of those level with them, are above all others.

        A tie is a win of neither. Before the last round is complete, the grades are the old ones.
        """
        plan = self.plan(topic, grades, votes)
        if not plan.is_last or plan.pairs or not plan.remaining:
            return dict(grades)
        won = n_wins(votes, list(combinations(sorted(plan.remaining), 2)))
        of_best = sorted((won.get(docno, 0) for docno in plan.remaining), reverse=True)[: self.k]
        top = max(grades.values()) + TOP
        best = {
            docno: top + won.get(docno, 0) for docno in plan.remaining if won.get(docno, 0) >= of_best[-1]
        }
        return {**grades, **best}

    def _drawn(self, topic: str, round_: int, docnos: Sequence[str]) -> list[Pair]:
        """Random pairs, each once, until each document has enough; a document with the fewest comes next."""
        purpose = f"{topic} round {round_}"
        start = stream_starts(self.seed, [(purpose.encode(), docno.encode()) for docno in docnos])
        numbers = random_numbers(start, np.zeros(len(docnos), dtype=np.int64))
        order = [docnos[n] for n in np.argsort(numbers, kind="stable").tolist()]
        target = min(self.partners, len(order) - 1)
        partners: dict[str, set[str]] = {docno: set() for docno in order}
        place = {docno: n for n, docno in enumerate(order)}
        pairs: list[Pair] = []

        def need(docno: str) -> tuple[int, int]:
            return len(partners[docno]), place[docno]

        while len(partners[first := min(order, key=need)]) < target:
            others = (docno for docno in order if docno != first and docno not in partners[first])
            second = min(others, key=need)
            partners[first].add(second)
            partners[second].add(first)
            pairs.append((min(first, second), max(first, second)))
        return pairs


def candidates(grades: Mapping[str, int], k: int) -> list[str]:
    """The documents with a grade above 0, best first, to rank k and those level with it; equal ones by docno."""
    graded = sorted(
        (docno for docno, grade in grades.items() if grade > 0), key=lambda docno: (-grades[docno], docno)
    )
    if len(graded) <= k:
        return graded
    return [docno for docno in graded if grades[docno] >= grades[graded[k - 1]]]


def all_pairs(topic: str, docnos: Sequence[str], votes: Sequence[Vote], *, seed: int) -> list[Pair]:
    """The pairs of documents without a vote, in random order, with random sides."""
    return with_sides(seed, topic, _open(list(combinations(sorted(docnos), 2)), votes))


def pooled_best(rankings: Sequence[Sequence[str]], votes: Sequence[Vote]) -> list[Pair]:
    """The pairs to judge next, if each run's best document that nobody has seen meets the winner so far.

    At first, the winner is the document that most runs have first. If several documents have beaten it, they meet one
    another before others come. For n documents, that takes little more than n - 1 comparisons.

    Args:
        rankings: (runs,) the pooled documents of each run, best first.

    Source
    ------
    Clarke, Vtyurina and Smucker, "Assessing Top-k Preferences" (TOIS, 2021), pool preferences instead of grades; this
    merge of rankings is our own.

    >>> pooled_best([["a", "b"], ["c", "a"], ["a", "c"]], [])
    [('a', 'c')]
    >>> pooled_best([["a", "b"], ["c", "a"], ["a", "c"]], [Vote("1", "a", "c", "c")])
    [('b', 'c')]
    """
    seen = {docno for vote in votes for docno in vote.pair}
    if not seen:
        firsts = Counter(ranking[0] for ranking in rankings if ranking)
        best = min(firsts, key=lambda docno: (-firsts[docno], docno), default="")
        return [_sorted(best, docno) for docno in sorted(firsts) if docno != best]
    won, lost = n_wins(votes, _judged(votes)), n_wins(votes, _judged(votes), lost=True)
    unbeaten = sorted(seen - lost.keys()) or sorted(seen)
    best = min(unbeaten, key=lambda docno: (-won.get(docno, 0), docno))
    if len(unbeaten) < len(seen) and (open_ := _open(list(combinations(unbeaten, 2)), votes)):
        return open_
    new = {next((docno for docno in ranking if docno not in seen), best) for ranking in rankings}
    return [_sorted(best, docno) for docno in sorted(new - {best})]


def _sorted(docno: str, other: str) -> Pair:
    return (docno, other) if docno < other else (other, docno)


def _judged(votes: Sequence[Vote]) -> list[Pair]:
    return list(dict.fromkeys(vote.pair for vote in votes))


def with_sides(seed: int, topic: str, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs in random order, with random sides; each follows from seed, topic and pair alone."""
    start = stream_starts(seed, [(topic.encode(), "\t".join(pair).encode()) for pair in pairs])
    zeros = np.zeros(len(pairs), dtype=np.int64)
    is_turned = random_numbers(start, zeros) % np.uint64(2) == 1
    order = np.argsort(random_numbers(start, zeros, purpose=1), kind="stable")
    return [pairs[n][::-1] if is_turned[n] else pairs[n] for n in order.tolist()]


def n_wins(votes: Sequence[Vote], pairs: Sequence[Pair], *, lost: bool = False) -> dict[str, int]:
    """The pairs that each document wins, by more votes than its partner has; or those that it has `lost`."""
    balance = dict.fromkeys(pairs, 0)
    for vote in votes:
        if vote.loser and vote.pair in balance:
            balance[vote.pair] += 1 if vote.winner == vote.pair[0] else -1
    won: dict[str, int] = {}
    for (first, second), votes_more in balance.items():
        if votes_more:
            counted = first if (votes_more > 0) != lost else second
            won[counted] = won.get(counted, 0) + 1
    return won


def _open(pairs: Sequence[Pair], votes: Sequence[Vote]) -> list[Pair]:
    judged = {vote.pair for vote in votes}
    return [pair for pair in pairs if pair not in judged]
