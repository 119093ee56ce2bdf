"""The index by visual id, which an import into an empty table goes without: it takes a third of the time of each row.

Built at the end from all rows at once, it takes a tenth. Where some collection has formulas already it stays: readers
need it, and what is left out of a page for lack of it would be minutes.
"""

from django.db import connection, models, transaction

from corpus.models import Formula

NAME = "formula_visual"


def leave_while_empty() -> None:
    """Take the index away if there is no formula at all."""
    with transaction.atomic():
        if not Formula.objects.exists() and _is_there():
            with connection.schema_editor() as editor:
                editor.remove_index(Formula, _index())


def ensure() -> None:
    """Build the index if it is not there. Doing it again is harmless."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtext(%s))", [NAME]
            )  # two imports may end at once
        if not _is_there():
            with connection.schema_editor() as editor:
                editor.add_index(Formula, _index())


def _is_there() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [NAME])
        return bool(cursor.fetchone()[0])


def _index() -> models.Index:
    found: models.Index = next(index for index in Formula._meta.indexes if index.name == NAME)
    return found
