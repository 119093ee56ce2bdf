"""A restored database is built in a schema of its own, next to the tables in use, which it then replaces at once.

Until then a restore that is killed changes nothing, and the site could still be started.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.contrib.contenttypes.models import ContentType
from django.db import Error, connection, transaction
from psycopg2 import sql

from backups.errors import RestoreRefused
from backups.tables import execute, rows

NEW = "assay_restore"
LOCK_SECONDS = 10
FUNCTIONS = """
    SELECT p.proname, pg_get_function_identity_arguments(p.oid) FROM pg_proc p
    WHERE p.pronamespace = %(schema)s::regnamespace
"""
TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'p')
    ORDER BY relname
"""


@contextmanager
def new_schema() -> Iterator[str]:
    """Inside the block every query of this process uses an empty schema; yields the name of the usual one.

    The connection itself has this search path, so that no query can reach the tables in use, even after a reconnect.
    """
    usual = str(rows("SELECT current_schema()")[0][0])
    _remove()
    try:
        execute("CREATE SCHEMA {}", NEW)
    except Error as error:
        raise RestoreRefused(f"Cannot create a schema in the database: {error}".strip()) from error
    options = connection.settings_dict["OPTIONS"]
    before = dict(options)
    options["options"] = f"{before.get('options', '')} -c search_path={NEW}".strip()
    _reconnect()
    try:
        yield usual
    finally:
        options.clear()
        options.update(before)
        _reconnect()
        _remove()


def replace_tables(schema: str, old: Collection[str]) -> None:
    """Remove the old tables from a schema, and move the new ones there, in one transaction.

    What else is in the schema, such as a view or a table of your own, stays; if it depends on a table, PostgreSQL
    refuses.
    """
    tables = [str(name) for (name,) in rows(TABLES, schema=NEW)]
    existing = {str(name) for (name,) in rows(TABLES, schema=schema)}
    with transaction.atomic():
        rows("SELECT set_config('lock_timeout', %(limit)s, true)", limit=f"{LOCK_SECONDS}s")
        _drop(schema, sorted(existing & {*old, *tables}))
        for table in tables:
            execute("ALTER TABLE {}.{} SET SCHEMA {}", NEW, table, schema)
        _move_functions(schema)


def _drop(schema: str, tables: Collection[str]) -> None:
    if not tables:
        return
    names = sql.SQL(", ").join(sql.Identifier(schema, table) for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DROP TABLE {}").format(names))


def _move_functions(schema: str) -> None:
    """Move the functions of triggers; those that they replace belonged to the old tables."""
    old = set(rows(FUNCTIONS, schema=schema))
    for name, arguments in rows(FUNCTIONS, schema=NEW):
        if (name, arguments) in old:
            execute(f"DROP FUNCTION {{}}.{{}}({arguments})", schema, name)
        execute(f"ALTER FUNCTION {{}}.{{}}({arguments}) SET SCHEMA {{}}", NEW, name, schema)


def _remove() -> None:
    """Remove the schema of an earlier restore that was killed."""
    execute("DROP SCHEMA IF EXISTS {} CASCADE", NEW)


def _reconnect() -> None:
    connection.close()
    ContentType.objects.clear_cache()
