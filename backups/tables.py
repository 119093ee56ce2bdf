"""Rows of tables, out of a database and into one, with PostgreSQL's COPY."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.db import connection
from psycopg2 import sql

from backups.archive import SequenceState, TableContent
from backups.errors import RestoreRefused
from backups.states import UNCLAIMED, FileColumn, State

COLUMNS = """
    SELECT attname, pg_get_serial_sequence(quote_ident(%(table)s), attname) FROM pg_attribute
    WHERE attrelid = quote_ident(%(table)s)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ORDER BY attnum
"""
# Constraints and indexes that are created after the rows, because that takes much less time than row by row. Indexes
# with a condition stay: PostgreSQL prints conditions in other words than Django.
LATE = """
    SELECT format('ALTER TABLE %%I DROP CONSTRAINT %%I', c.relname, k.conname),
           format('ALTER TABLE %%I ADD CONSTRAINT %%I %%s', c.relname, k.conname, pg_get_constraintdef(k.oid)), 1
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE k.contype = 'f' AND c.relnamespace = current_schema()::regnamespace
    UNION ALL
    SELECT format('DROP INDEX %%I', c.relname), pg_get_indexdef(c.oid), 0
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND i.indpred IS NULL AND i.indexprs IS NULL
      AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
    ORDER BY 3
"""
TRIGGERS = """
    SELECT c.relname, t.tgname, t.tgenabled FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'D'
"""
ENABLE = {"O": "ENABLE TRIGGER", "A": "ENABLE ALWAYS TRIGGER", "R": "ENABLE REPLICA TRIGGER"}


@dataclass(frozen=True)
class StoredName:
    """The name of a file that rows contain, and the column that contains it."""

    name: str
    column: FileColumn


def execute(statement: str, *names: str) -> None:
    """Run a statement whose placeholders `{}` are names."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def run(statement: str) -> None:
    """Run a complete statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement)


def rows(query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())


def has_rows(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(table)))
        return bool(cursor.fetchone()[0])


def size(tables: Iterable[str]) -> int:
    """Bytes of the tables on the disk, which is about the size of their rows as text."""
    query = "SELECT coalesce(sum(pg_table_size(quote_ident(name)::regclass)), 0) FROM unnest(%(tables)s) name"
    return int(rows(query, tables=list(tables))[0][0])


def lock_against_changes(names: Iterable[str]) -> None:
    """Keep the columns of the tables as they are until the end of the transaction; rows may change."""
    listed = sql.SQL(", ").join(map(sql.Identifier, names))
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(listed))


def analyze(names: Iterable[str]) -> None:
    """Collect the statistics with which PostgreSQL plans queries."""
    for name in names:
        execute("ANALYZE {}", name)


def copy_out(table: str, member: BinaryIO) -> int:
    """Write the rows of a table, and return their number."""
    return _copy("COPY {} ({}) TO STDOUT", table, _columns(table), member)


def content(table: str, n_rows: int) -> TableContent:
    """The description of a table that was copied out."""
    return TableContent(table, _columns(table), n_rows, list(_sequences(table)))


def copy_in(table: TableContent, member: BinaryIO) -> None:
    """Read the rows of a table, and continue the numbers of its columns.

    Raises
    ------
    RestoreRefused
        The number of rows is not that of the backup.
    """
    n_rows = _copy("COPY {} ({}) FROM STDIN", table.name, table.columns, member)
    if n_rows != table.n_rows:
        raise RestoreRefused(f"{table.name}: expected {table.n_rows:,} rows, got {n_rows:,}.")
    for sequence in table.sequences:
        rows(
            "SELECT setval(pg_get_serial_sequence(quote_ident(%(table)s), %(column)s), %(last)s, %(is_called)s)",
            table=table.name,
            column=sequence.column,
            last=sequence.last,
            is_called=sequence.is_called,
        )


@contextmanager
def bare(tables: Iterable[str]) -> Iterator[None]:
    """Remove the rows of the tables; inside the block they have no triggers, foreign keys and other indexes."""
    triggers, late = rows(TRIGGERS), rows(LATE)
    for table, trigger, _ in triggers:
        execute("ALTER TABLE {} DISABLE TRIGGER {}", table, trigger)
    for drop, _, _ in reversed(late):
        run(drop)
    for table in tables:
        execute("TRUNCATE {}", table)
    yield
    for _, create, _ in late:
        run(create)
    for table, trigger, mode in triggers:
        execute(f"ALTER TABLE {{}} {ENABLE[mode]} {{}}", table, trigger)


def stored_names(state: State) -> list[StoredName]:
    """The names of files that rows contain, each once."""
    names: dict[str, StoredName] = {}
    for column in state.file_columns:
        for name in _names(column):
            names.setdefault(name, StoredName(name, column))
    return [names[name] for name in sorted(names)]


def unclaimed_files(state: State) -> list[str]:
    """The names of files that no row of the state needs, and that are still to be deleted."""
    return (
        [str(name) for (name,) in rows("SELECT name FROM files_unclaimedfile")]
        if UNCLAIMED in state.tables
        else []
    )


def record_unclaimed(schema: str, name: str) -> None:
    """Record a file that is about to be stored, so that it is deleted if the process is killed."""
    if rows("SELECT to_regclass(%(table)s)", table=f'"{schema}".{UNCLAIMED}')[0][0]:
        table = sql.Identifier(schema, UNCLAIMED)
        with connection.cursor() as cursor:
            cursor.execute(
                sql.SQL("INSERT INTO {} (name) VALUES (%s) ON CONFLICT DO NOTHING").format(table), [name]
            )


def remove_unclaimed(schema: str, name: str) -> None:
    """Remove the record of a file that was deleted."""
    if rows("SELECT to_regclass(%(table)s)", table=f'"{schema}".{UNCLAIMED}')[0][0]:
        table = sql.Identifier(schema, UNCLAIMED)
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("DELETE FROM {} WHERE name = %s").format(table), [name])


def rename_file(column: FileColumn, old: str, new: str) -> None:
    """Store another name of a file in the rows that name it."""
    names = {"table": sql.Identifier(column.table), "column": sql.Identifier(column.column)}
    statement = sql.SQL("UPDATE {table} SET {column} = %s WHERE {column} = %s").format(**names)
    with connection.cursor() as cursor:
        cursor.execute(statement, [column.prefix + new, column.prefix + old])


def _names(column: FileColumn) -> list[str]:
    names = {"table": sql.Identifier(column.table), "column": sql.Identifier(column.column)}
    query = "SELECT DISTINCT {column} FROM {table} WHERE starts_with({column}, %s) AND {column} <> ''"
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(query).format(**names), [column.prefix])
        return [str(name).removeprefix(column.prefix) for (name,) in cursor.fetchall()]


def _columns(table: str) -> list[str]:
    return [column for column, _ in rows(COLUMNS, table=table)]


def _sequences(table: str) -> Iterator[SequenceState]:
    for column, sequence in rows(COLUMNS, table=table):
        if sequence:
            last, is_called = rows(f"SELECT last_value, is_called FROM {sequence}")[0]  # noqa: S608  quoted by PostgreSQL
            yield SequenceState(column, last, is_called)


def _copy(statement: str, table: str, columns: list[str], member: BinaryIO) -> int:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    with connection.cursor() as cursor:
        command = sql.SQL(statement).format(sql.Identifier(table), names)
        cursor.copy_expert(command.as_string(cursor.cursor), member)
        return int(cursor.rowcount)
