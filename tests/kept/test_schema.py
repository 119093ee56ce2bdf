"""The tables, and what the database refuses: the next migrations may be written again, and must make the same."""

import json
import re
from collections import defaultdict
from typing import Any

import pytest
from django.db import Error, connection, transaction

from assay.digests import sha256_of
from corpus.formulas.storing import VISUAL_INDEX
from maintenance import schema
from tests.helpers import kept
from tests.helpers.database import guarded

pytestmark = pytest.mark.django_db

NAME = re.compile(r"public\.(\w+)")
VALUES = {
    "boolean": True,
    "bigint": 1,
    "integer": 1,
    "smallint": 1,
    "double precision": 1,
    "jsonb": {},
    "ARRAY": [],
    "timestamp with time zone": "2026-01-02",
    "uuid": "0" * 32,
}
PROTECTED = """
    SELECT DISTINCT relname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE NOT tgisinternal ORDER BY relname
"""
COLUMNS = """
    SELECT column_name, data_type FROM information_schema.columns
    WHERE table_name = %s AND table_schema = 'public' ORDER BY column_name
"""
CHECKS = "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'c'"
STATEMENTS = {
    "DELETE": "DELETE FROM {}",
    "TRUNCATE": "TRUNCATE {} CASCADE",
}


def test_tables_columns_constraints_indexes_statistics_and_triggers() -> None:
    """A digest for each table. `python -m maintenance.schema`, before and after, shows what a change is."""
    pytest.importorskip("assay_extensions.machines")
    if schema.version() != 18:
        pytest.skip("pg_dump of each version writes in another way; docker-compose.yml has 18")
    of_table: defaultdict[str, list[str]] = defaultdict(list)
    # An import that another test ended halfway leaves out one index, which the next import makes again.
    for statement in (line for line in schema.statements() if f"INDEX {VISUAL_INDEX} " not in line):
        name = NAME.search(statement)
        assert name is not None, statement
        of_table[name[1]].append(statement)

    digests = {name: sha256_of("\n".join(each).encode())[:16] for name, each in of_table.items()}

    kept.check("schema.json", digests)


def answers(table: str) -> dict[str, Any]:
    """The answers of PostgreSQL to each statement on a table with a row, and to an UPDATE of each of its columns."""
    with guarded() as cursor:
        cursor.execute(COLUMNS, [table])
        row = {name: VALUES.get(kind, "x") for name, kind in cursor.fetchall()}
        cursor.execute(CHECKS, [table])
        for (check,) in cursor.fetchall():
            cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{check}"')
        cursor.execute("SET LOCAL session_replication_role = 'replica'")  # without triggers and foreign keys
        cursor.execute(
            f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s)", [json.dumps(row)]
        )
        cursor.execute("SET LOCAL session_replication_role = 'origin'")
        updates = {column: _answer(cursor, f'UPDATE {table} SET "{column}" = NULL') for column in row}
        return {
            "UPDATE": sorted({answer for answer in updates.values() if "kept" in answer}),
            "columns that may change": [column for column, answer in updates.items() if "kept" not in answer],
            **{name: _answer(cursor, statement.format(table)) for name, statement in STATEMENTS.items()},
        }


def _answer(cursor: Any, statement: str) -> str:
    try:
        with transaction.atomic():
            cursor.execute(statement)
            transaction.set_rollback(True)
    except Error as error:
        message = str(error).split("\n")[0]
        return message if "kept" in message else "done, apart from foreign keys"
    return "done"


def test_rows_that_are_kept_refuse_to_be_changed_and_deleted() -> None:
    with connection.cursor() as cursor:
        cursor.execute(PROTECTED)
        tables = [name for (name,) in cursor.fetchall()]

    kept.check("protected_rows.json", {table: answers(table) for table in tables})
