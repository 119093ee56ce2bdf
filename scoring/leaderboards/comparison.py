"""Two leaderboards compared: two campaigns run by run, or two versions of qrels and what changed between them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from django.shortcuts import get_object_or_404

from accounts.access import AnyUser, is_organizer
from accounts.models import User
from assay.evaluation.score_table import shown
from assay.statistics.rank_correlation import kendall_tau, ranks
from scoring.leaderboards.pages import titled
from scoring.leaderboards.selectors import BoardRow, board_rows, leaderboards_for
from scoring.models import Leaderboard, Qrels, QrelsEntry
from scoring.qrels.selectors import CHUNK
from tracks.models import Track

UNITS_LISTED = 200  # changed units on the page; the counts include all

Unit = tuple[str, str]  # topic, docno
Name = tuple[str, str]  # team, tag; both in lower case


class Pair(NamedTuple):
    """A run's mean on both leaderboards, as text; empty where the run is not on it."""

    left: str
    right: str
    difference: str
    place_left: int | None
    place_right: int | None

    @property
    def is_on_both(self) -> bool:
        return bool(self.left and self.right)


class ComparedRun(NamedTuple):
    """A run of either leaderboard; runs match by team and tag, whatever their case."""

    team: str
    tag: str
    is_baseline: bool
    pairs: list[Pair]


class ChangedUnit(NamedTuple):
    """A unit whose grade differs; None if it has no grade in that version."""

    topic: str
    docno: str
    before: int | None
    after: int | None


class TopicChanges(NamedTuple):
    """How many units of a topic differ."""

    topic: str
    n_added: int
    n_removed: int
    n_regraded: int


@dataclass(frozen=True)
class QrelsChanges:
    """What differs between two versions of qrels. `grade_changes` are pairs of grades with numbers of units."""

    old: Qrels
    new: Qrels
    n_added: int
    n_removed: int
    n_regraded: int
    topics_added: list[str]
    topics_removed: list[str]
    by_topic: list[TopicChanges]
    grade_changes: list[tuple[tuple[int | None, int | None], int]]
    units: list[ChangedUnit]
    n_units: int


@dataclass(frozen=True)
class ComparisonPage:
    """Two leaderboards; `taus` has Kendall's tau of each measure."""

    track: Track
    board: Leaderboard
    other: Leaderboard
    measures: list[tuple[str, str]]
    rows: list[ComparedRun]
    taus: list[float | None]
    n_both: int
    changes: QrelsChanges | None
    is_organizer: bool
    tab: str = "leaderboards"


def comparison_page(user: AnyUser, left: Leaderboard, other_id: int) -> ComparisonPage:
    """The runs of two leaderboards, those on both first, by the first measure that both have.

    Raises
    ------
    Http404
        The user may not see the other leaderboard, it does not exist, or the two have no measure in common.
    """
    boards = leaderboards_for(user).filter(status=Leaderboard.Status.READY, measures__overlap=left.measures)
    right = get_object_or_404(boards, pk=other_id)
    measures = [name for name in left.measures if name in right.measures]
    rows = _rows(user, left, right, measures)
    return ComparisonPage(
        track=left.track,
        board=left,
        other=right,
        measures=titled(measures),
        rows=rows,
        taus=[_tau(rows, n) for n in range(len(measures))],
        n_both=sum(row.pairs[0].is_on_both for row in rows),
        changes=qrels_changes(left.qrels, right.qrels) if _may_compare_qrels(user, left, right) else None,
        is_organizer=is_organizer(user),
    )


def _may_compare_qrels(user: AnyUser, left: Leaderboard, right: Leaderboard) -> bool:
    """Two versions of one track; a user who sees its leaderboards sees its qrels too."""
    return left.track_id == right.track_id and left.qrels_id != right.qrels_id and isinstance(user, User)


