"""`manage.py prepare` says how to get the first account."""

from io import StringIO

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db.migrations.loader import MigrationLoader

from tests.helpers.factories import make_organizer, make_user
from web.first_migrations import FirstMigration


@pytest.mark.django_db
def test_site_without_an_organizer_says_how_to_create_one() -> None:
    make_user()
    before, after = StringIO(), StringIO()

    call_command("prepare", no_static=True, stdout=before)
    make_organizer()
    call_command("prepare", no_static=True, stdout=after)

    assert "There is no organizer yet. Create the first with `manage.py createsuperuser`" in before.getvalue()
    assert after.getvalue() == ""


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
