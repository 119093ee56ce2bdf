"""A leaderboard as its page and its files show it: rows in the order asked for, each mean with what it is worth."""

from collections import defaultdict
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from accounts.access import Visitor, is_organizer
from accounts.models import User
from assay.evaluation.scores import ALL, shown
from assay.protocols.measures import parse_measure
from assay.statistics.leaderboard import MeasureStatistics, measure_statistics
from pooling.models import Run, Team
from scoring.models import Evaluation, Leaderboard, Score
from tracks.models import Track
from tracks.tracks.selectors import tracks_for

SHOWN = {"all": "all runs", "best": "best of each team", "primary": "primary runs"}


class Cell(NamedTuple):
    """A mean as the table shows it; `tier` are the letters of the groups of runs that are not told apart."""

    value: float
    text: str
    is_best: bool
    low: str
    high: str
    tier: str


class BoardRow(NamedTuple):
    """A run on a leaderboard. Shares are None where they were not counted."""

    evaluation: Evaluation
    run: Run
    cells: list[Cell]
    is_own: bool
    may_open: bool

    @property
    def is_baseline(self) -> bool:
        return self.run.kind == Run.Kind.BASELINE

    @property
    def pooled_as(self) -> str:
        """The kind as which it is pooled; a baseline's in brackets, as overviews print it."""
        if not self.is_baseline:
            return str(self.run.get_kind_display())
        rules = self.evaluation.leaderboard.track.protocol.parsed.pool
        return f"({self.run.pooled_as or rules.baselines.get(self.run.tag, rules.baseline_as)})"

    @property
    def judged_at_10(self) -> str:
        return _share(self.evaluation.judged_at_10)

    @property
    def unjudged(self) -> str:
        return _share(self.evaluation.unjudged)


def _share(value: float | None) -> str:
    return "" if value is None else shown(value)


class Column(NamedTuple):
    """A column that the table can be sorted by; `link` asks for it, or for its reverse if it is sorted by now."""

    label: str
    title: str
    link: str
    direction: str
    is_number: bool
    is_measure: bool


def leaderboard_page(user: Visitor, board: Leaderboard, sort: str = "", show: str = "") -> dict[str, Any]:
    """The rows of a leaderboard in the order asked for. A known number of queries, however many runs there are."""
    rows, keys = board_rows(user, board), _sort_keys(board)
    key = sort.removeprefix("-")
    if key not in keys:
        key = sort = board.measures[0]
    is_name = key in {"team", "run", "kind"}
    rows.sort(key=keys[key], reverse=sort.startswith("-") == is_name)
    tiered = key if key in board.measures else board.measures[0]
    show = show if show in SHOWN else "all"
    return {
        "track": board.track,
        "board": board,
        "rows": _kept(rows, show, board.measures.index(tiered)),
        "n_runs": len(rows),
        "columns": _columns_of(board, key, sort),
        "sort": sort,
        "show": show,
        "shows": SHOWN,
        "tiered": tiered,
        "tier_column": board.measures.index(tiered),
        "statistics": measure_statistics(board.statistics, tiered),
        "n_own": sum(row.is_own for row in rows),
        "others": comparable(user, board),
        "is_organizer": is_organizer(user),
        "tab": "leaderboards",
    }


def comparable(user: Visitor, board: Leaderboard) -> list[Leaderboard]:
    """Other finished leaderboards that a person may see and that have a measure in common, newest first."""
    boards = leaderboards_for(user).filter(status=Leaderboard.Status.READY, measures__overlap=board.measures)
    return list(boards.exclude(pk=board.pk).order_by("-pk")[:100])


def board_rows(user: Visitor, board: Leaderboard) -> list[BoardRow]:
    """Rows by team and tag; equal values keep that order whatever the table is sorted by."""
    means, statistics, place = means_of(board), _statistics_of(board), _places(board)
    own = (
        set(Team.objects.filter(members=user, track=board.track).values_list("pk", flat=True))
        if isinstance(user, User)
        else set()
    )
    sees_all = is_organizer(user) or board.release == Leaderboard.Release.PUBLIC
    best = [shown(max((one[measure] for one in means.values()), default=0.0)) for measure in board.measures]
    rows = []
    for evaluation in _evaluations(board):
        at = place.get(evaluation.pk)
        cells = [
            _cell(means[evaluation.pk][measure], top, statistics[measure], at)
            for measure, top in zip(board.measures, best, strict=True)
        ]
        is_own = evaluation.run.team_id in own
        rows.append(BoardRow(evaluation, evaluation.run, cells, is_own, sees_all or is_own))
    return rows


def _evaluations(board: Leaderboard) -> list[Evaluation]:
    found = Evaluation.objects.filter(leaderboard=board).select_related("run__team").defer("run__report")
    ordered = sorted(found, key=lambda one: (one.run.team.name, one.run.tag, one.pk))
    for evaluation in ordered:
        evaluation.leaderboard = board
    return ordered


