"""The phases of a track: what they accept, who sees the scores of their boards, and these scores."""

import math
from dataclasses import dataclass

import numpy as np
from django.db.models import Q, QuerySet

from accounts.access import AnyUser, oversees
from accounts.models import User
from assay.measures.scores import ALL
from assay.protocols.measures import parse_measure
from assay.protocols.schema import SHOWN_TO, Phase
from assay.statistics.intervals import METHODS, coverage, intervals_of_means
from assay.statistics.leaderboard import possible_range
from assay.tables import shown
from assay.tables.paper import CHECK, Column, Group, PaperTable, Value, number, words
from participation.teams.selectors import own_teams
from pooling.models import Run
from pooling.runs.names import Names, names_for
from scoring.leaderboards.marks import Axis, Mark, axis_over
from scoring.models import PhaseBoard, PhaseScore, Qrels
from scoring.models.phases import WIDE_ENOUGH
from scoring.selectors import titled
from tracks.deadline_acceptance import Acceptance, acceptances
from tracks.models import Track


def phases_of(track: Track) -> dict[str, Phase]:
    """The phases of a track by key, in the order of the protocol."""
    return {phase.key: phase for phase in track.protocol.parsed.runs.phases}


def boards_of(track: Track) -> dict[str, PhaseBoard]:
    """The boards of a track that score runs now, by phase. One query."""
    boards = PhaseBoard.objects.filter(track=track).select_related("track__protocol", "qrels__machine")
    return {board.phase: board for board in boards.defer("qrels__report")}


def scores_for(user: AnyUser, track: Track, phase: Phase) -> QuerySet[PhaseScore]:
    """The scores of a phase that a user sees, by team and tag.

    Organizers see all. Others see what the protocol says. Scores of runs after closing are seen only as long as those
    who see them see a leaderboard against the same qrels.
    """
    scores = PhaseScore.objects.filter(board__track=track, board__phase=phase.key)
    scores = scores.select_related(
        "board__qrels__machine", "run__track", "run__team", "run__submitted_by"
    ).defer("run__report", "board__qrels__report")
    scores = scores.order_by("run__team__name", "run__tag", "run__pk")
    if oversees(user, track.pk):
        return scores
    if not phase.has_board or _is_secret(track, phase):
        return scores.none()
    mine = own_teams(user, track).order_by()
    of_mine = Q(run__team__in=mine)
    if phase.scores == "team" or (phase.scores == "teams" and not mine.exists()):
        return scores.filter(of_mine)
    return scores.filter(of_mine | Q(run__status=Run.Status.SUBMITTED))


def _is_secret(track: Track, phase: Phase) -> bool:
    """Return whether the qrels of a board after closing are no longer released."""
    if not phase.after_closing:
        return False
    qrels = PhaseBoard.objects.filter(track=track, phase=phase.key).values("qrels")
    return not track.leaderboards.filter(qrels__in=qrels, release__in=WIDE_ENOUGH[phase.scores]).exists()


@dataclass(frozen=True)
class PhaseRow:
    """A run on the board of a phase. Its means are empty until it is scored."""

    score: PhaseScore
    run: Run
    means: list[tuple[str, str]]
    is_own: bool

    @property
    def is_of_judge_family(self) -> bool:
        return self.score.is_of_judge_family


@dataclass(frozen=True)
class Standing:
    """A run in the table of the board: its place by the first measure, and the interval of this mean, if it has one."""

    row: PhaseRow
    place: int | None  # until it is scored
    low: str
    high: str
    mark: Mark | None

    @property
    def is_best(self) -> bool:
        return self.place == 1


@dataclass(frozen=True)
class PhasePage:
    """A phase with its rules, and the runs of its board by the first measure. `versions` are for organizers."""

    track: Track
    phase: Phase
    audience: str
    n_topics: int
    kinds: list[Acceptance]
    board: PhaseBoard | None
    measures: list[tuple[str, str]]
    rows: list[Standing]
    axis: Axis
    interval_note: str
    versions: list[Qrels]
    is_organizer: bool
    is_scoring: bool  # some of the rows: the page refreshes by itself


def phase_page(user: AnyUser, track: Track, phase: Phase) -> PhasePage:
    """The page of a phase. A fixed number of queries."""
    board, keys = boards_of(track).get(phase.key), track.protocol.parsed.runs.kinds_of(phase)
    measures = titled(board) if board else []
    topics = track.topics.filter(split=phase.split) if phase.split else track.topics.all()
    may_choose = oversees(user, track.pk) and phase.has_board
    versions = Qrels.objects.filter(track=track, archived_at=None).defer("report").order_by("-version")
    rows = board_rows(user, track, phase, board)
    axis, standings = _standings(rows, board.measures[0] if board else "")
    n_averaged = max((standing.row.score.n_topics for standing in standings if standing.low), default=0)
    note = "; ".join(filter(None, (METHODS["skewed-t"], coverage(n_averaged))))
    return PhasePage(
        track=track,
        phase=phase,
        audience=SHOWN_TO[phase.scores],
        n_topics=topics.count(),
        kinds=[acceptance for acceptance in acceptances(track) if acceptance.kind in keys],
        board=board,
        measures=measures,
        rows=standings,
        axis=axis,
        interval_note=note if n_averaged else "",
        versions=list(versions) if may_choose else [],
        is_organizer=oversees(user, track.pk),
        is_scoring=any(row.score.status == PhaseScore.Status.SCORING for row in rows),
    )


