"""The migrations match the models."""

from io import StringIO

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_no_model_changed_without_a_migration() -> None:
    output = StringIO()

    call_command("makemigrations", check=True, dry_run=True, stdout=output)  # exits if there are changes

    assert output.getvalue().strip() == "No changes detected"
