"""The systems of a leaderboard in one table: battles by people and by programs, and measures of other tracks.

Each column is of one leaderboard that the user may see. Judgments of two leaderboards are never counted together; they
are only compared, to say how far people and programs agree. A system is a run: runs of several tracks match by team and
tag.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isfinite, nan
from typing import NamedTuple, Self

import numpy as np
from django.http import Http404

from accounts.access import AnyUser
from assay.statistics.rank_correlation import kendall_tau
from assay.tables import Cell, Table, shown
from assay_extensions.battles.consistency import agreement_of
from assay_extensions.battles.site.boards import Battles, battles_behind, has_battles
from pooling.models import Run
from pooling.runs.names import names_for
from scoring.evaluations.selectors import means_of, named
from scoring.leaderboards.selectors import may_compare
from scoring.models import Evaluation, Leaderboard
from scoring.selectors import LeaderboardPage, leaderboards_for, shared_page
from scoring.stored_analyses import evaluated
from web.tables import ShownTable, shown_table

MOST = 10  # leaderboards side by side
PEOPLE = "people"
BATTLES = ("rating", "low", "high")
Name = tuple[str, str]  # team and tag


class Part(NamedTuple):
    """A leaderboard as columns: `BATTLES`, or its measures. `values` has a row for each of its runs.

    `ratings` are those of the largest group of systems: ratings of several groups cannot be compared.
    """

    board: Leaderboard
    columns: Sequence[str]
    values: Mapping[Name, Sequence[float]]
    ratings: Mapping[Name, float]
    battles: Battles | None = None

    @property
    def judge(self) -> str:
        return self.board.qrels.machine_name or PEOPLE

    @property
    def has_battles(self) -> bool:
        return self.battles is not None

    @property
    def headings(self) -> Sequence[str]:
        """The headings of its columns on the page."""
        return ("Rating", "95 % interval") if self.has_battles else self.columns

    def only(self, names: Collection[str]) -> Self:
        """The part with some of its measures."""
        places = [place for place, name in enumerate(self.columns) if name in names]
        values = {name: [row[place] for place in places] for name, row in self.values.items()}
        return self._replace(columns=[self.columns[place] for place in places], values=values)

    def row(self, name: Name) -> Sequence[float]:
        """The values of a system; nan where it has none."""
        return self.values.get(name, [nan] * len(self.columns))

    def cells(self, name: Name) -> list[str]:
        """The texts below `headings` for a system."""
        values = self.row(name)
        if not self.has_battles:
            return [shown(value) if isfinite(value) else "" for value in values]
        rating, low, high = values
        interval = f"{low:,.0f} to {high:,.0f}" if isfinite(low) else ""
        return [f"{rating:,.0f}" if isfinite(rating) else "", interval]


@dataclass(frozen=True, kw_only=True)
class SystemsPage(LeaderboardPage):
    """`rows` have the tag, the team and the cells of all parts; `choices` are measures, and whether they are shown."""

    choices: Sequence[tuple[str, bool]]
    parts: Sequence[Part]
    rows: Sequence[tuple[str, str, Sequence[str]]]
    agreement: ShownTable | None


def systems_page(user: AnyUser, board: Leaderboard, asked: Collection[str] = ()) -> SystemsPage:
    """The page with the measures that are asked for; without any of them, with all."""
    parts = parts_of(user, board)
    names = list(dict.fromkeys(name for part in parts if not part.has_battles for name in part.columns))
    chosen = set(names) & set(asked) or set(names)
    parts = [part if part.has_battles else part.only(chosen) for part in parts]
    rows = [
        (tag, team, [cell for part in parts for cell in part.cells((team, tag))])
        for team, tag in _systems(parts)
    ]
    agreement = _agreement(parts)
    return SystemsPage(
        **vars(shared_page(user, board)),
        choices=[(name, name in chosen) for name in names],
        parts=[part for part in parts if part.columns],
        rows=rows,
        agreement=shown_table(agreement) if agreement.rows else None,
    )


def tables_of(user: AnyUser, board: Leaderboard) -> list[Table]:
    """The table of systems, and how far the judges of battles agree, for files and programs."""
    parts = parts_of(user, board)
    header = [f"{part.board.track.slug}/{part.judge}/{column}" for part in parts for column in part.columns]
    rows: list[tuple[Cell, ...]] = [
        (tag, team, *(value for part in parts for value in part.row((team, tag))))
        for team, tag in _systems(parts)
    ]
    description = "systems with their ratings by battles and the means of measures, by track and judge"
    return [
        Table("systems", description, ("system", "team", *header), rows, "Systems"),
        _agreement(parts),
    ]


def parts_of(user: AnyUser, board: Leaderboard) -> list[Part]:
    """The leaderboard, then the newest one of each other judge and track that the user sees and that has its runs.

    Raises:
        Http404: Its runs are not generated answers.
    """
    if not board.track.protocol.parsed.is_of_answers:
        raise Http404
    own = part_of(user, board)
    of_runs = Run.objects.filter(tag__in=board.evaluations.order_by().values("run__tag"))
    seen = leaderboards_for(user).filter(
        status=Leaderboard.Status.READY,
        track__in=of_runs.order_by().values("track"),
        track__topics__code__in=board.track.topics.order_by().values("code"),
    )
    whole = seen.exclude(qrels__report__has_key="part_of").defer(None)
    judges = "track_id", "qrels__machine_id"
    newest = whole.order_by(*judges, "-pk").distinct(*judges)
    others = [
        other
        for other in newest
        if other.track.protocol.parsed.is_of_answers
        and may_compare(user, board, other)
        and (other.track_id, other.qrels.machine_id) != (board.track_id, board.qrels.machine_id)
    ]
    others.sort(
        key=lambda other: (other.track_id != board.track_id, other.track_id, other.qrels.machine_id or 0)
    )
    parts = [part_of(user, each) for each in others[: MOST - 1]]
    return [own, *(part for part in parts if part.values.keys() & own.values.keys())]


def part_of(user: AnyUser, board: Leaderboard) -> Part:
    """A leaderboard as columns, without the runs that are disqualified, under the names that the user reads."""
    under_names = named(names_for(user, board.track), evaluated(board))
    evaluations = [each for each in under_names if each.run.status != Run.Status.DISQUALIFIED]
    if not has_battles(board):
        means = means_of(board)
        values = {
            name_of(each): [means.get(each.pk, {}).get(measure, nan) for measure in board.measures]
            for each in evaluations
        }
        return Part(board, board.measures, values, {})
    battles = battles_behind(user, board)
    names = {each.run.tag: name_of(each) for each in evaluations}
    values = {name: [nan] * len(BATTLES) for name in names.values()}
    ratings: dict[Name, float] = {}
    if rated := battles.board:
        for number, group in enumerate(rated.groups):
            for n, place in enumerate(group.members):
                name, rating = names.get(rated.outcomes.systems[place]), group.rating(n)
                if name is not None:
                    values[name] = [rating.value, rating.low, rating.high]
                    ratings |= {name: rating.value} if number == 0 and isfinite(rating.value) else {}
    return Part(board, BATTLES, values, ratings, battles)


def name_of(evaluation: Evaluation) -> Name:
    return evaluation.run.team.name, evaluation.run.tag


def _systems(parts: Sequence[Part]) -> list[Name]:
    """The systems of all parts, the best of the first part first."""
    names = {name for part in parts for name in part.values}
    best = {name: row[0] for name, row in parts[0].values.items() if row and isfinite(row[0])}
    return sorted(names, key=lambda name: (-best.get(name, -inf), name))


def _agreement(parts: Sequence[Part]) -> Table:
    return Table(
        "agreement",
        "battles of the same two systems on the same topic that both judged, and those with the same outcome; Cohen's "
        "kappa; systems that both rate, and Kendall's tau of their ratings",
        ("judge", "other", "battles", "alike", "share", "kappa", "systems", "tau"),
        [*_agreements(parts)],
        "Agreement of people and programs",
    )


def _agreements(parts: Sequence[Part]) -> Iterator[tuple[Cell, ...]]:
    """A row for each two judges of the battles of a track."""
    for first, second in combinations(parts, 2):
        if first.battles and second.battles and first.board.track_id == second.board.track_id:
            both = agreement_of(first.battles.counted, second.battles.counted)
            systems = sorted(first.ratings.keys() & second.ratings.keys())
            ratings = [np.array([part.ratings[name] for name in systems]) for part in (first, second)]
            share = both.alike / both.battles if both.battles else nan
            counts = both.battles, both.alike, share, both.kappa
            yield first.judge, second.judge, *counts, len(systems), kendall_tau(*ratings)
