"""`manage.py prepare` states how to get the first account."""

from io import StringIO

import psycopg2
import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from config.management.commands import prepare
from tests.helpers.factories import make_organizer, make_user
from web.first_migrations import FirstMigration


@pytest.mark.django_db
def test_site_without_an_organizer_says_how_to_create_one() -> None:
    make_user()
    before, after = StringIO(), StringIO()

    call_command("prepare", no_static=True, stdout=before)
    make_organizer()
    call_command("prepare", no_static=True, stdout=after)

    assert (
        "There is no administrator yet. Create the first with `manage.py createsuperuser`"
        in before.getvalue()
    )
    assert after.getvalue() == ""


@pytest.mark.django_db
def test_two_processes_that_prepare_a_database_wait_for_each_other() -> None:
    connection.ensure_connection()
    other = psycopg2.connect(connection.connection.dsn)
    with other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [prepare.LOCK])
        with transaction.atomic(), connection.cursor() as own:
            own.execute("SET LOCAL lock_timeout = '50ms'")
            with pytest.raises(OperationalError, match="lock timeout"), transaction.atomic():
                call_command("prepare", no_static=True)
    other.close()

    call_command("prepare", no_static=True, stdout=StringIO())


@pytest.mark.django_db
def test_no_model_changed_without_a_migration() -> None:
    output = StringIO()

    call_command("makemigrations", check=True, dry_run=True, stdout=output)  # exits if there are changes

    assert output.getvalue().strip() == "No changes detected"


def test_first_migration_of_each_app_creates_its_models_together() -> None:
    migrations = MigrationLoader(None).disk_migrations

    first = {
        app: migrations[app, "0001_initial"]
        for app in settings.OWN_APPS
        if (app, "0001_initial") in migrations
    }

    assert {app for app in settings.OWN_APPS if list(apps.get_app_config(app).get_models())} == set(first)
    assert all(isinstance(migration, FirstMigration) for migration in first.values())
