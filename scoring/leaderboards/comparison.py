"""Two leaderboards beside each other: two campaigns run by run, or what a new version of qrels changed and why."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from django.shortcuts import get_object_or_404

from accounts.access import Visitor, is_organizer
from accounts.models import User
from assay.evaluation.scores import shown
from assay.protocols.measures import parse_measure
from assay.statistics.rank_correlation import kendall_tau, ranks
from scoring.leaderboards.selectors import BoardRow, board_rows, leaderboards_for
from scoring.models import Leaderboard, Qrels, QrelsEntry
from scoring.qrels.selectors import CHUNK

SHOWN_UNITS = 200  # changed judgments that the page lists; the counts are of all

Unit = tuple[str, str]  # topic, docno


class Pair(NamedTuple):
    """A run's mean on both, as text; empty where a leaderboard has it not."""

    left: str
    right: str
    difference: str
    place_left: int | None
    place_right: int | None

    @property
    def moved(self) -> int:
        """Places gained, negative where lost."""
        return (self.place_left or 0) - (self.place_right or 0) if self.place_left and self.place_right else 0


class BesideRow(NamedTuple):
    """A run, by its team's name and its tag without regard to case."""

    team: str
    tag: str
    is_baseline: bool
    pairs: list[Pair]


def beside_page(user: Visitor, left: Leaderboard, other_id: int) -> dict[str, Any]:
    """The runs of two leaderboards, those of both first, by the first measure that both have.

    Raises
    ------
    Http404
        There is no such other leaderboard that the person may see, or it has no measure in common.
    """
    boards = leaderboards_for(user).filter(status=Leaderboard.Status.READY, measures__overlap=left.measures)
    right = get_object_or_404(boards, pk=other_id)
    measures = [name for name in left.measures if name in right.measures]
    rows = _rows(user, left, right, measures)
    return {
        "track": left.track,
        "board": left,
        "other": right,
        "measures": [(name, parse_measure(name).title) for name in measures],
        "rows": rows,
        "taus": [_tau(rows, n) for n in range(len(measures))],
        "n_both": sum(bool(row.pairs[0].left and row.pairs[0].right) for row in rows),
        "changes": qrels_changes(left.qrels, right.qrels) if _may_compare(user, left, right) else None,
        "is_organizer": is_organizer(user),
        "tab": "leaderboards",
    }


def _may_compare(user: Visitor, left: Leaderboard, right: Leaderboard) -> bool:
    """Qrels are compared where both are of one track; whoever sees its leaderboards sees them too."""
    return left.track_id == right.track_id and left.qrels_id != right.qrels_id and isinstance(user, User)


def _rows(user: Visitor, left: Leaderboard, right: Leaderboard, measures: list[str]) -> list[BesideRow]:
    sides = [{_key(row): row for row in board_rows(user, board)} for board in (left, right)]
    columns = [[board.measures.index(name) for name in measures] for board in (left, right)]
    places = [_places(side, indices) for side, indices in zip(sides, columns, strict=True)]
    rows = []
    for key in sides[0] | sides[1]:
        found = [side.get(key) for side in sides]
        shows = next(row for row in found if row)
        pairs = [
            _pair(
                [
                    row.cells[indices[n]].value if row else None
                    for row, indices in zip(found, columns, strict=True)
                ],
                [place.get(key, [None] * len(measures))[n] for place in places],
            )
            for n in range(len(measures))
        ]
        rows.append(BesideRow(shows.run.team.name, shows.run.tag, shows.is_baseline, pairs))
    return sorted(rows, key=_order)


def _key(row: BoardRow) -> tuple[str, str]:
    return row.run.team.name.casefold(), row.run.tag.casefold()


def _places(
    side: dict[tuple[str, str], BoardRow], indices: list[int]
) -> dict[tuple[str, str], list[int | None]]:
    by_measure = [
        ranks(np.array([row.cells[index].value for row in side.values()])).tolist() for index in indices
    ]
    return {key: [of[n] for of in by_measure] for n, key in enumerate(side)}


def _pair(values: list[float | None], places: list[int | None]) -> Pair:
    left, right = values
    both = left is not None and right is not None
    difference = f"{right - left:+.4f}" if left is not None and right is not None else ""
    texts = ["" if value is None else shown(value) for value in values]
    return Pair(texts[0], texts[1], difference if both else "", places[0], places[1])


def _order(row: BesideRow) -> tuple[bool, float, str]:
    first = row.pairs[0]
    return not (first.left and first.right), -float(first.left or first.right or 0), row.tag


def _tau(rows: list[BesideRow], n: int) -> float | None:
    """Kendall's tau-b of the runs that both have; None with fewer than two, or where one ties all."""
    both = [row.pairs[n] for row in rows if row.pairs[n].left and row.pairs[n].right]
    if len(both) < 2:
        return None
    left, right = (np.array([float(getattr(pair, side)) for pair in both]) for side in ("left", "right"))
    tau = kendall_tau(left, right)
    return None if np.isnan(tau) else tau


class Changed(NamedTuple):
    """A unit whose grade differs; None: it has none there."""

    topic: str
    docno: str
    before: int | None
    after: int | None


def qrels_changes(old: Qrels, new: Qrels) -> dict[str, Any]:
    """What differs between two versions of qrels: counts by topic, by change of grade, and the first units."""
    before, after = _grades(old), _grades(new)
    changed = [
        Changed(topic, docno, before.get((topic, docno)), after.get((topic, docno)))
        for topic, docno in sorted(before.keys() | after.keys())
        if before.get((topic, docno)) != after.get((topic, docno))
    ]
    topics = {unit[0] for unit in before}, {unit[0] for unit in after}
    return {
        "old": old,
        "new": new,
        "n_added": sum(one.before is None for one in changed),
        "n_removed": sum(one.after is None for one in changed),
        "n_regraded": sum(one.before is not None and one.after is not None for one in changed),
        "topics_added": sorted(topics[1] - topics[0]),
        "topics_removed": sorted(topics[0] - topics[1]),
        "by_topic": _by_topic(changed),
        "steps": sorted(
            Counter((one.before, one.after) for one in changed).items(),
            key=lambda item: (-item[1], str(item[0])),
        ),
        "units": changed[:SHOWN_UNITS],
        "n_units": len(changed),
    }


def _grades(qrels: Qrels) -> dict[Unit, int]:
    found = QrelsEntry.objects.filter(qrels=qrels).values_list("topic", "docno", "grade")
    return {(topic, docno): grade for topic, docno, grade in found.iterator(chunk_size=CHUNK)}


class TopicChanges(NamedTuple):
    """How many units of a topic differ."""

    topic: str
    n_added: int
    n_removed: int
    n_regraded: int


def _by_topic(changed: Iterable[Changed]) -> list[TopicChanges]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in changed:
        counts[one.topic][0 if one.before is None else 1 if one.after is None else 2] += 1
    return [TopicChanges(topic, *counts[topic]) for topic in sorted(counts)]