def means_of(board: Leaderboard) -> dict[int, dict[str, float]]:
    """The mean of each measure, by evaluation."""
    means: defaultdict[int, dict[str, float]] = defaultdict(dict)
    found = Score.objects.filter(evaluation__leaderboard=board, topic=ALL)
    for evaluation_id, measure, value in found.values_list("evaluation_id", "measure", "value"):
        means[evaluation_id][measure] = value
    return means


def _statistics_of(board: Leaderboard) -> dict[str, MeasureStatistics | None]:
    return {measure: measure_statistics(board.statistics, measure) for measure in board.measures}


def _places(board: Leaderboard) -> dict[int, int]:
    """Where each evaluation stands in the stored statistics."""
    return {pk: place for place, pk in enumerate(board.statistics.get("evaluations", []))}


def _cell(value: float, best: str, statistics: MeasureStatistics | None, at: int | None) -> Cell:
    text = shown(value)
    if statistics is None or at is None:
        return Cell(value, text, text == best, "", "", "")
    low, high = shown(statistics.low[at]), shown(statistics.high[at])
    return Cell(value, text, text == best, low, high, statistics.tier[at])


def _kept(rows: list[BoardRow], show: str, column: int) -> list[BoardRow]:
    """The rows to show. Baselines stay among the primary runs: they are what a run is held against."""
    if show == "primary":
        return [row for row in rows if row.run.kind in {Run.Kind.PRIMARY, Run.Kind.BASELINE}]
    if show == "best":
        best: dict[int, BoardRow] = {}
        for row in rows:
            held = best.get(row.run.team_id)
            if held is None or row.cells[column].value > held.cells[column].value:
                best[row.run.team_id] = row
        return [row for row in rows if best[row.run.team_id] is row]
    return rows


def _sort_keys(board: Leaderboard) -> dict[str, Any]:
    keys: dict[str, Any] = {
        "team": lambda row: row.run.team.name.casefold(),
        "run": lambda row: row.run.tag.casefold(),
        "kind": lambda row: row.run.kind,
        "judged": lambda row: row.evaluation.judged_at_10 or 0.0,
        "unjudged": lambda row: row.evaluation.unjudged or 0.0,
        "missing": lambda row: row.evaluation.n_missing,
    }
    for n, measure in enumerate(board.measures):
        keys[measure] = lambda row, n=n: row.cells[n].value
    return keys


def _columns_of(board: Leaderboard, key: str, sort: str) -> list[Column]:
    """Team, run, kind, each measure, how much is judged, missing topics."""
    labels = {"team": "Team", "run": "Run", "kind": "Kind"} | {one: one for one in board.measures}
    labels |= {"unjudged": "Unjudged", "missing": "Missing"}
    titles = {measure: parse_measure(measure).title for measure in board.measures} | {
        "kind": "the kind of run; of a baseline, in brackets, as what it is pooled",
        "judged": "share of the top 10 ranks that is judged",
        "unjudged": "share of all documents returned for the qrels' topics that is not judged",
        "missing": "topics of the qrels that the run has not",
    }
    if "judged@10" not in board.measures:
        labels = _with_judged(labels)
    columns = []
    for name, label in labels.items():
        is_word = name in {"team", "run", "kind"}
        is_sorted, is_reversed = name == key, sort.startswith("-")
        link = f"-{name}" if is_sorted and not is_reversed else name
        direction = ("ascending" if is_word != is_reversed else "descending") if is_sorted else ""
        columns.append(
            Column(label, titles.get(name, ""), link, direction, not is_word, name in board.measures)
        )
    return columns


def _with_judged(labels: dict[str, str]) -> dict[str, str]:
    """The labels with that of the judged share before that of the unjudged."""
    before = {name: label for name, label in labels.items() if name not in {"unjudged", "missing"}}
    return before | {"judged": "judged@10"} | {name: labels[name] for name in ("unjudged", "missing")}


def leaderboards_for(user: Visitor) -> QuerySet[Leaderboard]:
    """Leaderboards that a person may see."""
    boards = Leaderboard.objects.select_related(
        "track__protocol", "qrels", "job", "created_by", "released_by"
    )
    if is_organizer(user):
        return boards
    may_see = Q(release=Leaderboard.Release.PUBLIC)
    if isinstance(user, User):
        own_tracks = Team.objects.filter(members=user).values("track")
        may_see |= Q(release=Leaderboard.Release.PARTICIPANTS, track__in=own_tracks)
    return boards.filter(may_see, track__in=tracks_for(user))


def leaderboards_of(user: Visitor, track: Track) -> QuerySet[Leaderboard]:
    """Leaderboards of a track that a person may see, newest first."""
    return leaderboards_for(user).filter(track=track)
