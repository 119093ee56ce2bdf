"""The judges and boards that a user may see, and what their pages show.

Organizers see everything. A member of a team sees its judges. A board of judges is seen as it is released; the scores
of runs on it are only for those who see the leaderboard of people.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from accounts.access import AnyUser, overseen_by, oversees
from accounts.models import User
from assay.formats.spreadsheet import as_csv
from assay.tables import Cell, Table, as_tsv, one_word, text_of
from assay_extensions.metaevaluation.comparison import Coefficient, Fidelity
from assay_extensions.metaevaluation.judgments import SCORED
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeResult, JudgeRun
from participation.models import Team
from participation.teams.selectors import teams_of
from pooling.runs.names import Names, names_for
from scoring.models import Leaderboard
from scoring.selectors import leaderboards_for
from tracks.models import Track
from tracks.tracks.selectors import track_or_404, tracks_for
from web import times
from web.statements import Prepared

Release = Leaderboard.Release
LABELS = {
    "kendall": "Kendall’s τ-b",
    "spearman": "Spearman’s ρ",
    "pearson": "Pearson’s r",
    "tau_ap": "τ AP",
    "tau_gap": "τ GAP",
    "rbo": "Rank-biased overlap",
}


_CALL = Prepared(lambda track: JudgeCall.objects.filter(track=track))


def call_of(track: Track) -> JudgeCall | None:
    return _CALL.first(track=track.pk)


def judges_for(user: AnyUser, track: Track) -> QuerySet[JudgeRun]:
    """The judges of a track that a user may see: organizers all, others those of their own teams."""
    judges = JudgeRun.objects.filter(track=track).select_related("team", "track", "submitted_by")
    if oversees(user, track.pk):
        return judges
    return judges.filter(team__members=user) if isinstance(user, User) else judges.none()


def judge_or_404(user: AnyUser, slug: str, judge_run_id: int) -> JudgeRun:
    """A judge that the user may see.

    Raises:
        Http404: It does not exist, or the user may not see it.
    """
    return get_object_or_404(judges_for(user, track_or_404(user, slug)), pk=judge_run_id)


def boards_for(user: AnyUser, track: Track) -> QuerySet[JudgeBoard]:
    """The boards of the judges of a track that a user may see, newest first."""
    boards = JudgeBoard.objects.filter(track=track, track__in=tracks_for(user)).select_related(
        "track__protocol", "leaderboard__qrels", "job", "created_by", "released_by"
    )
    if oversees(user, track.pk):
        return boards
    seen = Q(release=Release.PUBLIC)
    if isinstance(user, User):
        seen |= Q(release=Release.PARTICIPANTS, track__in=Team.objects.filter(members=user).values("track"))
    return boards.filter(seen)


def board_or_404(user: AnyUser, slug: str, judge_board_id: int) -> JudgeBoard:
    """A board that the user may see.

    Raises:
        Http404: It does not exist, or the user may not see it.
    """
    return get_object_or_404(boards_for(user, track_or_404(user, slug)), pk=judge_board_id)


def sees_scores(user: AnyUser, board: JudgeBoard) -> bool:
    """Return whether a user sees the scores and names of the runs of people. One query."""
    return (
        board.track_id in overseen_by(user) or leaderboards_for(user).filter(pk=board.leaderboard_id).exists()
    )


def truths(track: Track) -> QuerySet[Leaderboard]:
    """The leaderboards of people with which judges can be compared, newest first."""
    boards = Leaderboard.objects.filter(track=track, status=Leaderboard.Status.READY, qrels__machine=None)
    return boards.select_related("qrels", "track").defer("statistics", "qrels__report").order_by("-pk")


def kinds_of(judge_run: JudgeRun) -> str:
    """Return what a judge has, in words."""
    kinds = {part["kind"] for part in judge_run.parts}
    return ", ".join(words for kind, words in SCORED.items() if kind in kinds)


@dataclass(frozen=True)
class JudgesPage:
    """The judges of a track that the user may see, with what each has, and the boards."""

    track: Track
    call: JudgeCall | None
    is_open: bool
    judges: list[tuple[JudgeRun, str]]
    boards: list[JudgeBoard]
    may_submit: bool
    is_organizer: bool


def judges_page(user: AnyUser, track: Track) -> JudgesPage:
    """In six queries at most."""
    call = call_of(track)
    return JudgesPage(
        track=track,
        call=call,
        is_open=call is not None and call.is_open(times.now()),
        judges=[
            (judge, kinds_of(judge))
            for judge in judges_for(user, track).order_by("-status", "team__name", "tag", "pk")
        ],
        boards=list(boards_for(user, track)),
        may_submit=teams_of(user, track).exists(),
        is_organizer=oversees(user, track.pk),
    )


class Drop(NamedTuple):
    """The run that loses most places with a judge."""

    run: str
    places: int


class RunPlace(NamedTuple):
    """A run with its means by the truth and by a judge, and its places."""

    run: str
    mean_truth: float
    mean_judge: float
    place_truth: int
    place_judge: int


@dataclass(frozen=True)
class ShownResult:
    """A judge on a board, as a reader sees it.

    `largest_drop` has no name of a run, and `runs` and `notes` are empty, for people who do not see the leaderboard.
    `notes` are empty as long as names are hidden, too: they name runs.
    """

    id: int
    judge: int
    team: str
    tag: str
    source: str
    measure: str
    n_runs: int
    n_topics: int
    coefficients: list[Coefficient]
    overlaps: dict[str, int]
    largest_drop: Drop | None
    fidelity: Fidelity | None
    runs: list[RunPlace]
    tables: list[Table]
    notes: list[str]
    address: str

    def value(self, title: str) -> Coefficient | None:
        """A coefficient, such as `kendall@10`."""
        return next((row for row in self.coefficients if row.title == title), None)

    @property
    def labeled(self) -> list[tuple[str, Coefficient]]:
        """Each coefficient below its name on pages."""
        return [
            (LABELS[row.name] + (f", top {row.k}" if row.k is not None else ""), row)
            for row in self.coefficients
        ]

    @property
    def best(self) -> int | None:
        """The largest k for which the k best runs are compared separately."""
        return max((row.k for row in self.coefficients if row.k is not None), default=None)

    @property
    def agreement(self) -> dict[str, float | None]:
        """The coefficients of agreement of its grades, by name; empty without qrels."""
        rows = next((table.rows for table in self.tables if table.name == "agreement"), [])
        return {str(row[0]): row[2] for row in rows}  # type: ignore[misc]

    @property
    def nuggets(self) -> dict[str, Cell]:
        """The numbers about its nuggets, by name; empty without lists of them."""
        table = next((table for table in self.tables if table.name == "nuggets"), None)
        return dict(zip(table.header, table.rows[0], strict=True)) if table else {}


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def shown_result(result: JudgeResult, names: Names, *, has_scores: bool) -> ShownResult:
    """A result under the names of a reader, who may see the scores of runs or not.

    Judges have the names of their teams, so they have pseudonyms as long as those of runs are hidden.
    """
    stored: Mapping[str, Any] = result.comparison or {}
    drop = stored.get("drop")
    fidelity = stored.get("fidelity")
    coefficients = [
        Coefficient(**row | {name: _number(row[name]) for name in ("value", "low", "high")})
        for row in stored.get("coefficients", ())
    ]
    return ShownResult(
        id=result.pk,
        judge=result.judge_run_id,
        team=(team := names.team(result.judge_run.team.name)),
        tag=names.tag(result.judge_run.tag) if team != result.judge_run.team.name else result.judge_run.tag,
        source=result.source,
        measure=result.measure,
        n_runs=len(stored.get("runs", ())),
        n_topics=stored.get("n_topics", 0),
        coefficients=coefficients,
        overlaps=stored.get("overlaps", {}),
        largest_drop=Drop(names.tag(drop[0]) if has_scores else "", drop[1]) if drop else None,
        fidelity=Fidelity(**fidelity) if fidelity else None,
        runs=_places(stored, names) if has_scores and stored else [],
        tables=[
            Table(
                **table
                | {
                    "header": tuple(table["header"]),
                    "rows": [*map(tuple, table["rows"])],
                    "title": table["name"].capitalize().replace("-", " "),
                }
            )
            for table in result.tables
        ],
        notes=list(stored.get("notes", ())) if has_scores and not names.are_hidden else [],
        address=result.get_absolute_url(),
    )


def _places(stored: Mapping[str, Any], names: Names) -> list[RunPlace]:
    """The runs of a comparison by their places in the truth. Runs that tie share the best place."""
    columns = [stored["truth"], stored["judge"]]
    places = [[1 + sum(other > mean for other in means) for mean in means] for means in columns]
    rows = [RunPlace(*row) for row in zip(map(names.tag, stored["runs"]), *columns, *places, strict=True)]
    return sorted(rows, key=lambda row: (row.place_truth, row.run))


class BoardRow(NamedTuple):
    """A judge in the table of a board; None where it has no such number."""

    result: ShownResult
    coefficients: list[Coefficient | None]  # in the order of the columns
    in_both_tops: int | None
    kappa: float | None
    ac1: float | None


@dataclass(frozen=True)
class BoardPage:
    """A board with its judges, best tau-b first; `best` is the k of the columns about the best runs.

    `with_nuggets` are the results of lists of nuggets, those that have most of people's vital nuggets first.
    """

    track: Track
    board: JudgeBoard
    results: list[ShownResult]
    rows: list[BoardRow]
    with_nuggets: list[ShownResult]
    best: int | None
    has_scores: bool
    is_organizer: bool
    n_judges: int


def results_of(board: JudgeBoard) -> QuerySet[JudgeResult]:
    return board.results.select_related("judge_run__team", "board__track")


def board_page(user: AnyUser, board: JudgeBoard) -> BoardPage:
    """In two queries."""
    has_scores, names = sees_scores(user, board), names_for(user, board.track)
    results = [shown_result(result, names, has_scores=has_scores) for result in results_of(board)]
    results.sort(key=lambda row: (-_order(row), row.team, row.tag))
    best = max((result.best for result in results if result.best), default=None)
    titles = ["kendall", *([f"kendall@{best}"] if best else []), "tau_ap", "tau_gap", "rbo"]
    return BoardPage(
        track=board.track,
        board=board,
        results=results,
        rows=[
            BoardRow(
                result,
                [result.value(title) for title in titles],
                result.overlaps.get(str(best)),
                *map(result.agreement.get, ("kappa", "ac1")),
            )
            for result in results
            if result.source != "nuggets"
        ],
        with_nuggets=sorted(
            (result for result in results if result.source == "nuggets"),
            key=lambda row: -float(row.nuggets["share_of_vital_found"] or 0),
        ),
        best=best,
        has_scores=has_scores,
        is_organizer=oversees(user, board.track_id),
        n_judges=len({result.judge for result in results}),
    )


def _order(row: ShownResult) -> float:
    first = row.value("kendall")
    return -2.0 if first is None or math.isnan(first.value) else first.value


def board_file(page: BoardPage, kind: str) -> str:
    """A board as `tsv` or `csv`: a row for each judge and measure, with every number and its interval."""
    coefficients = list(dict.fromkeys(row.title for result in page.results for row in result.coefficients))
    tops = list(dict.fromkeys(k for result in page.results for k in result.overlaps))
    agreement = list(dict.fromkeys(name for result in page.results for name in result.agreement))
    header = ["team", "judge", "source", "measure", "truth", "runs", "topics"]
    header += [f"{title}{end}" for title in coefficients for end in ("", " low", " high")]
    header += [f"in both top {k}" for k in tops] + ["largest drop", "run of the largest drop"]
    header += [f"pairs {name}" for name in Fidelity._fields] + agreement
    nuggets = list(dict.fromkeys(name for result in page.results for name in result.nuggets))
    header += [f"nuggets {name}" for name in nuggets]
    rows = [
        _cells(page.board, row, coefficients, tops, agreement)
        + [one_word(text_of(row.nuggets.get(name))) for name in nuggets]
        for row in page.results
    ]
    return as_csv(header, rows) if kind == "csv" else as_tsv(header, rows)


def _cells(
    board: JudgeBoard,
    row: ShownResult,
    coefficients: Sequence[str],
    tops: Sequence[str],
    agreement: Sequence[str],
) -> list[str]:
    drop = row.largest_drop
    cells: list[Any] = [row.team, row.tag, row.source, row.measure, board.measure, row.n_runs, row.n_topics]
    for number in map(row.value, coefficients):
        cells += [number.value, number.low, number.high] if number else [None] * 3
    cells += [row.overlaps.get(k) for k in tops]
    cells += [drop.places, drop.run] if drop else [None, None]
    cells += [*row.fidelity] if row.fidelity else [None] * len(Fidelity._fields)
    cells += [row.agreement.get(name) for name in agreement]
    return [one_word(text_of(cell)) for cell in cells]


def result_or_404(user: AnyUser, board: JudgeBoard, result_id: int) -> ShownResult:
    """A judge on a board that the user sees.

    Raises:
        Http404: The board does not have it.
    """
    result = get_object_or_404(results_of(board), pk=result_id)
    return shown_result(result, names_for(user, board.track), has_scores=sees_scores(user, board))
