"""Checks a run as a whole, once its lines are rows; every check works on arrays."""

from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import DISTINCT, FIRST_LINES, Tally
from assay.formats.runs.columns import RunColumns, byte_keys, tied_rows
from assay.passages import leaders
from assay.protocols import schema
from assay.protocols.schema import RunRules, Ties

NOUNS = {
    "formula": ("formula", "formulas"),
    "visually-distinct-formula": ("formula", "formulas"),
    "citation": ("citation", "citations"),
    "passage": ("passage", "passages"),
    "generated-answer": ("answer", "answers"),
}
NAMED = 20  # missing topics that a message names
PART = 1 << 14  # rows that are searched for repetitions at once

# Whether a docno is in the collection, and of the right unit.
FIT, ABSENT, OTHER_UNIT = 0, 1, 2
UnitLookup = Callable[[NDArray[np.bytes_]], NDArray[np.uint8]]


def unit_of(protocol: schema.Protocol) -> str:
    """Name what a run of a protocol retrieves, with citations apart from other passages."""
    return "citation" if protocol.cites_posts else protocol.unit


class RunRows(NamedTuple):
    """All rows of a run in file order. `topic_index` points into `topics`, in the order of their first lines."""

    topics: list[str]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    number: NDArray[np.int64]
    post: NDArray[np.bytes_] | None = None
    passage: NDArray[np.bytes_] | None = None
    label: NDArray[np.bool_] | None = None
    original: NDArray[np.bytes_] | None = None


_INTEGERS, _NO_SCORES = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float64)
NO_ROWS = RunRows([], _INTEGERS, np.empty(0, dtype="S1"), _INTEGERS, _NO_SCORES, np.empty(0, dtype=np.int64))


TIES = {
    "docno": "Ties are ordered by docno, descending, as in trec_eval; not by the rank column.",
    "file": "Ties keep the order of the file.",
    "rank": "Ties are ordered by the rank column.",
}


class Form(Protocol):
    """The properties of a form that the checks use."""

    @property
    def has_ranks(self) -> bool: ...
    @property
    def ties(self) -> Ties: ...


class NearDuplicates(NamedTuple):
    """The overlap from which passages are near-duplicates, and the ranks per topic in which they are reported."""

    overlap: float
    depth: int


class Expected(NamedTuple):
    """The facts that rows are checked against; None where they are unknown."""

    rules: RunRules
    unit: str
    topics: Collection[str] | None
    units: UnitLookup | None
    max_lines: int  # that are read
    near: NearDuplicates | None = None
    kind: str = ""  # the kind that the submitter declared; empty: not known
    team: str = ""  # the team that submits; empty: not known
    characters: Mapping[str, int] = MappingProxyType({})  # that an answer may have, by topic

    @property
    def noun(self) -> tuple[str, str]:
        """The noun for what a line ranks, in singular and plural."""
        return NOUNS.get(self.unit, ("document", "documents"))


def check_rows(rows: RunRows, expected: Expected, form: Form, tally: Tally) -> None:
    """Report errors of content: topics, repeated documents, depth, ranges of numbers, ids outside the collection.

    Ranks out of range are only a warning if the protocol says nothing else.
    """
    check_topics(rows, expected.topics, tally)
    # Lines of TREC have six columns too, but the second one is always the same.
    is_repeated = rows.post is not None and len(rows.docno) > len(rows.topics)
    if is_repeated and bool((rows.docno == rows.docno[0]).all()):
        report(tally.error, _TREC, rows.number, rows.number > 0)
        return
    _check_repeated(rows, expected.noun[0], tally)
    max_ranks, nouns = expected.rules.max_ranks, expected.noun[1]
    depth = np.bincount(rows.topic_index, minlength=len(rows.topics))
    accepted = f"At most {max_ranks:,} {nouns} per topic."
    deep = np.flatnonzero(depth > max_ranks)
    for index in deep[:DISTINCT]:
        message = f"topic “{rows.topics[index]}” has {depth[index]:,} {nouns}"
        beyond = _at(rows.number, np.flatnonzero(rows.topic_index == index)[max_ranks:])
        tally.error("too-many-ranks", message, accepted, n=int(depth[index]) - max_ranks, numbers=beyond)
    complaint = ("too-many-ranks", f"lines of other topics with too many {nouns}", accepted)
    _report_others(rows, deep[DISTINCT:], complaint, tally)
    if form.has_ranks:
        add = tally.error if expected.rules.out_of_range_ranks == "error" else tally.warning
        complaint = (
            "rank-range",
            f"the rank is outside 1 to {max_ranks:,}",
            f"Ranks from 1 to {max_ranks:,}.",
        )
        report(add, complaint, rows.number, (rows.rank < 1) | (rows.rank > max_ranks), is_repairable=True)
    low = -np.inf if expected.rules.min_score is None else expected.rules.min_score
    high = np.inf if expected.rules.max_score is None else expected.rules.max_score
    complaint = (
        "score-range",
        "the score is outside the protocol's range",
        f"Scores from {low:g} to {high:g}.",
    )
    report(tally.error, complaint, rows.number, (rows.score < low) | (rows.score > high))
    if expected.units is not None:
        check_units(rows, expected.units, expected.unit, tally)


