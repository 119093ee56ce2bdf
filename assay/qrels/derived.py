"""Qrels of documents that are derived from preferences between two of them, by the rule that a protocol names.

- `copeland`: 2 for each pair that a document wins, and 1 for each that is level. A document with a pair without a vote
  has no grade.
- `bradley-terry`: the place of its value among the different values of the topic, from 1 for the lowest.
- `tournament`: 101 and 1 for each pair won in the last round, for the k best and those level with them; else 1.
- `votes`: not grades, but which document was preferred to which, for measures of preferences.

All votes count, those of several assessors too. An adjudication decides alone. A document that was called useless, and
was never preferred or level, has grade 0. Decision: ADR 56.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from assay.formats.qrels.columns import PartRow
from assay.pools.next_pairs import Tournament
from assay.preferences.values import Comparisons
from assay.preferences.votes import BAD, TIE, Vote, by_topic, vote_of
from assay.protocols.pair_rules import figures_of
from assay.protocols.schema import PairRules, Protocol, QrelsRules, QrelsSet
from assay.protocols.units import documents_of, pair_docno
from assay.qrels.freezing import ALWAYS, Frozen, Tally, Unit, votes_by_document, without_poor_topics
from assay.qrels.freezing import Vote as Judged

Grades = Mapping[str, int]
SAME = 1e-6  # Bradley-Terry values closer than this are equal


def derive(
    units: Iterable[Unit],
    judgments: Iterable[tuple[Unit, Judged]],
    *,
    rules: QrelsRules | QrelsSet,
    protocol: Protocol,
    seed: int,
    also: Sequence[str] = (),
) -> Frozen:
    """Derive the grades of documents from the judgments of pairs.

    Args:
        units: the pairs of the pool.
        judgments: current judgments of pairs.
        rules: of the qrels, or of one of their sets.
        seed: of the first pool, whose tournament it is.
        also: kinds of batches that count in addition to main and adjudication.
    """
    ordered = sorted(units)
    judged, left_out = votes_by_document(ordered, judgments, {*ALWAYS, *also})
    tally, votes = Tally(), []
    for unit in ordered:
        of_unit = judged.get(unit, ())
        counted = [vote for vote in of_unit if vote.kind == "adjudication"] or of_unit
        graded = (vote for vote in counted if vote.grade is not None)
        own = [vote_of(unit.topic, unit.docno, vote.choice, vote.assessor) for vote in graded]
        votes += [vote for vote in own if vote is not None]
        if not counted:
            tally.unjudged.append(unit)
        elif not own:
            choice = counted[0].choice
            tally.non_answers.append({"topic": unit.topic, "docno": unit.docno, "choice": choice})
        if any(vote.kind == "adjudication" for vote in counted):
            tally.decided["by adjudication"].add(unit)
    pairs = {topic: [unit.docno for unit in own] for topic, own in groupby(ordered, lambda unit: unit.topic)}
    tournament = Tournament(**figures_of(protocol.pool.pairs or PairRules()), seed=seed)
    for topic, of_topic in by_topic(votes).items():
        for docno, grade in grades_of(topic, of_topic, pairs[topic], rules.preferences, tournament).items():
            tally.graded[Unit(topic, docno)] = grade
    frozen = without_poor_topics(tally, rules, left_out)
    documents = {
        Unit(topic, docno)
        for topic, own in pairs.items()
        for pair in own
        for docno in documents_of(pair) or ()
    }
    n_without = len(documents - tally.graded.keys())
    report = frozen.report | {"preferences": rules.preferences, "votes": len(votes), "ungraded": n_without}
    if rules.preferences != "votes":
        return Frozen(frozen.rows, report)
    # The preferences of the topics, each once. Two assessors who contradict each other are both in.
    kept = {topic.decode() for topic, *_ in frozen.rows}
    preferred = dict.fromkeys(
        (vote.topic, vote.winner, vote.loser) for vote in votes if vote.loser and vote.topic in kept
    )
    parts = [PartRow(topic.encode(), won.encode(), 1, (lost.encode(),)) for topic, won, lost in preferred]
    return Frozen(frozen.rows, report, parts, "preferences")


def as_ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as ranges of consecutive ones, with the first and the last of each.

    >>> as_ranges([3, 1, 2, 7])
    [[1, 3], [7, 7]]
    """
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def numbers_in(ranges: Iterable[Sequence[int]], most: int) -> Iterator[int]:
    """The numbers in ranges, ascending, from 1 to `most`.

    Raises:
        ValueError, TypeError: They are not ranges like that.

    >>> [*numbers_in([[1, 3], [7, 7]], 9)]
    [1, 2, 3, 7]
    """
    end = 0
    for first, last in ranges:
        if not end < first <= last <= most:
            raise ValueError(f"{first} to {last} is no range of the numbers from {end + 1} to {most}")
        yield from range(first, last + 1)
        end = last


def renumbered(ranges: Iterable[Sequence[int]], numbers: Mapping[int, int]) -> list[list[int]]:
    """Ranges of numbers as ranges of the numbers that the same things have elsewhere.

    Raises ValueError or TypeError: See `numbers_in`.
    """
    return as_ranges(numbers[n] for n in numbers_in(ranges, max(numbers, default=0)) if n in numbers)


def grades_of(
    topic: str, votes: Sequence[Vote], pairs: Iterable[str], rule: str | None, tournament: Tournament
) -> Grades:
    """The grades of the documents of a topic by a rule; of `votes`, 1 for a document that was ever preferred.

    `pairs` are the docnos of all pairs of the topic.
    """
    documents = {pair: documents_of(pair) or () for pair in pairs}
    if rule == "tournament":
        candidates = sorted({docno for of_pair in documents.values() for docno in of_pair})
        return tournament.grades(topic, dict.fromkeys(candidates, 1), votes) | _useless(votes)
    if rule == "copeland":
        voted = {pair_docno(*vote.pair) for vote in votes}
        is_open = {docno for pair, of_pair in documents.items() if pair not in voted for docno in of_pair}
        comparisons = Comparisons(votes)
        values = zip(comparisons.docnos, comparisons.copeland().tolist(), strict=True)
        return {docno: round(2 * value) for docno, value in values if docno not in is_open}
    if rule == "bradley-terry":
        return _ranked(Comparisons([vote for vote in votes if vote.winner != BAD])) | _useless(votes)
    return {docno: 0 for vote in votes for docno in vote.pair} | {
        vote.winner: 1 for vote in votes if vote.loser
    }


def _useless(votes: Iterable[Vote]) -> dict[str, int]:
    """Grade 0 for each document that was called useless, and was never preferred or level."""
    bad = {docno for vote in votes if vote.winner == BAD for docno in vote.pair}
    liked = {vote.winner for vote in votes} | {
        docno for vote in votes if vote.winner == TIE for docno in vote.pair
    }
    return dict.fromkeys(sorted(bad - liked), 0)


def _ranked(comparisons: Comparisons) -> dict[str, int]:
    """The place of each Bradley-Terry value among the different ones, from 1 for the lowest."""
    values = comparisons.strengths().log if comparisons.docnos else np.zeros(0)
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=values[order[:1]]) > SAME
    places = (1 + np.cumsum(steps)).tolist()
    return {comparisons.docnos[n]: place for n, place in zip(order.tolist(), places, strict=True)}
