"""The means of runs over classes of topics: the topic classes of the protocol, or all labels, from stored scores.

A user sees the classes by the labels that they see of the topics, and the runs that they may open. The mean of all runs
is in the first row.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from accounts.access import AnyUser
from assay.formats.spreadsheet import as_csv
from assay.measures.scores import RunScores, TopicClass, classes_of
from assay.protocols.measures import FAMILIES
from assay.protocols.schema import Average
from assay.tables import one_word, shown
from scoring.evaluations.selectors import OF_FAMILY, topic_values
from scoring.leaderboards.marks import Shade, shade
from scoring.leaderboards.rows import BoardRow
from scoring.leaderboards.selectors import board_rows
from scoring.models import Leaderboard
from scoring.selectors import LeaderboardPage, shared_page, stored_measure
from tracks.topics.selectors import hide_fields, topics_for

HEADER = ["team", "run", "label", "value", "topics", "measure", "mean"]


class ClassRow(NamedTuple):
    """The means of a run by class, after its mean over all topics; `run` is None for the mean of all runs."""

    run: BoardRow | None
    mean: str
    cells: list[Shade]


class ClassTable(NamedTuple):
    label: str
    classes: list[TopicClass]
    rows: list[ClassRow]


@dataclass(frozen=True, kw_only=True)
class ClassesPage(LeaderboardPage):
    """A measure by topic class: a table for each label."""

    tables: list[ClassTable]
    n_runs: int


class _Values(NamedTuple):
    """The values of a measure. `scores` has those of each run, by evaluation, in the order of the topics."""

    topics: list[str]
    scores: dict[int, RunScores]


def classes_page(user: AnyUser, board: Leaderboard, measure: str = "") -> ClassesPage:
    """A measure of the runs over each class. The number of queries does not grow with the runs."""
    shared = shared_page(user, board, measure)
    rows, values = board_rows(user, board), _values(board, shared.charted)
    labels = _labels(user, board, values.topics)
    return ClassesPage(
        **vars(shared),
        tables=[
            _table(label, classes_of(values.topics, {label: of_topics}), rows, values, board)
            for label, of_topics in labels.items()
        ],
        n_runs=len(rows),
    )


def classes_file(user: AnyUser, board: Leaderboard) -> str:
    """CSV with a row for each run that the user may open, measure and class."""
    runs = [row for row in board_rows(user, board) if row.may_open]
    lines: list[list[str]] = []
    for measure in board.measures:
        values = _values(board, measure)
        for topics in classes_of(values.topics, _labels(user, board, values.topics)):
            for row in runs:
                mean = shown(_mean(values.scores[row.evaluation.pk], topics, board))
                names = one_word(row.run.team.name), one_word(row.run.tag), topics.label, topics.value
                marks = ["yes" if row.is_of_judge_family else "no"] if board.judge_family else []
                lines.append([*names, str(topics.n_topics), measure, mean, *marks])
    header = [*HEADER, OF_FAMILY] if board.judge_family else HEADER
    return as_csv(header, sorted(lines, key=lambda line: (line[0], line[1])))


def _labels(user: AnyUser, board: Leaderboard, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """The values of each label that the user sees, by topic: of the topic classes, or else of all labels."""
    labels: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for topic in hide_fields(user, board.track, topics_for(user, board.track).filter(code__in=topics)):
        for name, value in topic.labels.items():
            labels[name][topic.code] = value
    classes = [name for name in board.track.protocol.parsed.scoring.topic_classes if name in labels]
    return {name: labels[name] for name in classes or sorted(labels)}


def _values(board: Leaderboard, measure: str) -> _Values:
    """The stored values of a measure. One query."""
    by_topic = topic_values(board, measure)
    runs = {pk for of_topic in by_topic.values() for pk in of_topic} | set(
        board.evaluations.values_list("pk", flat=True)
    )
    summary = (FAMILIES[stored_measure(board, measure).family].summary,)
    scores = {}
    for pk in runs:
        values = np.array([[of_topic.get(pk, 0.0)] for of_topic in by_topic.values()]).reshape(-1, 1)
        has_topic = np.array([pk in of_topic for of_topic in by_topic.values()], dtype=np.bool_)
        scores[pk] = RunScores(values, has_topic, summary)
    return _Values(list(by_topic), scores)


def _mean(scores: RunScores, topics: TopicClass, board: Leaderboard) -> float:
    return float(scores.means_over(topics, cast("Average", board.average))[0])


def _table(
    label: str, classes: list[TopicClass], rows: Sequence[BoardRow], values: _Values, board: Leaderboard
) -> ClassTable:
    every = TopicClass(label, "", np.ones(len(values.topics), dtype=np.bool_))
    means = {
        row.evaluation.pk: [
            _mean(values.scores[row.evaluation.pk], topic_class, board) for topic_class in (every, *classes)
        ]
        for row in rows
    }
    highest = max([1.0, *(value for of_run in means.values() for value in of_run)])

    def class_row(row: BoardRow | None, average: float, *of_classes: float) -> ClassRow:
        return ClassRow(row, shown(average), [shade(shown(value), value, highest) for value in of_classes])

    table = []
    if rows:
        table.append(class_row(None, *np.mean(list(means.values()), axis=0).tolist()))
    opened = [row for row in rows if row.may_open]
    opened.sort(key=lambda row: -means[row.evaluation.pk][0])
    table += [class_row(row, *means[row.evaluation.pk]) for row in opened]
    return ClassTable(label, classes, table)
