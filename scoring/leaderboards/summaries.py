"""The best runs of leaderboards as a few bars, for pages that only mention a leaderboard."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import F

from accounts.access import AnyUser
from assay.measures.scores import ALL
from assay.protocols.schema import RunRules
from assay.tables import shown
from pooling.models import Run
from pooling.runs.names import names_for
from scoring.models import Leaderboard, Score

SHOWN = 3  # bars of a summary, of more than four


class Bar(NamedTuple):
    """A run with its mean. `style` is a class of the bar: that of the first one or of a baseline, or none."""

    name: str
    value: float
    text: str
    style: str


class BestRun(NamedTuple):
    """The place of a team among the teams by the first measure, with the tag and the mean of its best run."""

    place: int
    tag: str
    value: float
    text: str


@dataclass(frozen=True)
class Summary:
    """The best run of each team by the first measure. A full bar is `most`: 1, or more if a mean is larger.

    `n_bars` would be the number of bars if all were shown. `best_runs` are those of all teams by name, and `n_runs` is
    the number of all their runs.
    """

    board: Leaderboard
    measure: str
    bars: list[Bar]
    most: float
    n_bars: int
    best_runs: dict[str, BestRun]
    n_runs: int


def summaries_of(user: AnyUser, boards: Collection[Leaderboard]) -> list[Summary]:
    """Summaries of finished leaderboards, in their order; one without runs has no bars. One query.

    It checks no permission: give it the leaderboards that the reader may see, each with its track and protocol.
    """
    if not boards:
        return []
    rows = _means(boards)
    readers = {board.pk: names_for(user, board.track) for board in boards}
    for board_id, of_board in rows.items():
        reader = readers[board_id]
        named = [(reader.team(team), reader.tag(tag), kind, value) for team, tag, kind, value in of_board]
        rows[board_id] = sorted(named, key=_best_first)
    return [_summary(board, rows[board.pk]) for board in boards]


def best_runs_of(boards: Collection[Leaderboard]) -> list[dict[str, BestRun]]:
    """The best runs of the teams of finished leaderboards by name, in their order. One query.

    It checks no permission, and names teams and runs as they are: show a reader those of the reader's teams.
    """
    rows = _means(boards) if boards else {}
    return [_best_runs(board.track.protocol.parsed.runs, rows.get(board.pk, [])) for board in boards]


def _means(boards: Collection[Leaderboard]) -> defaultdict[int, list[tuple[str, str, str, float]]]:
    """Team, tag, kind and mean of the runs of each leaderboard, the best run first."""
    means = Score.objects.filter(
        evaluation__leaderboard__in=[board.pk for board in boards],
        topic=ALL,
        measure=F("evaluation__leaderboard__measures__0"),
    ).exclude(evaluation__run__status=Run.Status.DISQUALIFIED)
    names = ("evaluation__run__team__name", "evaluation__run__tag", "evaluation__run__kind", "value")
    rows: defaultdict[int, list[tuple[str, str, str, float]]] = defaultdict(list)
    for board_id, *row in means.order_by().values_list("evaluation__leaderboard", *names):
        rows[board_id].append((row[0], row[1], row[2], row[3]))
    for of_board in rows.values():
        of_board.sort(key=_best_first)
    return rows


def _best_first(row: tuple[str, str, str, float]) -> tuple[float, str, str]:
    return -row[3], row[0], row[1]


def _summary(board: Leaderboard, rows: list[tuple[str, str, str, float]]) -> Summary:
    rules = board.track.protocol.parsed.runs
    bars, n_bars = _bars(rules, rows)
    most = max([1.0, *(bar.value for bar in bars)])
    n_runs = sum(not rules.kind(kind).baseline for _, _, kind, _ in rows)
    measure = next(iter(board.measures), "")
    return Summary(board, measure, bars, most, n_bars, _best_runs(rules, rows), n_runs)


def _best_runs(rules: RunRules, rows: list[tuple[str, str, str, float]]) -> dict[str, BestRun]:
    """The best run of each team; baselines do not count. `rows` begin with the best run."""
    best_runs: dict[str, BestRun] = {}
    for team, tag, kind, value in rows:
        if not rules.kind(kind).baseline:
            place = 1 + sum(run.value > value for run in best_runs.values())
            best_runs.setdefault(team, BestRun(place, tag, value, shown(value)))
    return best_runs


def _bars(rules: RunRules, rows: list[tuple[str, str, str, float]]) -> tuple[list[Bar], int]:
    """The best teams, the strongest baseline also if it is not among the best, and the number with all others.

    `rows` begin with the best run.
    """
    best: dict[str, tuple[str, float, bool]] = {}
    for team, tag, kind, value in rows:
        is_baseline = rules.kind(kind).baseline
        best.setdefault("" if is_baseline else team, (tag if is_baseline else team, value, is_baseline))
    n_shown = len(best) if len(best) == SHOWN + 1 else SHOWN  # a last one takes no more room than its mention
    shown_runs, baseline = [*best.values()][:n_shown], best.get("")
    if baseline is not None and baseline not in shown_runs:
        shown_runs[-1] = baseline
    bars = [
        Bar(name, value, shown(value), "base" if is_baseline else "" if place else "first")
        for place, (name, value, is_baseline) in enumerate(shown_runs)
    ]
    return bars, len(best)
