"""Files of scores that other programs read and write: the leaderboards of AutoJudge, and the metrics of nuggetizer.

Columns are separated by tabs or spaces, and the mean has the topic `all`::

    ir_measures   run topic measure value
    tot           run measure topic value
    rag4reports   topic run measure value
    trec_eval     measure topic value, of one run
    jsonl         {run_id, topic_id, measure, value} in each line
    nuggetizer    {qid, strict_vital_score, strict_all_score, vital_score, all_score} in each line, of one run

Source:
    autojudge-base 1.0.0, leaderboard.py; castorini/nuggetizer, core/metrics.py.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from assay.errors import InputError, plural
from assay.formats.text import decoded, lines_of
from assay.measures.scores import ScoreRow

# The names that nuggetizer gives to measures.
NUGGETIZER = {
    "V_strict": "strict_vital_score",
    "A_strict": "strict_all_score",
    "V": "vital_score",
    "A": "all_score",
}
OF_ONE_RUN = ("trec_eval", "nuggetizer")
COLUMNS = {
    "ir_measures": ("run", "topic", "measure", "value"),
    "tot": ("run", "measure", "topic", "value"),
    "rag4reports": ("topic", "run", "measure", "value"),
    "trec_eval": ("measure", "topic", "value"),
}
KEYS = ("run_id", "topic_id", "measure", "value")  # of jsonl
FORMS = (*COLUMNS, "jsonl", "nuggetizer")
# A line of each form, in words.
WORDS = {form: " ".join(columns) for form, columns in COLUMNS.items()} | {
    "jsonl": "lines of JSON",
    "nuggetizer": "lines of JSON of nuggetizer",
}


class _Line(NamedTuple):
    """A line of a file, for messages."""

    name: str
    number: int
    text: str

    def wrong(self, expected: str) -> InputError:
        return InputError(f"{self.name}: line {self.number}: expected {expected}")

    def value(self, word: object) -> float:
        """A number that is finite."""
        try:
            value = float(word) if isinstance(word, (str, int, float)) else math.nan
        except (ValueError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            raise self.wrong("a number as the value")
        return value


def write_board(rows: Sequence[ScoreRow], form: str) -> str:
    """The scores in one of `FORMS`, with all digits.

    Raises:
        InputError: The form is of one run, and the scores are of several.
    """
    runs = dict.fromkeys(row.run for row in rows)
    if form in OF_ONE_RUN and len(runs) > 1:
        raise InputError(f"{form} has the scores of one run, but there are {len(runs)}: {', '.join(runs)}")
    if form == "nuggetizer":
        topics: dict[str, dict[str, Any]] = {}
        for row in rows:
            topics.setdefault(row.topic, {"qid": row.topic})
            if row.measure in NUGGETIZER:
                topics[row.topic][NUGGETIZER[row.measure]] = row.value
        if all(len(content) == 1 for content in topics.values()):
            raise InputError(f"nuggetizer has {', '.join(NUGGETIZER)}, and none of these was computed")
        return "".join(json.dumps(content, ensure_ascii=False) + "\n" for content in topics.values())
    if form == "jsonl":
        return "".join(
            json.dumps(dict(zip(KEYS, row, strict=True)), ensure_ascii=False) + "\n" for row in rows
        )
    lines = ("\t".join(str(getattr(row, name)) for name in COLUMNS[form]) for row in rows)
    return "".join(f"{line}\n" for line in lines)


def read_board(data: bytes, form: str, *, name: str, run: str = "") -> list[ScoreRow]:
    """The scores of a file, as `numbered_board` has them."""
    return [row for _, row in numbered_board(data, form, name=name, run=run)]


def numbered_board(data: bytes, form: str, *, name: str, run: str = "") -> list[tuple[int, ScoreRow]]:
    """The scores of a file, with their lines.

    Args:
        form: one of `FORMS`.
        run: the name of the run, in forms that have none.

    Raises:
        InputError: A line is not in the form, or repeats the value of a run, topic and measure.
    """
    numbered = enumerate(lines_of(decoded(data, name).text), 1)
    lines = [_Line(name, number, line) for number, line in numbered if line.strip()]
    if not lines:
        raise InputError(f"{name}: the file has no scores")
    rows: dict[tuple[str, ...], tuple[int, ScoreRow]] = {}
    for line in lines:
        for row in _rows(line, form, run):
            before, _ = rows.setdefault(row[:3], (line.number, row))
            if before != line.number:
                key = f"{row.measure} of run {row.run}, topic {row.topic}"
                raise InputError(f"{name}: line {line.number}: {key}, is in line {before} too")
    return [*rows.values()]


def _rows(line: _Line, form: str, run: str) -> Iterator[ScoreRow]:
    if form == "jsonl":
        content = _object(line, *KEYS)
        tag, topic, measure = (str(content[key]) for key in KEYS[:-1])
        yield ScoreRow(tag, topic, measure, line.value(content["value"]))
    elif form == "nuggetizer":
        content = _object(line, "qid", *NUGGETIZER.values())
        for measure, key in NUGGETIZER.items():
            yield ScoreRow(run, str(content["qid"]), measure, line.value(content[key]))
    else:
        names, words = COLUMNS[form], line.text.split()
        if len(words) != len(names):
            raise line.wrong(f"{', '.join(names)}; got {plural(len(words), 'column')}")
        cells = {"run": run} | dict(zip(names, words, strict=True))
        yield ScoreRow(cells["run"], cells["topic"], cells["measure"], line.value(cells["value"]))


def _object(line: _Line, *keys: str) -> dict[str, Any]:
    try:
        content = json.loads(line.text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not set(keys) <= content.keys():
        raise line.wrong(f"a JSON object with {', '.join(keys)}")
    return content