_TREC = (
    "form",
    "the second column is the same in all lines, as in the format of TREC",
    "Query_Id Formula_Id Post_Id Rank Score Run_Number.",
)


def report(
    add: Callable[..., None],
    complaint: tuple[str, str, str],
    number: NDArray[np.int64],
    where: NDArray[np.bool_],
    **more: Any,
) -> None:
    """Add a complaint of code, message and what is accepted for the lines of some rows, if there are any."""
    if where.any():
        add(*complaint, n=int(where.sum()), numbers=_at(number, where), **more)


def _at(number: NDArray[np.int64], where: NDArray[np.bool_] | NDArray[np.intp]) -> list[int]:
    """The first line numbers of some rows, as many as a complaint shows."""
    numbers = number[where]
    few = np.partition(numbers, FIRST_LINES - 1)[:FIRST_LINES] if len(numbers) > FIRST_LINES else numbers
    return sorted(int(n) for n in few)


def check_topics(rows: RunRows, known: Collection[str] | None, tally: Tally) -> None:
    if known is None:
        return
    known = set(known)
    accepted = f"The track's {len(known)} topics, such as {', '.join(sorted(known)[:3])}."
    unknown = np.array([i for i, topic in enumerate(rows.topics) if topic not in known], dtype=np.int64)
    for index in unknown[:DISTINCT]:
        complaint = ("unknown-topic", f"unknown topic “{rows.topics[index]}”", accepted)
        report(tally.error, complaint, rows.number, rows.topic_index == index)
    complaint = ("unknown-topic", "lines of other unknown topics", accepted)
    _report_others(rows, unknown[DISTINCT:], complaint, tally)


def _report_others(
    rows: RunRows, topics: NDArray[np.int64], complaint: tuple[str, str, str], tally: Tally
) -> None:
    """Report the lines of all further topics together."""
    where = np.isin(rows.topic_index, topics)
    report(tally.error, complaint, rows.number, where, others=complaint[1])


def _check_repeated(rows: RunRows, noun: str, tally: Tally) -> None:
    # Two rows that name the same document and topic have equal hashes. Most runs have no equal ones, and are done.
    digest = rows.topic_index.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for key in byte_keys(rows.docno):
        digest = (digest ^ key) * np.uint64(0xBF58476D1CE4E5B9)
        digest ^= digest >> np.uint64(31)
    # Parts fit the processor's cache. They are cut between topics, nowhere if topics alternate.
    n, step = len(rows.topic_index), np.diff(rows.topic_index)
    parts = [0, n]
    if not (step < 0).any():
        starts = np.append(np.flatnonzero(step) + 1, n)
        cuts = starts[np.searchsorted(starts, np.arange(PART, n, PART))]
        parts = [0, *sorted({*cuts.tolist(), n})]  # np.unique would import numpy.ma, which takes 20 ms
    if not any(has_equal(digest[first:end]) for first, end in pairwise(parts)):
        return
    keys: list[NDArray[Any]] = [rows.number, *reversed(byte_keys(rows.docno)), rows.topic_index]
    order = np.lexsort(keys)
    topic, docno = rows.topic_index[order], rows.docno[order]
    repeats = np.zeros(len(order), dtype=np.bool_)
    repeats[1:] = (topic[1:] == topic[:-1]) & (docno[1:] == docno[:-1])
    if not repeats.any():
        return
    first_of = order[np.maximum.accumulate(np.where(repeats, 0, np.arange(len(order))))]
    again = order[repeats]
    firsts = first_of[repeats]
    complaint = ("repeated", f"the topic already contains the {noun}", f"Each {noun} once per topic.")
    for i in np.argsort(rows.number[again])[:FIRST_LINES]:
        row, first = again[i], firsts[i]
        document = f"{rows.docno[row].decode()} of {rows.topics[rows.topic_index[row]]}"
        note = f"{document} is first in line {rows.number[first]}"
        tally.error(*complaint, int(rows.number[row]), note=note)
    rest = len(again) - FIRST_LINES
    if rest > 0:
        tally.error(*complaint, n=rest)


