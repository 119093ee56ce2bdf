"""The state of the database that its migrations describe: its tables, and its columns with names of files.

They follow from the migrations that the database or an archive records, not from the models of today. So a database
can be saved before it is migrated, and an older archive can be restored.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.core.files.storage import Storage, default_storage
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Key = tuple[str, str]  # app and name of a migration

UNCLAIMED = "files_unclaimedfile"
# Sessions belong to browsers: after a restore, people log in again. Unclaimed files belong to the storage.
WITHOUT_ROWS = {"django_session", UNCLAIMED}
# Columns with names of uploads that exist only until their import is complete. Each name has a prefix.
UPLOADS = {("corpus_import", "location"): "upload:"}


@dataclass(frozen=True)
class FileColumn:
    """A column with names of files. The files of a transient column may be gone."""

    table: str
    column: str
    storage: Storage
    prefix: str = ""

    @property
    def is_transient(self) -> bool:
        return bool(self.prefix)


@dataclass(frozen=True)
class State:
    """The tables at a set of migrations, by name."""

    migrations: list[Key]
    tables: list[str]
    file_columns: list[FileColumn]

    @property
    def saved_tables(self) -> list[str]:
        return [name for name in self.tables if name not in WITHOUT_ROWS]


def applied() -> list[Key]:
    """The migrations that the database records."""
    return sorted(MigrationRecorder(connection).applied_migrations())


def unknown(migrations: Iterable[Key]) -> list[str]:
    """Those migrations that this version of Assay does not have."""
    nodes = _loader().graph.nodes
    return [f"{app}.{name}" for app, name in migrations if (app, name) not in nodes]


def state_at(migrations: Collection[Key]) -> State:
    """The tables and columns of a database with these migrations, which must be known."""
    loader = _loader()
    if not migrations:
        return State([], [], [])
    project = loader.project_state(_last(loader, migrations))
    stored = [
        model
        for model in project.apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and not model._meta.swapped
    ]
    tables = sorted(model._meta.db_table for model in stored)
    return State(sorted(migrations), tables, [*_file_fields(stored), *_uploads(tables)])


def migrate_to(migrations: Collection[Key]) -> None:
    """Create the tables of a state in an empty schema."""
    executor = MigrationExecutor(connection)
    executor.loader = _loader()
    executor.migrate(_last(executor.loader, migrations))


def _loader() -> MigrationLoader:
    return MigrationLoader(connection, replace_migrations=False)


def _last(loader: MigrationLoader, migrations: Collection[Key]) -> list[Key]:
    """Of each app, those migrations that no other one of the app follows."""
    known = set(migrations)
    return [
        key
        for key in sorted(known)
        if not any(
            child.key in known and child.key[0] == key[0] for child in loader.graph.node_map[key].children
        )
    ]


def _file_fields(stored: Iterable[type[models.Model]]) -> list[FileColumn]:
    return [
        FileColumn(model._meta.db_table, str(field.column), field.storage)
        for model in stored
        for field in model._meta.concrete_fields
        if isinstance(field, models.FileField)
    ]


def _uploads(tables: Collection[str]) -> list[FileColumn]:
    return [
        FileColumn(table, column, default_storage, prefix)
        for (table, column), prefix in UPLOADS.items()
        if table in tables
    ]
