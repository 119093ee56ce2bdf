"""A reversed migration does not drop data."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.db.migrations import Migration, RunSQL
from django.db.migrations import operations as ops
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from accounts.models import User
from config import reversals
from tests.helpers.factories import make_collection, make_track, make_user

DESTRUCTIVE = re.compile(r"\b(DROP (TABLE|COLUMN)|DELETE FROM|TRUNCATE)\b", re.IGNORECASE)

# Its SQL deletes votes that no longer count, because an earlier job counted them.
KNOWN = {"corpus.0002_short_imports"}


@pytest.mark.django_db
def test_migrate_refuses_to_drop_a_table_with_rows_and_changes_nothing() -> None:
    make_track()
    before = MigrationRecorder(connection).applied_migrations().keys()

    with pytest.raises(CommandError, match=r"tracks\.0001_initial drops the table tracks_track"):
        call_command("migrate", "tracks", "zero", verbosity=0)

    assert MigrationRecorder(connection).applied_migrations().keys() == before
    assert apps.get_model("tracks", "Track").objects.exists()


def losses(*operations: Any, app: str = "accounts") -> list[str]:
    migration = Migration("0009_new", app)
    migration.operations = list(operations)
    return list(reversals.losses([migration], apps=apps, using="default"))


@pytest.mark.django_db
def test_column_with_values_other_than_its_default_is_data() -> None:
    column = ops.AddField("User", "first_name", models.CharField(default=""))
    assert losses(column) == []
    user = make_user()
    assert losses(column) == []
    assert losses(ops.AddField("User", "is_staff", models.BooleanField(default=False))) == []

    User.objects.filter(pk=user.pk).update(first_name="Ada", is_staff=True)

    assert losses(column) == ["accounts.0009_new drops accounts_user.first_name"]
    assert losses(ops.AddField("User", "last_login", models.DateTimeField(null=True))) == []


@pytest.mark.django_db
def test_what_later_migrations_renamed_or_removed_is_known() -> None:
    make_collection("math")
    created = ops.CreateModel("Library", [])

    renamed = losses(created, ops.RenameModel("Library", "Collection"), app="corpus")
    renamed_field = losses(
        ops.AddField("Collection", "label", models.SlugField()),
        ops.RenameField("Collection", "label", "slug"),
        app="corpus",
    )

    assert renamed == ["corpus.0009_new drops the table corpus_collection"]
    assert renamed_field == ["corpus.0009_new drops corpus_collection.slug"]
    assert losses(created, app="corpus") == []  # deleted later, with its rows
    hidden = ops.SeparateDatabaseAndState(database_operations=[ops.CreateModel("Collection", [])])
    assert losses(hidden, app="corpus") == ["corpus.0009_new drops the table corpus_collection"]


@pytest.mark.django_db
def test_no_statement_of_a_migration_drops_data_when_it_is_reversed() -> None:
    """The check sees operations on models. SQL it cannot see, so our SQL does not do this."""
    nodes = MigrationLoader(connection).disk_migrations.values()
    statements = [
        (str(migration), str(operation.reverse_sql))
        for migration in nodes
        for operation in migration.operations
        if isinstance(operation, RunSQL) and str(migration) not in KNOWN
    ]

    assert statements
    assert [each for each in statements if DESTRUCTIVE.search(each[1])] == []
