"""The distributions of numbers, dates and tags of candidates."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from assay.candidates.conditions import NUMBERS, value_of
from assay.candidates.reader import Candidate
from assay.tables import Cell, Table

MOST_BINS = 12
SHOWN_TAGS = 20


def tables(candidates: Iterable[Candidate]) -> list[Table]:
    """The table of the numbers, that of the years, and that of the most frequent tags."""
    values: dict[str, list[int]] = {name: [] for name in NUMBERS}
    years: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    for candidate in candidates:
        for name in NUMBERS:
            values[name].append(int(value_of(candidate, name)))
        years[candidate.date[:4] or "without date"] += 1
        tags.update(set(candidate.tags))
    frequent = sorted(tags.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_TAGS]
    by_year = sorted(years.items())
    rows: list[tuple[Cell, ...]] = []
    for name, own in values.items():
        quartiles = np.percentile(own, [0, 25, 50, 75, 100]).tolist() if own else [None] * 5
        low, first, median, third, high = quartiles
        mean = float(np.mean(own)) if own else None
        rows.append((name, len(own), _whole(low), first, median, third, _whole(high), mean))
    header = ("field", "candidates", "min", "quartile1", "median", "quartile3", "max", "mean")
    return [
        Table("numbers", "what is counted of each candidate", header, rows),
        Table("years", "candidates by the year of their date", ("year", "candidates"), list(by_year)),
        Table("tags", f"the {SHOWN_TAGS} most frequent tags", ("tag", "candidates"), list(frequent)),
    ]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def bins(largest: int) -> Sequence[tuple[int, int | None]]:
    """Ranges for a histogram of counts from 0: single values first, then ranges that double; the last has no end.

    >>> bins(9)
    [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16)]
    """
    ranges: list[tuple[int, int | None]] = [(0, 0), (1, 1)]
    low = 2
    while low <= largest and len(ranges) < MOST_BINS - 1:
        high = 2 * (low - 1)
        ranges.append((low, high))
        low = high + 1
    if low <= largest:
        ranges.append((low, None))
    return ranges
