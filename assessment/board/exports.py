"""Files of the live board."""

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

from django.http import Http404

from assay.formats.spreadsheet import csv_lines
from assay.tables import as_tsv
from assessment.board.differences import all_differences
from assessment.board.selectors import BoardPage, Period, Times, board_page
from tracks.models import Track

Rows = Iterator[list[str]]


def _assessors(page: BoardPage) -> Rows:
    work = ["judged", "entries", "mean_seconds", "median_seconds", "hours_left", "last_judgment"]
    yield ["assessor", *work, *page.labels]
    for row in page.assessors:
        counts = [str(share.n) for share in row.mix] or ["0"] * len(page.labels)
        last = row.last_at.isoformat(timespec="seconds") if row.last_at else ""
        hours = "" if row.hours_left is None else f"{row.hours_left:.2f}"
        yield [row.name, str(row.judged), str(row.total), *_times(row.times), hours, last, *counts]


def _topics(page: BoardPage) -> Rows:
    yield [
        "topic", "assessors", "judged", "entries", "mean_seconds", "median_seconds", "relevant", "without_grade"
    ]  # fmt: skip
    for row in page.topics:
        counts = [str(row.n_relevant), str(row.n_without_grade)]
        work = [str(row.judged), str(row.total), *_times(row.times)]
        yield [row.code, " ".join(row.assessors), *work, *counts]


def _periods(name: str, periods: Iterable[Period], form: str) -> Rows:
    yield [name, "judged"]
    for period in periods:
        yield [period.start.strftime(form), str(period.n)]


TABLES: MappingProxyType[str, Callable[[BoardPage], Rows]] = MappingProxyType(
    {
        "assessors": _assessors,
        "topics": _topics,
        "days": lambda page: _periods("day", page.days, "%Y-%m-%d"),
        "hours": lambda page: _periods("hour", page.hours, "%Y-%m-%dT%H:%M+00:00"),
    }
)


def table_file(track: Track, table: str, batch: str) -> tuple[str, str]:
    """One of `TABLES` as TSV, of all batches or of one, and the name of its file."""
    if table not in TABLES:
        raise Http404
    header, *rows = TABLES[table](board_page(track, batch))
    return as_tsv(header, rows), f"{track.slug}-judging-{table}.tsv"


def _times(times: Times) -> list[str]:
    return ["" if value is None else f"{value:.1f}" for value in (times.mean, times.median)]


def differences_file(track: Track) -> tuple[Iterator[str], str]:
    """CSV with a line for each judgment of each group, which has a number, and the name of the file."""
    header = ("group", "kind", "topic", "docno", "assessor", "choice", "grade", "comment")
    rows = (
        (number, group.kind, group.topic, vote.docno, vote.assessor, vote.label, vote.grade, vote.comment)
        for number, group in enumerate(all_differences(track), 1)
        for vote in group.votes
    )
    return csv_lines(header, rows), f"{track.slug}-judged-differently.csv"
