"""Two leaderboards compared: two campaigns run by run, or two versions of qrels and what changed between them."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.access import AnyUser, oversees
from accounts.models import User
from assay.statistics.rank_correlation import kendall_tau, ranks
from assay.tables import natural, shown
from scoring.leaderboards.selectors import board_rows, may_compare
from scoring.models import Leaderboard, Qrels, QrelsEntry
from scoring.qrels.selectors import CHUNK
from scoring.selectors import LeaderboardPage, leaderboards_for, titled

K = TypeVar("K", bound=Hashable)

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
    """Numbers of units of a topic that differ."""

    topic: str
    n_added: int
    n_removed: int
    n_regraded: int


@dataclass(frozen=True)
class QrelsChanges:
    """The differences of two versions of qrels. `grade_changes` are pairs of grades with numbers of units."""

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


@dataclass(frozen=True, kw_only=True)
class ComparisonPage(LeaderboardPage):
    """Two leaderboards; `taus` has Kendall's tau of each measure."""

    other: Leaderboard
    rows: list[ComparedRun]
    taus: list[float | None]
    n_both: int
    changes: QrelsChanges | None


def comparison_page(user: AnyUser, left: Leaderboard, other_id: int) -> ComparisonPage:
    """The runs of two leaderboards, those on both first, by the first measure that both have.

    Raises:
        Http404: The user may not see the other leaderboard, it does not exist, the two have no measure in common, or
            they are of two tracks, one of which hides names.
    """
    boards = leaderboards_for(user).filter(status=Leaderboard.Status.READY, measures__overlap=left.measures)
    right = get_object_or_404(boards, pk=other_id)
    if not may_compare(user, left, right):
        raise Http404
    measures = [name for name in left.measures if name in right.measures]
    rows = _rows(user, left, right, measures)
    # two versions of one track; a user who sees its leaderboards sees its qrels too
    is_other = left.track_id == right.track_id and left.qrels_id != right.qrels_id and isinstance(user, User)
    return ComparisonPage(
        track=left.track,
        board=left,
        other=right,
        measures=[pair for pair in titled(left) if pair[0] in measures],
        charted=measures[0],
        rows=rows,
        taus=[
            tau_of(
                [
                    (float(row.pairs[n].left), float(row.pairs[n].right))
                    for row in rows
                    if row.pairs[n].is_on_both
                ]
            )
            for n in range(len(measures))
        ],
        n_both=sum(row.pairs[0].is_on_both for row in rows),
        changes=qrels_changes(left.qrels, right.qrels) if is_other else None,
        is_organizer=oversees(user, left.track_id),
    )


def _rows(user: AnyUser, left: Leaderboard, right: Leaderboard, measures: list[str]) -> list[ComparedRun]:
    """The runs of either leaderboard: those on both first, then by the first measure."""
    sides = [
        {(row.run.team.name.casefold(), row.run.tag.casefold()): row for row in board_rows(user, board)}
        for board in (left, right)
    ]
    pairs: defaultdict[Name, list[Pair]] = defaultdict(list)
    for measure in measures:
        values = [
            {name: row.cells[board.measures.index(measure)].value for name, row in side.items()}
            for side, board in zip(sides, (left, right), strict=True)
        ]
        places = [places_by_value(of_side) for of_side in values]
        for name in sides[0] | sides[1]:
            before, after = (of_side.get(name) for of_side in values)
            difference = "" if before is None or after is None else f"{after - before:+.4f}"
            texts = ("" if before is None else shown(before), "" if after is None else shown(after))
            pairs[name].append(Pair(*texts, difference, places[0].get(name), places[1].get(name)))
    runs = [sides[0].get(name) or sides[1][name] for name in pairs]
    compared = [
        ComparedRun(row.run.team.name, row.run.tag, row.is_baseline, of_run)
        for row, of_run in zip(runs, pairs.values(), strict=True)
    ]

    def order(run: ComparedRun) -> tuple[bool, float, str]:
        first = run.pairs[0]
        return not first.is_on_both, -float(first.left or first.right or 0), run.tag

    return sorted(compared, key=order)


def places_by_value(values: Mapping[K, float]) -> dict[K, int]:
    """The place of each key by its value, from 1 for the highest."""
    return dict(zip(values, ranks(np.array(list(values.values()))).tolist(), strict=True))


def tau_of(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Kendall's tau-b of pairs of values; None with fewer than two, or if all values of a side are equal."""
    if len(pairs) < 2:
        return None
    left, right = np.array(pairs, dtype=np.float64).T
    tau = kendall_tau(left, right)
    return None if np.isnan(tau) else float(tau)


def qrels_changes(old: Qrels, new: Qrels) -> QrelsChanges:
    """The differences of two versions of qrels: counts by topic, by change of grade, and the first units."""
    before, after = _grades(old), _grades(new)
    changed = [
        ChangedUnit(topic, docno, before.get((topic, docno)), after.get((topic, docno)))
        for topic, docno in sorted(
            before.keys() | after.keys(), key=lambda unit: (natural(unit[0]), natural(unit[1]), unit)
        )
        if before.get((topic, docno)) != after.get((topic, docno))
    ]
    old_topics, new_topics = {unit[0] for unit in before}, {unit[0] for unit in after}
    grade_changes = Counter((unit.before, unit.after) for unit in changed)
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for unit in changed:
        counts[unit.topic][0 if unit.before is None else 1 if unit.after is None else 2] += 1
    return QrelsChanges(
        old=old,
        new=new,
        n_added=sum(unit.before is None for unit in changed),
        n_removed=sum(unit.after is None for unit in changed),
        n_regraded=sum(unit.before is not None and unit.after is not None for unit in changed),
        topics_added=sorted(new_topics - old_topics, key=natural),
        topics_removed=sorted(old_topics - new_topics, key=natural),
        by_topic=[TopicChanges(topic, *counts[topic]) for topic in sorted(counts, key=natural)],
        grade_changes=sorted(grade_changes.items(), key=lambda item: (-item[1], str(item[0]))),
        units=changed[:UNITS_LISTED],
        n_units=len(changed),
    )


def _grades(qrels: Qrels) -> dict[Unit, int]:
    entries = QrelsEntry.objects.filter(qrels=qrels).values_list("topic", "docno", "grade")
    return {(topic, docno): grade for topic, docno, grade in entries.iterator(chunk_size=CHUNK)}
