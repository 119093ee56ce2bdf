"""The tables of a database, and its columns with names of files, as its recorded migrations describe them.

They do not follow from the models of today. So a database can be saved before it is migrated.
"""

import inspect
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg2 import sql

from assay.digests import sha256_of
from assay.errors import Refused
from assay.version import VERSION
from server import paths

UNCLAIMED = "jobs_unclaimedfile"
# Sessions belong to browsers: after a restore, people log in again. Unclaimed files belong to the storage.
WITHOUT_ROWS = {"django_session", "accounts_login", UNCLAIMED}
# Columns with names of uploads that exist only until their import is complete. Each name has a prefix.
UPLOADS = {("corpus_import", "location"): "upload:"}


class FileColumn(NamedTuple):
    """A column with names of files, each after a prefix. The files of a column with a prefix may be gone."""

    table: str
    column: str
    prefix: str = ""

    def names(self) -> list[str]:
        """The names of files in its rows."""
        query = sql.SQL("SELECT DISTINCT {0} FROM {1} WHERE starts_with({0}, %s) AND {0} <> ''")
        with connection.cursor() as cursor:
            cursor.execute(
                query.format(sql.Identifier(self.column), sql.Identifier(self.table)), [self.prefix]
            )
            return [str(name).removeprefix(self.prefix) for (name,) in cursor.fetchall()]

    def rename(self, old: str, new: str) -> None:
        """Store another name of a file in the rows that name it."""
        statement = sql.SQL("UPDATE {1} SET {0} = %s WHERE {0} = %s")
        with connection.cursor() as cursor:
            cursor.execute(
                statement.format(sql.Identifier(self.column), sql.Identifier(self.table)),
                [self.prefix + new, self.prefix + old],
            )


class State(NamedTuple):
    """The names of the tables at a set of migrations, and the columns with names of files."""

    migrations: list[tuple[str, str]]  # app and name
    tables: list[str]
    file_columns: list[FileColumn]

    def file_names(self) -> dict[str, FileColumn]:
        """The names of files in all rows, each with a column that has it."""
        return {name: column for column in reversed(self.file_columns) for name in column.names()}


def unknown(migrations: Iterable[tuple[str, str]]) -> list[str]:
    """Those migrations that this version of Assay does not have."""
    nodes = MigrationLoader(connection, replace_migrations=False).graph.nodes
    return [f"{app}.{name}" for app, name in migrations if (app, name) not in nodes]


def files_of(migrations: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The SHA-256 of the file of each of Assay's own migrations among some."""
    known = MigrationLoader(None, replace_migrations=False).disk_migrations
    paths_of = {
        f"{app}.{name}": Path(inspect.getfile(type(known[app, name]))) for app, name in sorted(migrations)
    }
    return {
        name: sha256_of(path.read_bytes())
        for name, path in paths_of.items()
        if path.is_relative_to(paths.ROOT) and "site-packages" not in path.parts
    }


def digest(migrations: Iterable[tuple[str, str]]) -> str:
    """A SHA-256 that changes with the file of any of Assay's own migrations among some."""
    return sha256_of(json.dumps(files_of(migrations)).encode())


def current(hint: str) -> State:
    """The state of the database.

    Raises:
        Refused: It has migrations that this version does not know. `hint` says what to do then.
    """
    applied = sorted(MigrationRecorder(connection).applied_migrations())
    if missing := unknown(applied):
        raise Refused(
            f"The database has migrations that Assay {VERSION} does not know: {', '.join(missing[:5])}. {hint}",
            code="newer-database",
            title="The database is of another version of Assay",
        )
    if not applied:
        return State([], [], [])
    graph, known = MigrationLoader(connection, replace_migrations=False).graph, set(applied)
    last = [
        key
        for key in applied
        if not any(child.key in known and child.key[0] == key[0] for child in graph.node_map[key].children)
    ]
    stored = [
        model
        for model in graph.make_state(nodes=last).apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and not model._meta.swapped
    ]
    tables = sorted(model._meta.db_table for model in stored)
    columns = [
        FileColumn(model._meta.db_table, str(field.column))
        for model in stored
        for field in model._meta.concrete_fields
        if isinstance(field, models.FileField)
    ]
    uploads = [FileColumn(*place, prefix) for place, prefix in UPLOADS.items() if place[0] in tables]
    return State(applied, tables, columns + uploads)
