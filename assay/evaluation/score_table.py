"""Scores as rows, and as text: tab-separated or JSON."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import NamedTuple

from assay.measures.scores import ALL as ALL

HEADER = ("run", "topic", "measure", "value")
LINES_AT_ONCE = 2_000


class ScoreRow(NamedTuple):
    """One value; `topic` is `all` for the mean."""

    run: str
    topic: str
    measure: str
    value: float

    def cells(self) -> tuple[str, ...]:
        return (self.run, self.topic, self.measure, shown(self.value))


def shown(value: float) -> str:
    """A value with four decimals, as in all tables."""
    return f"{value:.4f}"


def one_word(name: str) -> str:
    """A name without tabs and line ends, which would break a table."""
    return " ".join(name.split())


def as_tsv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Tab-separated lines, without quotation marks."""
    return "".join(tsv_lines(header, rows))


def tsv_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The parts of `as_tsv`, of many lines each."""
    yield "\t".join(header) + "\n"
    rows = iter(rows)
    while lines := ["\t".join(cells) for cells in islice(rows, LINES_AT_ONCE)]:
        yield "\n".join(lines) + "\n"


def as_json(rows: Iterable[ScoreRow]) -> str:
    """A list of objects, one per line; values have all their digits."""
    dumps = import_module("json").dumps  # not imported for tables
    return "[\n" + ",\n".join(_json_line(row, dumps) for row in rows) + "\n]\n"


def _json_line(row: ScoreRow, dumps: Callable[..., str]) -> str:
    words = ", ".join(f'"{key}": {dumps(getattr(row, key), ensure_ascii=False)}' for key in HEADER[:3])
    return f'{{{words}, "value": {dumps(row.value)}}}'
