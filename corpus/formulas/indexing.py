"""The database index of formulas by visual id, which is missing while the first formulas are imported.

Maintaining it takes a third of the time of each row; building it at the end takes a tenth of that. If some collection
has formulas already, the index stays, because pages would take minutes without it.
"""

from django.db import connection, models, transaction

from corpus.models import Formula

NAME = "formula_visual"


def drop_if_empty() -> None:
    """Drop the index if there are no formulas at all."""
    with transaction.atomic():
        if not Formula.objects.exists() and _exists():
            with connection.schema_editor() as editor:
                editor.remove_index(Formula, _index())


def ensure() -> None:
    """Build the index if it is missing. Two imports may end at the same time, so this takes a lock."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [NAME])
        if not _exists():
            with connection.schema_editor() as editor:
                editor.add_index(Formula, _index())


def _exists() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [NAME])
        return bool(cursor.fetchone()[0])


def _index() -> models.Index:
    index: models.Index = next(index for index in Formula._meta.indexes if index.name == NAME)
    return index
