"""`manage.py prepare` says how to get the first account."""

from io import StringIO

import pytest
from django.core.management import call_command

from tests.helpers.factories import make_organizer, make_user


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
