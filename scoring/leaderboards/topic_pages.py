"""The topics of a leaderboard: how hard each is, how much it separates the runs, and which of its units are judged."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from django.http import Http404
from numpy.typing import NDArray

from accounts.access import AnyUser, is_organizer
from assay import plots
from assay.evaluation.score_table import shown
from pooling.models import Contribution
from scoring.evaluations.selectors import topic_values
from scoring.leaderboards.levels import relevant_from
from scoring.leaderboards.pages import LeaderboardPage, shared_fields
from scoring.leaderboards.selectors import BoardRow, board_rows
from scoring.models import Leaderboard, QrelsEntry
from scoring.qrels.selectors import CHUNK, grade_label
from tracks.models import Topic


class TopicSpread(NamedTuple):
    """The values of all runs on a topic, and its judged and relevant units."""

    topic: str
    mean: float
    median: float
    lowest: float
    best: float
    deviation: float
    n_judged: int
    n_relevant: int


SORTS = {"topic": 0, "mean": 1, "median": 2, "lowest": 3, "best": 4, "spread": 5, "judged": 6, "relevant": 7}


@dataclass(frozen=True, kw_only=True)
class TopicsPage(LeaderboardPage):
    """All topics. `level` is the lowest relevant grade; `columns` are name, `sort` of the heading and direction."""

    level: int
    rows: list[TopicSpread]
    sort: str
    columns: list[tuple[str, str, str]]
    n_runs: int
    plot: plots.Plot


def topics_page(user: AnyUser, board: Leaderboard, measure: str = "", sort: str = "") -> TopicsPage:
    """All topics of a leaderboard, by default the hardest first: the one with the lowest mean."""
    shared = shared_fields(user, board, measure)
    level = relevant_from(board.track.protocol.parsed.scoring, board.qrels)
    judged, relevant = _counts(board, level)
    rows = [
        _spread(topic, np.array(list(values.values())), judged[topic], relevant[topic])
        for topic, values in topic_values(board, shared["charted"]).items()
    ]
    key = sort.removeprefix("-")
    if key not in SORTS:
        key = sort = "mean"
    rows.sort(key=lambda row: row[SORTS[key]], reverse=sort.startswith("-"))
    return TopicsPage(
        **shared,
        level=level,
        rows=rows,
        sort=sort,
        columns=[_column(name, sort) for name in SORTS],
        n_runs=board.evaluations.count(),
        plot=_plot(board, rows, shared["charted"]),
    )


def _plot(board: Leaderboard, rows: list[TopicSpread], measure: str) -> plots.Plot:
    spreads = [plots.Spread(row.topic, row.lowest, row.median, row.mean, row.best) for row in rows]
    title = f"{board.track.name}: {measure} of all runs by topic"
    return plots.spreads(f"{board.track.slug}-topics", title, spreads, up=measure)


def _spread(topic: str, values: NDArray[np.float64], n_judged: int, n_relevant: int) -> TopicSpread:
    return TopicSpread(
        topic,
        mean=float(values.mean()),
        median=float(np.median(values)),
        lowest=float(values.min()),
        best=float(values.max()),
        deviation=float(values.std()),
        n_judged=n_judged,
        n_relevant=n_relevant,
    )


def _column(name: str, sort: str) -> tuple[str, str, str]:
    """The name of a column, the `sort` that its heading asks for, and the current direction."""
    if name != sort.removeprefix("-"):
        return name, name, ""
    return (name, name, "descending") if sort.startswith("-") else (name, f"-{name}", "ascending")


def _counts(board: Leaderboard, level: int) -> tuple[Counter[str], Counter[str]]:
    """Judged and relevant units of each topic of the qrels."""
    judged: Counter[str] = Counter()
    relevant: Counter[str] = Counter()
    entries = QrelsEntry.objects.filter(qrels=board.qrels_id, grade__gte=0).values_list("topic", "grade")
    for topic, grade in entries.iterator(chunk_size=CHUNK):
        judged[topic] += 1
        relevant[topic] += grade >= level
    return judged, relevant


class RunOnTopic(NamedTuple):
    """A run's value on a topic."""

    row: BoardRow
    value: str


class UniqueUnits(NamedTuple):
    """Units of a topic that only one team's runs contributed to the pools."""

    team: str
    n_pooled: int
    n_relevant: int


@dataclass(frozen=True, kw_only=True)
class TopicPage(LeaderboardPage):
    """One topic. `topic` is None if only the qrels have it; `grades` are grade, label and number of units."""

    topic: Topic | None
    code: str
    rows: list[RunOnTopic]
    mean: str
    median: str
    lowest: str
    best: str
    n_runs: int
    grades: list[tuple[int, str, int]]
    unique: list[UniqueUnits] | None


def topic_page(user: AnyUser, board: Leaderboard, code: str, measure: str = "") -> TopicPage:
    """A topic with each run that the user may open; for organizers also the units that only one team contributed.

    Raises
    ------
    Http404
        The qrels do not have the topic.
    """
    shared = shared_fields(user, board, measure)
    values = topic_values(board, shared["charted"]).get(code)
    if values is None:
        raise Http404
    rows = [row for row in board_rows(user, board) if row.may_open and row.evaluation.pk in values]
    rows.sort(key=lambda row: -values[row.evaluation.pk])
    all_values = np.array(list(values.values()))
    return TopicPage(
        **shared,
        topic=board.track.topics.filter(code=code).first(),
        code=code,
        rows=[RunOnTopic(row, shown(values[row.evaluation.pk])) for row in rows],
        mean=shown(float(all_values.mean())),
        median=shown(float(np.median(all_values))),
        lowest=shown(float(all_values.min())),
        best=shown(float(all_values.max())),
        n_runs=len(all_values),
        grades=_grades(board, code),
        unique=_unique(board, code) if is_organizer(user) else None,
    )


def _grades(board: Leaderboard, code: str) -> list[tuple[int, str, int]]:
    """Each grade of a topic, highest first, with its label and its number of units."""
    entries = QrelsEntry.objects.filter(qrels=board.qrels_id, topic=code)
    counts = Counter(entries.values_list("grade", flat=True))
    protocol = board.track.protocol.parsed
    return [
        (grade, grade_label(protocol, board.qrels, grade), n)
        for grade, n in sorted(counts.items(), reverse=True)
    ]


def _unique(board: Leaderboard, code: str) -> list[UniqueUnits]:
    """Units that only one team contributed, by team; empty if the track has no pool with the topic."""
    contributions = Contribution.objects.filter(entry__pool__track=board.track_id, entry__topic__code=code)
    teams: dict[str, set[str]] = {}
    for docno, team in contributions.values_list("entry__docno", "run__team__name").distinct():
        teams.setdefault(docno, set()).add(team)
    level = relevant_from(board.track.protocol.parsed.scoring, board.qrels)
    relevant_entries = QrelsEntry.objects.filter(qrels=board.qrels_id, topic=code, grade__gte=level)
    relevant = set(relevant_entries.values_list("docno", flat=True))
    unique = [(next(iter(names)), docno in relevant) for docno, names in teams.items() if len(names) == 1]
    n_pooled = Counter(team for team, _ in unique)
    n_relevant = Counter(team for team, is_relevant in unique if is_relevant)
    every_team = sorted({team for names in teams.values() for team in names})
    return [UniqueUnits(team, n_pooled[team], n_relevant[team]) for team in every_team]
