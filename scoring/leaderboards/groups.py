"""The same runs scored with the qrels of a version and with those of its parts, side by side.

Parts are the judgments of each group of assessors alone, and the sets of qrels of the protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from django.http import Http404

from accounts.access import AnyUser
from assay.formats.spreadsheet import as_csv
from assay.tables import one_word, shown
from pooling.runs.names import Names, names_for
from scoring.evaluations.selectors import means_of, named
from scoring.leaderboards.comparison import places_by_value, tau_of
from scoring.models import Evaluation, Leaderboard, Qrels
from scoring.qrels.selectors import part_versions
from scoring.selectors import LeaderboardPage, leaderboards_for, shared_page

ALL = "all judgments"


class GroupColumn(NamedTuple):
    """A leaderboard with the name of its group, and its measure in the place of the one that is shown."""

    group: str
    board: Leaderboard
    measure: str


class GroupCell(NamedTuple):
    """The mean of a run, and its place; empty if the run is not on that leaderboard."""

    text: str
    place: int | None


class GroupRow(NamedTuple):
    team: str
    tag: str
    is_baseline: bool
    cells: list[GroupCell]


class GroupTau(NamedTuple):
    """Kendall's tau-b between two columns, over the runs on both; None if it is not defined."""

    first: str
    second: str
    tau: float | None


@dataclass(frozen=True, kw_only=True)
class GroupsPage(LeaderboardPage):
    """A measure of all runs by group of assessors and by set of qrels; the n-th one of each."""

    groups: list[GroupColumn]
    rows: list[GroupRow]
    taus: list[GroupTau]


def boards_by_group(user: AnyUser, board: Leaderboard) -> dict[str, Leaderboard]:
    """Those of `boards_by_part` without the sets."""
    boards = boards_by_part(user, board)
    groups = {name: part_board for name, part_board in boards.items() if "set" not in part_board.qrels.report}
    return groups if len(groups) > 1 else {}


def boards_by_part(user: AnyUser, board: Leaderboard) -> dict[str, Leaderboard]:
    """The newest leaderboards of a version and of the groups and sets frozen with it that the user may see.

    It is empty if there are no such parts. Four queries.
    """
    report = board.qrels.report
    versions = Qrels.objects.filter(track=board.track_id, machine=board.qrels.machine_id)
    whole = versions.filter(version=report["part_of"]).first() if "part_of" in report else board.qrels
    if whole is None or not (parts := list(part_versions(whole))):
        return {}
    ready = leaderboards_for(user).filter(status=Leaderboard.Status.READY, qrels__in=[whole, *parts])
    newest = {part_board.qrels_id: part_board for part_board in ready.order_by("pk")}
    sets = board.track.protocol.parsed.qrels
    named = {ALL: whole}
    for part in parts:
        of_set = sets.set_of(part.report.get("set", ""))
        named[of_set.name if of_set else part.report.get("group", "")] = part
    return {group: newest[version.pk] for group, version in named.items() if version.pk in newest}


def groups_page(user: AnyUser, board: Leaderboard, measure: str = "") -> GroupsPage:
    """A measure of the leaderboard, side by side with the same measure of the others.

    Raises:
        Http404: The qrels of the leaderboard have no groups.
    """
    boards = _boards(user, board)
    shared = shared_page(user, board, measure)
    columns = _columns(boards, board.measures.index(shared.charted))
    columns = columns or _columns(boards, 0)
    names = names_for(user, board.track)
    means = [_means(column, names) for column in columns]
    return GroupsPage(
        **vars(shared),
        groups=columns,
        rows=_rows(columns, means),
        taus=[
            GroupTau(
                columns[first].group,
                columns[second].group,
                tau_of(
                    [
                        (means[first][run][1], means[second][run][1])
                        for run in means[first]
                        if run in means[second]
                    ]
                ),
            )
            for first, second in combinations(range(len(columns)), 2)
        ],
    )


def groups_file(user: AnyUser, board: Leaderboard) -> str:
    """CSV with a row for each run, measure and group.

    Raises:
        Http404: The qrels of the leaderboard have no groups.
    """
    boards, names = _boards(user, board), names_for(user, board.track)
    rows = [
        [one_word(evaluation.run.team.name), one_word(evaluation.run.tag), group, measure, shown(value)]
        for n in range(len(board.measures))
        for group, of_group, measure in _columns(boards, n)
        for evaluation, value in _means(GroupColumn(group, of_group, measure), names).values()
    ]
    return as_csv(
        ["team", "run", "group", "measure", "value"], sorted(rows, key=lambda row: (row[0], row[1]))
    )


def _boards(user: AnyUser, board: Leaderboard) -> dict[str, Leaderboard]:
    boards = boards_by_part(user, board)
    if not boards:
        raise Http404("These qrels have no groups of assessors and no sets.")
    return boards


def _columns(boards: dict[str, Leaderboard], n: int) -> list[GroupColumn]:
    """The leaderboards that have an `n`-th measure: all, as long as the protocol keeps its measures."""
    return [
        GroupColumn(group, board, board.measures[n])
        for group, board in boards.items()
        if n < len(board.measures)
    ]


Means = dict[int, tuple[Evaluation, float]]  # by run


def _means(column: GroupColumn, names: Names) -> Means:
    """The mean of each run of a column, under the names of a reader. Two queries."""
    means = means_of(column.board)
    evaluations = Evaluation.objects.filter(leaderboard=column.board).select_related("run__team")
    return {
        evaluation.run_id: (evaluation, means[evaluation.pk][column.measure])
        for evaluation in named(names, evaluations.defer("run__report", "curves"))
    }


def _rows(columns: Sequence[GroupColumn], means: Sequence[Means]) -> list[GroupRow]:
    """The runs, best first in the first column."""
    places = [places_by_value({run: value for run, (_, value) in of_column.items()}) for of_column in means]
    rules = columns[0].board.track.protocol.parsed.runs
    runs = {run: evaluation.run for of_column in means for run, (evaluation, _) in of_column.items()}

    def order(run: int) -> tuple[float, str, str]:
        value = means[0][run][1] if run in means[0] else -1.0
        return -value, runs[run].team.name, runs[run].tag

    return [
        GroupRow(
            runs[run].team.name,
            runs[run].tag,
            rules.kind(runs[run].kind).baseline,
            [
                GroupCell(shown(of_column[run][1]), place[run]) if run in of_column else GroupCell("", None)
                for of_column, place in zip(means, places, strict=True)
            ],
        )
        for run in sorted(runs, key=order)
    ]
