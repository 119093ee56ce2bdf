"""The migrations say what the models say."""

from io import StringIO

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_no_model_changed_without_a_migration() -> None:
    said = StringIO()

    call_command(
        "makemigrations", check=True, dry_run=True, stdout=said
    )  # ends the process if there are some

    assert said.getvalue().strip() == "No changes detected"