def board_rows(user: AnyUser, track: Track, phase: Phase, board: PhaseBoard | None) -> list[PhaseRow]:
    """The runs of a board that a user sees: best first by the first measure, then those that are not scored."""
    if board is None:
        return []
    own = set(own_teams(user, track).values_list("pk", flat=True)) if isinstance(user, User) else set()
    names = names_for(user, track)
    rows = [_row(board, score, own, names) for score in scores_for(user, track, phase)]
    if names.are_hidden:
        rows.sort(key=lambda row: (row.run.team.name, row.run.tag))
    first = board.measures[0]
    return sorted(rows, key=lambda row: -row.score.values.get(ALL, {}).get(first, -1.0))


def _row(board: PhaseBoard, score: PhaseScore, own: set[int], names: Names) -> PhaseRow:
    score.run, score.board = names.run(score.run), board
    score.run.track = board.track
    values = score.values.get(ALL, {})
    means = [(name, shown(values[name]) if name in values else "") for name in board.measures]
    return PhaseRow(score, score.run, means, score.run.team_id in own)


def _standings(rows: list[PhaseRow], measure: str) -> tuple[Axis, list[Standing]]:
    """The rows with their places, and the axis of the drawings of their first means."""
    means = [row.score.values.get(ALL, {}).get(measure) for row in rows]
    ends = [_interval(row.score, measure) for row in rows]
    known = [mean for mean in means if mean is not None]
    axis = axis_over([*known, *(end for interval in ends for end in interval)])
    standings = []
    for row, mean, interval in zip(rows, means, ends, strict=True):
        if mean is None:
            standings.append(Standing(row, None, "", "", None))
            continue
        low, high = interval or (mean, mean)
        place = 1 + sum(other > mean for other in known)
        shown_ends = (shown(low), shown(high)) if interval else ("", "")
        standings.append(Standing(row, place, *shown_ends, Mark(axis.x(mean), axis.x(low), axis.x(high))))
    return axis, standings


def _interval(score: PhaseScore, name: str) -> tuple[float, float] | tuple[()]:
    """The interval of a mean over the topics of a run; empty for other summaries, a single topic and equal values."""
    by_topic = [values for topic, values in score.values.items() if topic != ALL]
    values = np.array([[of_topic[name] for of_topic in by_topic if name in of_topic]])
    if values.size < 2 or not math.isclose(values.mean(), score.values[ALL][name], abs_tol=1e-9):
        return ()
    interval = intervals_of_means(values, within=possible_range(values, parse_measure(name)))
    low, high = float(interval.low[0]), float(interval.high[0])
    return () if math.isnan(low) else (low, high)


def board_table(user: AnyUser, board: PhaseBoard) -> PaperTable:
    """The board of a phase as a table ready to print. Its caption and its column name the phase."""
    phase, measures = board.rules, board.measures
    rows = board_rows(user, board.track, phase, board)
    closing = ", submitted after the closing of the track" if phase.after_closing else ""
    family = board.qrels.judge_family
    of_family = f"F: of the family of the machine that judged, {family}. " if family else ""
    caption = (
        f"{board.track.name}, {phase.name}: runs of the phase{closing}; they are in no pool and on no leaderboard "
        f"of the track. M: manual run. {of_family}The best values are bold."
    )
    best = {name: max((dict(row.means)[name] for row in rows), default="") for name in measures}
    columns = (
        *(Column(label) for label in ("Team", "Run", "Phase", "Kind", "Submitted")),
        Column("M", is_mark=True),
        *([Column("F", is_mark=True)] if family else []),
        Column("Missing", is_number=True),
        *(Column(name, is_number=True, is_measure=True) for name in measures),
    )
    lines = tuple(_line(row, phase, best) for row in rows if row.score.status == PhaseScore.Status.READY)
    return PaperTable(f"phase-{phase.key}", phase.name, caption, columns, (Group("", lines),))


def _line(row: PhaseRow, phase: Phase, best: dict[str, str]) -> tuple[Value, ...]:
    run, values = row.run, row.score.values[ALL]
    submitted = f"{run.submitted_at:%Y-%m-%d %H:%M} UTC"
    marks = [CHECK if run.is_manual else ""]
    if row.score.board.qrels.judge_family:
        marks.append(CHECK if row.is_of_judge_family else "")
    names = words(run.team.name, run.tag, phase.name, run.kind_name, submitted, *marks)
    means = (Value(text, bool(text) and text == best[name], values[name]) for name, text in row.means)
    return (*names, number(row.score.n_missing), *means)


def scores_of_runs(user: AnyUser, runs: QuerySet[Run]) -> list[tuple[PhaseBoard, list[PhaseRow]]]:
    """The scores of some runs of a track on the boards of its phases that a user sees, by phase."""
    track_ids = runs.order_by().values("track")
    boards = PhaseBoard.objects.filter(track__in=track_ids).select_related(
        "track__protocol", "qrels__machine"
    )
    boards = boards.defer("qrels__report")
    shown_boards = []
    for board in boards:
        scores = scores_for(user, board.track, board.rules).filter(run__in=runs.order_by())
        if rows := [_row(board, score, set(), Names(board.track_id)) for score in scores]:
            shown_boards.append((board, rows))
    return shown_boards