def _rows(user: AnyUser, left: Leaderboard, right: Leaderboard, measures: list[str]) -> list[ComparedRun]:
    sides = [{_name(row): row for row in board_rows(user, board)} for board in (left, right)]
    columns = [[board.measures.index(name) for name in measures] for board in (left, right)]
    places = [_places(side, indices) for side, indices in zip(sides, columns, strict=True)]
    compared = []
    for name in sides[0] | sides[1]:
        rows = [side.get(name) for side in sides]
        run = next(row for row in rows if row)
        pairs = [
            _pair(
                [
                    row.cells[indices[n]].value if row else None
                    for row, indices in zip(rows, columns, strict=True)
                ],
                [of_side.get(name, [None] * len(measures))[n] for of_side in places],
            )
            for n in range(len(measures))
        ]
        compared.append(ComparedRun(run.run.team.name, run.run.tag, run.is_baseline, pairs))
    return sorted(compared, key=_order)


def _name(row: BoardRow) -> Name:
    return row.run.team.name.casefold(), row.run.tag.casefold()


def _places(side: dict[Name, BoardRow], indices: list[int]) -> dict[Name, list[int | None]]:
    """The place of each run by each measure."""
    by_measure = [
        ranks(np.array([row.cells[index].value for row in side.values()])).tolist() for index in indices
    ]
    return {name: [places[n] for places in by_measure] for n, name in enumerate(side)}


def _pair(values: list[float | None], places: list[int | None]) -> Pair:
    left, right = values
    difference = f"{right - left:+.4f}" if left is not None and right is not None else ""
    texts = ["" if value is None else shown(value) for value in values]
    return Pair(texts[0], texts[1], difference, places[0], places[1])


def _order(run: ComparedRun) -> tuple[bool, float, str]:
    first = run.pairs[0]
    return not first.is_on_both, -float(first.left or first.right or 0), run.tag


def _tau(rows: list[ComparedRun], n: int) -> float | None:
    """Kendall's tau-b of the runs on both; None with fewer than two, or if all runs of a leaderboard are tied."""
    pairs = [row.pairs[n] for row in rows if row.pairs[n].is_on_both]
    if len(pairs) < 2:
        return None
    left, right = (np.array([float(getattr(pair, side)) for pair in pairs]) for side in ("left", "right"))
    tau = kendall_tau(left, right)
    return None if np.isnan(tau) else tau


def qrels_changes(old: Qrels, new: Qrels) -> QrelsChanges:
    """What differs between two versions of qrels: counts by topic, by change of grade, and the first units."""
    before, after = _grades(old), _grades(new)
    changed = [
        ChangedUnit(topic, docno, before.get((topic, docno)), after.get((topic, docno)))
        for topic, docno in sorted(before.keys() | after.keys())
        if before.get((topic, docno)) != after.get((topic, docno))
    ]
    old_topics, new_topics = {unit[0] for unit in before}, {unit[0] for unit in after}
    grade_changes = Counter((unit.before, unit.after) for unit in changed)
    return QrelsChanges(
        old=old,
        new=new,
        n_added=sum(unit.before is None for unit in changed),
        n_removed=sum(unit.after is None for unit in changed),
        n_regraded=sum(unit.before is not None and unit.after is not None for unit in changed),
        topics_added=sorted(new_topics - old_topics),
        topics_removed=sorted(old_topics - new_topics),
        by_topic=_by_topic(changed),
        grade_changes=sorted(grade_changes.items(), key=lambda item: (-item[1], str(item[0]))),
        units=changed[:UNITS_LISTED],
        n_units=len(changed),
    )


def _grades(qrels: Qrels) -> dict[Unit, int]:
    entries = QrelsEntry.objects.filter(qrels=qrels).values_list("topic", "docno", "grade")
    return {(topic, docno): grade for topic, docno, grade in entries.iterator(chunk_size=CHUNK)}


def _by_topic(changed: Iterable[ChangedUnit]) -> list[TopicChanges]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for unit in changed:
        counts[unit.topic][0 if unit.before is None else 1 if unit.after is None else 2] += 1
    return [TopicChanges(topic, *counts[topic]) for topic in sorted(counts)]