def has_equal(digest: NDArray[np.uint64]) -> bool:
    """Return whether two of some well-mixed numbers are equal; faster than sorting them.

    Each number writes its position into a slot of a table; the last writer of a slot wins. Of two equal numbers at
    least one loses. Each loser is compared with the winner of its slot, and enters the next round with other bits;
    the few losers that remain after three rounds are sorted.
    """
    bits = max(8, (2 * len(digest)).bit_length())
    slots = np.empty(1 << bits, dtype=np.int32)
    for shift in (64 - bits, 40 - bits // 2, 2):
        slot = ((digest >> np.uint64(max(0, shift))) & np.uint64((1 << bits) - 1)).astype(np.intp)
        place = np.arange(len(digest), dtype=np.int32)
        slots[slot] = place
        winner = slots[slot]
        lost = np.flatnonzero(winner != place)
        if (digest[lost] == digest[winner[lost]]).any():
            return True
        digest = digest[lost]
    digest = np.sort(digest)
    return bool((digest[1:] == digest[:-1]).any())


def check_tags(tags: Mapping[bytes, tuple[int, int]], tally: Tally) -> None:
    """Report a run with several tags. `tags`: for each, the count of its lines and the number of the first."""
    if len(tags) < 2:
        return
    named = ", ".join(f"“{tag.decode()}” ({n:,} lines)" for tag, (n, _) in list(tags.items())[:5])
    more = f" and {len(tags) - 5} more" if len(tags) > 5 else ""
    message, numbers = f"the file has {len(tags)} tags: {named}{more}", [first for _, first in tags.values()]
    tally.error("several-tags", message, "One tag, the same in all lines.", n=len(tags), numbers=numbers)


def check_units(rows: RunRows, lookup: UnitLookup, unit: str, tally: Tally) -> None:
    distinct, inverse = np.unique(rows.docno, return_inverse=True)
    states = lookup(distinct)[inverse]
    accepted = f"Ids of the collection that are of the kind {unit}."
    absent = ("unknown-document", "the document is not in the collection", accepted)
    report(tally.error, absent, rows.number, states == ABSENT)
    message = f"the document is in the collection, but is not of the kind {unit}"
    report(tally.error, ("wrong-unit", message, accepted), rows.number, states == OTHER_UNIT)


def warn_of_rows(
    rows: RunRows, columns: RunColumns, order: NDArray[np.intp], expected: Expected, form: Form, tally: Tally
) -> None:
    """Report what a submitter should know, but need not change. `order` is the permutation of rows into columns."""
    number = rows.number[order]
    tied = tied_rows(columns)
    message = (
        f"{tied.sum():,} of {len(columns):,} lines have the same score as a line above them in their topic"
    )
    report(tally.warning, ("ties", message, TIES[form.ties]), number, tied)
    if form.has_ranks:
        _warn_of_ranks(columns, number, tally)
    same = rows.topic_index[1:] == rows.topic_index[:-1]
    rises = np.append(False, same & (rows.score[1:] > rows.score[:-1]))
    change = np.flatnonzero(np.append(True, ~same))
    _, first = np.unique(rows.topic_index[change], return_index=True)
    rises[np.delete(change, first)] = True  # a topic that continues after another
    complaint = ("order", "the line is out of order by topic or score", "Any order; the score decides.")
    report(tally.warning, complaint, rows.number, rises, is_repairable=True)
    warn_of_missing(columns.topics.tolist(), expected.topics or (), tally)
    _warn_of_near_duplicates(columns, number, expected.near, tally)


def warn_of_missing(topics: Collection[str], known: Collection[str], tally: Tally) -> None:
    """Report topics that a run lacks."""
    missing = sorted(set(known) - set(topics))
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        tally.warning(
            "missing-topics",
            f"{len(missing)} of {len(known)} topics have no line: {', '.join(missing[:NAMED])}{more}",
            "A topic without documents counts as 0 in every average over all topics.",
            n=len(missing),
        )


def _warn_of_ranks(columns: RunColumns, number: NDArray[np.int64], tally: Tally) -> None:
    by_rank = np.lexsort((columns.rank, columns.topic_index))
    disagrees = np.zeros(len(columns), dtype=np.bool_)
    disagrees[by_rank] = columns.score[by_rank] != columns.score
    message = "the rank column disagrees with the order by score"
    accepted = "The score decides; the rank column is not used."
    report(tally.warning, ("rank-disagrees", message, accepted), number, disagrees, is_repairable=True)
    expected = np.arange(len(columns)) - columns.offsets[:-1][columns.topic_index] + 1
    is_odd = columns.rank[by_rank] != expected
    if is_odd.any():
        topics, first = np.unique(columns.topic_index[is_odd], return_index=True)
        tally.warning(
            "rank-gaps",
            f"the ranks of {len(topics)} topics are not 1, 2, 3, … without gaps",
            "Ranks from 1; they are not used, the scores decide.",
            n=len(topics),
            numbers=_at(number, by_rank[np.flatnonzero(is_odd)[first]]),
            is_repairable=True,
        )


def _warn_of_near_duplicates(
    columns: RunColumns, number: NDArray[np.int64], near: NearDuplicates | None, tally: Tally
) -> None:
    """Count the citations that nearly repeat a better one of their topic: they count as false alarms."""
    if near is None or columns.passage is None:
        return
    n, numbers = 0, []
    for start, end in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist(), strict=True):
        top = columns.passage[start : min(end, start + near.depth)].tolist()
        by_rank = leaders([passage.decode() for passage in top], near.overlap)
        repeats = [row for row, leader in enumerate(by_rank, start) if leader != row - start]
        n += len(repeats)
        numbers += number[repeats[:FIRST_LINES]].tolist()
    if n:
        tally.warning(
            "near-duplicates",
            f"the citation nearly repeats a better one among the first {near.depth} of its topic",
            f"One of those that share {near.overlap:.0%} of their word pairs: the others count as false alarms.",
            n=n,
            numbers=sorted(numbers),
        )
