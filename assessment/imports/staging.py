"""The rows of a file in a temporary table of the transaction: the memory of an import does not grow with the file."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection

from assay.formats.documents.batch import copy_line
from assay.formats.judgments.rows import JudgmentRow, JudgmentStream

PART = 5_000  # rows that are planned together, and more if a single topic has more
AT_ONCE = 1_000  # rows that are copied or fetched together
CREATE = """
DROP TABLE IF EXISTS pg_temp.staged_judgment;
CREATE TEMP TABLE staged_judgment (
    id bigint{default}, place bigserial, topic text, pool text, batch text, kind text, round integer, content text
) ON COMMIT DROP
"""
NEXT_ID = " DEFAULT nextval(pg_get_serial_sequence('assessment_judgment', 'id'))"
COPY = "COPY staged_judgment (topic, pool, batch, kind, round, content) FROM STDIN"
FIRST = """
SELECT content FROM (
    SELECT DISTINCT ON (pool, batch, kind) round, place, content FROM staged_judgment ORDER BY pool, batch, kind, place
) first
ORDER BY round, place
"""
TIMES = ("accepted_at", "judged_at")


class TopicRows(NamedTuple):
    """All rows of some topics, those of a topic in the order of the file, and the ids for their judgments."""

    rows: list[JudgmentRow]
    ids: list[int]


@dataclass
class Staged:
    """A file whose rows are in the temporary table; `is_numbered` is true if it has numbers of judgments."""

    columns: dict[str, str]
    n_rows: int = 0
    is_numbered: bool = False
    assessors: Counter[str] = field(default_factory=Counter)

    def count(self, row: JudgmentRow) -> None:
        self.n_rows += 1
        self.is_numbered |= row.number is not None
        self.assessors[row.assessor] += 1


def stage(stream: JudgmentStream, *, has_ids: bool, report: Callable[[int, str], None]) -> Staged:
    """Copy the rows into the temporary table, which the end of the transaction drops.

    `has_ids`: give each row the id of a new judgment, so that ids ascend in the order of the file.

    Raises:
        JudgmentsError: Lines are wrong.
    """
    staged = Staged(dict(stream.columns))
    with connection.cursor() as cursor:
        cursor.execute(CREATE.format(default=NEXT_ID if has_ids else ""))
        while rows := list(islice(stream.rows, AT_ONCE)):
            lines = []
            for row in rows:
                staged.count(row)
                content = json.dumps(row._asdict(), ensure_ascii=False, default=datetime.isoformat)
                cells = (row.topic, row.pool, row.batch, row.kind, str(row.round or 0), content)
                lines.append(copy_line(cells))
            cursor.copy_expert(COPY, BytesIO("".join(lines).encode()))
            report(staged.n_rows, "reading")
    return staged


def _row(content: str) -> JudgmentRow:
    values: dict[str, Any] = json.loads(content)
    for name in TIMES:
        values[name] = values[name] and datetime.fromisoformat(values[name])
    return JudgmentRow(**values)


def first_of_batches() -> list[JudgmentRow]:
    """The first row of every pool, batch and kind that the file names, by training round, then in its order."""
    with connection.cursor() as cursor:
        cursor.execute(FIRST)
        return [_row(content) for (content,) in cursor.fetchall()]


def parts() -> Iterator[TopicRows]:
    """The rows, some topics at a time, with everything about a topic in one part."""
    part = TopicRows([], [])
    with connection.chunked_cursor() as cursor:
        cursor.execute("SELECT topic, coalesce(id, 0), content FROM staged_judgment ORDER BY topic, place")
        for _, of_topic in groupby(cursor, key=itemgetter(0)):
            if len(part.rows) >= PART:
                yield part
                part = TopicRows([], [])
            for _, pk, content in of_topic:
                part.ids.append(pk)
                part.rows.append(_row(content))
    if part.rows:
        yield part
