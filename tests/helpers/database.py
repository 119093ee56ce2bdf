"""The database as any process but the tests sees it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.backends.utils import CursorWrapper


@contextmanager
def guarded() -> Iterator[CursorWrapper]:
    """A cursor whose session may not empty tables, although the tests may."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # TRUNCATE refuses to run before pending checks
        cursor.execute("SET LOCAL assay.allow_truncate = 'off'")
        yield cursor
