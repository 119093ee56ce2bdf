"""The database as any process but the tests sees it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import compress

from django.db import connection
from django.db.backends.utils import CursorWrapper


@cache
def tables() -> tuple[str, ...]:
    """The quoted names of all tables except those that `migrate` fills."""
    kept = {"django_migrations", "django_content_type", "auth_permission"}
    names = set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - kept
    return tuple(f'"{name}"' for name in sorted(names))


def tables_with_rows(of: Iterable[str] = ()) -> list[str]:
    """Those of some tables that are not empty, or of all."""
    names = list(of) or tables()
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"EXISTS (SELECT FROM {table})" for table in names))
        return list(compress(names, cursor.fetchone()))


def n_written() -> Counter[str]:
    """The number of rows that this transaction has written so far, by table; also those that were undone since."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables"
            " WHERE n_tup_ins + n_tup_upd + n_tup_del > 0"
        )
        return Counter(dict(cursor.fetchall()))


@contextmanager
def of_the_next_release() -> Iterator[None]:
    """Tables as a next release may have made them: one more column in each, and a table that names users."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    alter = "".join(f'ALTER TABLE "{name}" {{}};' for name in sorted(names))
    with connection.cursor() as cursor:
        cursor.execute(
            alter.replace("{}", "ADD COLUMN of_the_next text, ADD COLUMN n_next int NOT NULL DEFAULT 7")
        )
        cursor.execute("CREATE TABLE of_the_next (id bigserial, person bigint REFERENCES accounts_user)")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE of_the_next")
            cursor.execute(alter.replace("{}", "DROP COLUMN of_the_next, DROP COLUMN n_next"))


@contextmanager
def guarded() -> Iterator[CursorWrapper]:
    """A cursor whose session may not empty tables, although the tests may."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # TRUNCATE refuses to run before pending checks
        cursor.execute("SET LOCAL assay.allow_truncate = 'off'")
        yield cursor


@contextmanager
def unguarded() -> Iterator[None]:
    """Let a test make rows as an earlier version left them, although triggers refuse it."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        yield
        cursor.execute("SET LOCAL session_replication_role = 'origin'")


def has_statistics(*tables: str) -> bool:
    """True if PostgreSQL has statistics of the columns of all tables, which ANALYZE collects."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(DISTINCT tablename) FROM pg_stats WHERE tablename = ANY(%s)", [list(tables)]
        )
        return bool(cursor.fetchone() == (len(tables),))
