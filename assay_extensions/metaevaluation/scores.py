"""Tables of scores, of the truth and of judges, by measure: means of runs, and their values by topic."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.text import decoded, lines_of
from assay.measures.boards import COLUMNS, FORMS, numbered_board
from assay.measures.scores import ALL, ScoreRow

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one measure of a table.

    Args:
        source: the file, for messages.
        lines: the first line of each run and topic, by `run NAME` or `topic CODE`.
        means: by run, in the order of the file; only runs with a mean in the file.
        by_topic: values by run and topic.
    """

    source: str
    measure: str
    means: dict[str, float]
    by_topic: dict[str, dict[str, float]]
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def runs(self) -> list[str]:
        return list(dict.fromkeys((*self.means, *self.by_topic)))

    @property
    def topics(self) -> set[str]:
        return {topic for values in self.by_topic.values() for topic in values}

    def matrix(self, runs: Sequence[str], topics: Sequence[str]) -> Values:
        """(runs, topics) values; nan where the file has none."""
        rows = [self.by_topic.get(run, {}) for run in runs]
        return np.array([[row.get(topic, np.nan) for topic in topics] for row in rows]).reshape(len(runs), -1)


def form_of(data: bytes, name: str, topics: Collection[str] = ()) -> str:
    """Detect the form of a table of scores, from the column of `all`, or of these topics.

    Raises:
        InputError: The first line has no known number of columns, or the forms cannot be distinguished.
    """
    lines = [line for line in lines_of(decoded(data, name).text) if line.strip()]
    first = lines[0] if lines else ""
    if first.lstrip().startswith("{"):
        return "jsonl" if '"run_id"' in first else "nuggetizer"
    widths = {form: len(columns) for form, columns in COLUMNS.items()}
    width = len(first.split())
    forms = [form for form, n in widths.items() if n == width]
    if not forms:
        accepted = "run topic measure value, or another order of these, or lines of JSON"
        raise InputError(f"{name}: line 1: got {width} columns; expected {accepted}")
    if len(forms) > 1:
        rows = [line.split() for line in lines]
        codes = {ALL, *topics}
        places = {next((n for n, word in enumerate(row) if word in codes), -1) for row in rows} - {-1}
        forms = [form for form in forms if places == {COLUMNS[form].index("topic")}]
    if len(forms) != 1:
        raise InputError(
            f"{name}: the order of the columns is not clear without lines of the topic {ALL}; "
            f"name the form: {', '.join(FORMS)}"
        )
    return forms[0]


def read_scores(data: bytes, name: str, form: str = "", topics: Collection[str] = ()) -> list[Scores]:
    """The scores of a table, by measure. Without a form, it is detected: see `form_of`.

    Raises:
        InputError: A line is not in the form, or repeats the value of a run, topic and measure.
    """
    form = form or form_of(data, name, topics)
    run = PurePath(name).name.removesuffix(".txt").removesuffix(".eval")
    numbered, lines = numbered_board(data, form, name=name, run=run), dict[str, int]()
    for number, row in numbered:
        lines.setdefault(f"run {row.run}", number)
        lines.setdefault(f"topic {row.topic}", number)
    return [replace(scores, lines=lines) for scores in scores_of((row for _, row in numbered), name)]


def scores_of(rows: Iterable[ScoreRow], name: str) -> list[Scores]:
    """Rows by measure; each run, topic and measure has one."""
    measures: dict[str, Scores] = {}
    for row in rows:
        scores = measures.setdefault(row.measure, Scores(name, row.measure, {}, {}))
        values = scores.means if row.topic == ALL else scores.by_topic.setdefault(row.run, {})
        values[row.run if row.topic == ALL else row.topic] = row.value
    return list(measures.values())


def gaps(scores: Scores, runs: Sequence[str], topics: Collection[str]) -> list[str]:
    """Return what a judge left out: runs, and topics of the runs that it has."""
    own = set(scores.runs)
    problems = [f"run {run}: no {scores.measure}" for run in runs if run not in own]
    for run in runs:
        absent = sorted(set(topics) - scores.by_topic.get(run, {}).keys())
        if run in own and absent:
            problems.append(f"run {run}: no {scores.measure} for topic {', '.join(absent)}")
    return problems
