"""The topics of a leaderboard: how hard each is, how far it parts the runs, and what of it is judged."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from django.http import Http404

from accounts.access import Visitor, is_organizer
from assay.evaluation.scores import shown
from assay.protocols.measures import parse_measure
from pooling.models import Contribution
from scoring.evaluations.selectors import topic_values
from scoring.leaderboards.selectors import BoardRow, board_rows
from scoring.models import Leaderboard, QrelsEntry
from scoring.qrels.selectors import CHUNK


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


def topics_page(user: Visitor, board: Leaderboard, measure: str = "", sort: str = "") -> dict[str, Any]:
    """All topics by how hard they are: the lowest mean first, unless another order is asked for."""
    charted = measure if measure in board.measures else board.measures[0]
    level = board.track.protocol.parsed.scoring.relevant_from
    judged, relevant = _counts(board, level)
    rows = []
    for topic, of in topic_values(board, charted).items():
        values = np.array(list(of.values()))
        rows.append(
            TopicSpread(
                topic,
                float(values.mean()),
                float(np.median(values)),
                float(values.min()),
                float(values.max()),
                float(values.std()),
                judged[topic],
                relevant[topic],
            )
        )
    key = sort.removeprefix("-")
    if key not in SORTS:
        key = sort = "mean"
    rows.sort(key=lambda row: row[SORTS[key]], reverse=sort.startswith("-"))
    return {
        "track": board.track,
        "board": board,
        "measures": [(name, parse_measure(name).title) for name in board.measures],
        "charted": charted,
        "level": level,
        "rows": rows,
        "sort": sort,
        "columns": [_column(name, sort) for name in SORTS],
        "n_runs": board.evaluations.count(),
        "is_organizer": is_organizer(user),
        "tab": "leaderboards",
    }


def _column(name: str, sort: str) -> tuple[str, str, str]:
    """Name, what its heading asks for, and how the table is sorted by it."""
    if name != sort.removeprefix("-"):
        return name, name, ""
    return (name, name, "descending") if sort.startswith("-") else (name, f"-{name}", "ascending")


def _counts(board: Leaderboard, level: int) -> tuple[Counter[str], Counter[str]]:
    """Judged and relevant units of each topic of the qrels."""
    judged: Counter[str] = Counter()
    relevant: Counter[str] = Counter()
    found = QrelsEntry.objects.filter(qrels=board.qrels_id, grade__gte=0).values_list("topic", "grade")
    for topic, grade in found.iterator(chunk_size=CHUNK):
        judged[topic] += 1
        relevant[topic] += grade >= level
    return judged, relevant


class RunOnTopic(NamedTuple):
    """A run's value on a topic."""

    row: BoardRow
    value: str


def topic_page(user: Visitor, board: Leaderboard, code: str, measure: str = "") -> dict[str, Any]:
    """A topic of a leaderboard: each run that a person may open, and for organizers what each team alone brought.

    Raises
    ------
    Http404
        The qrels have no such topic.
    """
    charted = measure if measure in board.measures else board.measures[0]
    values = topic_values(board, charted).get(code)
    if values is None:
        raise Http404
    rows = [row for row in board_rows(user, board) if row.may_open and row.evaluation.pk in values]
    rows.sort(key=lambda row: -values[row.evaluation.pk])
    of_all = np.array(list(values.values()))
    grades = Counter(
        QrelsEntry.objects.filter(qrels=board.qrels_id, topic=code).values_list("grade", flat=True)
    )
    labels = {grade.value: grade.label for grade in board.track.protocol.parsed.judging.grades}
    return {
        "track": board.track,
        "board": board,
        "topic": board.track.topics.filter(code=code).first(),
        "code": code,
        "measures": [(name, parse_measure(name).title) for name in board.measures],
        "charted": charted,
        "rows": [RunOnTopic(row, shown(values[row.evaluation.pk])) for row in rows],
        "mean": shown(float(of_all.mean())),
        "median": shown(float(np.median(of_all))),
        "lowest": shown(float(of_all.min())),
        "best": shown(float(of_all.max())),
        "n_runs": len(of_all),
        "grades": [
            (grade, labels.get(grade, "pooled, no grade" if grade < 0 else ""), n)
            for grade, n in sorted(grades.items(), reverse=True)
        ],
        "unique": _unique(board, code) if is_organizer(user) else None,
        "is_organizer": is_organizer(user),
        "tab": "leaderboards",
    }


class Alone(NamedTuple):
    """What only one team's runs brought to the pools of a topic."""

    team: str
    n_pooled: int
    n_relevant: int


def _unique(board: Leaderboard, code: str) -> list[Alone]:
    """Units that one team alone brought, by team; empty where the track has no pool of the topic."""
    found = Contribution.objects.filter(entry__pool__track=board.track_id, entry__topic__code=code)
    teams: dict[str, set[str]] = {}
    for docno, team in found.values_list("entry__docno", "run__team__name").distinct():
        teams.setdefault(docno, set()).add(team)
    level = board.track.protocol.parsed.scoring.relevant_from
    relevant = set(
        QrelsEntry.objects.filter(qrels=board.qrels_id, topic=code, grade__gte=level).values_list(
            "docno", flat=True
        )
    )
    alone = [(next(iter(of)), docno in relevant) for docno, of in teams.items() if len(of) == 1]
    pooled, useful = (
        Counter(team for team, _ in alone),
        Counter(team for team, is_useful in alone if is_useful),
    )
    names = sorted({team for of in teams.values() for team in of})
    return [Alone(name, pooled[name], useful[name]) for name in names]
