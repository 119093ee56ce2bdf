"""Makes what the page of a leaderboard adds to its numbers: places, marks of intervals, steps of color by topic.

Each mark repeats numbers that are on the page as text, so screen readers skip it. Decision: ADR 34.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

from assay.tables import natural, shown
from scoring.evaluations.selectors import topic_values
from scoring.leaderboards.rows import BoardRow, Gain
from scoring.models import Leaderboard, MeasureStatistics

WIDTH, EDGE = 160, 4  # of the drawing of an interval, and of its axis from its ends
ENDS = (0.1, 0.2, 0.5, 1)  # of the axis of a column
STEPS = 5  # of color
MOST_TOPICS = 30  # in the table by topic
MOST_RUNS = 40


class Axis(NamedTuple):
    """The values at the ends of the drawings of a column: 0 and the next of some round values above its own."""

    low: int
    high: float
    reference: int | None = None  # where the strongest baseline is

    def x(self, value: float) -> int:
        """The place of a value in a drawing."""
        return round(EDGE + (WIDTH - 2 * EDGE) * (value - self.low) / (self.high - self.low))


class Mark(NamedTuple):
    """A mean and the ends of its interval as places in a drawing; without an interval both ends are the mean."""

    x: int
    low: int
    high: int


class Marked(NamedTuple):
    """A row with its place among all runs by the chosen measure; runs with equal values share one."""

    row: BoardRow
    place: int
    mark: Mark


def axis_of(rows: Sequence[BoardRow], column: int, gain: Gain | None) -> Axis:
    cells = [row.cells[column] for row in rows]
    ends = [float(end) for cell in cells for end in (cell.low, cell.high) if end]
    axis = axis_over([*ends, *(cell.value for cell in cells)])
    return axis._replace(reference=axis.x(gain.baseline.cells[column].value)) if gain else axis


def axis_over(values: Sequence[float]) -> Axis:
    """An axis that has some values, without a reference."""
    most = max(values, default=0.0)
    return Axis(floor(min([0.0, *values])), next((end for end in ENDS if most <= end), ceil(most)))


def marked(rows: Sequence[BoardRow], every: Sequence[BoardRow], column: int, axis: Axis) -> list[Marked]:
    """The rows of the table, some of `every` run."""
    ranked = sorted((float(row.cells[column].text) for row in every), reverse=True)
    places = {value: place for place, value in reversed([*enumerate(ranked, 1)])}
    marks = []
    for row in rows:
        cell = row.cells[column]
        x, ends = axis.x(cell.value), [axis.x(float(end)) for end in (cell.low, cell.high) if end]
        mark = Mark(x, *ends) if len(ends) == 2 else Mark(x, x, x)
        marks.append(Marked(row, places[float(cell.text)], mark))
    return marks


class Lead(NamedTuple):
    """The numbers at the top of the page, of the best run by the chosen measure. Empty where they are unknown."""

    best: BoardRow
    value: str
    n_others: int
    n_different: int | None  # of the others, those that differ significantly from it
    judged: float | None  # percent of its top 10 ranks


def lead_of(
    rows: Sequence[BoardRow], column: int, gain: Gain | None, tested: MeasureStatistics | None
) -> Lead | None:
    """The best run of a team, or without teams the best one; None without runs that count."""
    valid = [row for row in rows if row.run.is_submitted]
    if not valid:
        return None
    teams = [row for row in valid if not row.is_baseline] or valid
    best = gain.best if gain else max(teams, key=lambda row: row.cells[column].value)
    others = [row for row in rows if row is not best]
    letters = set(best.cells[column].tier)
    is_tested = tested is not None and tested.n_permutations > 0 and best.evaluation.mismatch == ""
    different = [row for row in others if letters.isdisjoint(row.cells[column].tier)] if is_tested else None
    share = best.evaluation.judged_at_10
    n_different = None if different is None else len(different)
    judged = None if share is None else 100 * share
    return Lead(best, best.cells[column].text, len(others), n_different, judged)


class Shade(NamedTuple):
    """A value by topic and its step of color; empty if the run's mean leaves the topic out."""

    text: str
    step: int


class Heat(NamedTuple):
    """Values by topic of the runs whose values the reader may see."""

    topics: list[str]
    rows: list[tuple[BoardRow, list[Shade], str]]
    n_left_out: int  # runs beyond the limit


def shade(text: str, value: float, highest: float) -> Shade:
    """A value as it is shown, with its step of color."""
    return Shade(text, max(0, min(STEPS - 1, int(STEPS * value / highest))))


def heat_of(board: Leaderboard, rows: Sequence[BoardRow], measure: str, column: int) -> Heat | None:
    """The table by topic; None with more than 30 topics, or without values. One query."""
    visible = [row for row in rows if row.may_open]
    if not visible or not 0 < board.qrels.n_topics <= MOST_TOPICS:
        return None
    values = topic_values(board, measure)
    topics = sorted(values, key=natural)
    if not topics:
        return None
    highest = max([1.0, *(value for of_topic in values.values() for value in of_topic.values())])

    def cell(value: float | None) -> Shade:
        return Shade("", 0) if value is None else shade(f"{value:.2f}", value, highest)

    table = [
        (
            row,
            [cell(values[topic].get(row.evaluation.pk)) for topic in topics],
            shown(row.cells[column].value),
        )
        for row in visible[:MOST_RUNS]
    ]
    return Heat(topics, table, max(0, len(visible) - MOST_RUNS))
