"""Judgments as CSV for spreadsheets. A cell that would run as a spreadsheet formula gets an apostrophe."""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from assay.formats.spreadsheet import harmless
from assessment.models import Judgment

COLUMNS = (
    "judgment", "track", "batch", "kind", "topic", "docno", "assessor", "choice", "grade", "comment", "seconds",
    "order", "judged_at", "is_current", "replaces", "request_id",
)  # fmt: skip


class _Echo:
    """A file that returns each line, so that rows can be streamed."""

    def write(self, line: str) -> str:
        return line


def judgments_csv(judgments: Iterable[Judgment]) -> Iterator[str]:
    """The lines of a CSV file. It starts with a byte order mark, so that spreadsheets read it as UTF-8."""
    writer = csv.writer(_Echo())
    yield "\ufeff"
    yield writer.writerow(COLUMNS)
    for judgment in judgments:
        yield writer.writerow([harmless(value) for value in _row(judgment)])


def _row(judgment: Judgment) -> list[Any]:
    return [
        judgment.pk,
        judgment.track.slug,
        judgment.batch.name,
        judgment.batch.kind,
        judgment.topic.code,
        judgment.docno,
        judgment.assessor.username,
        judgment.choice,
        judgment.grade,
        judgment.comment,
        judgment.seconds,
        judgment.order,
        judgment.created_at.isoformat(timespec="seconds"),
        judgment.is_current,
        judgment.replaces_id,
        judgment.request_id,
    ]
