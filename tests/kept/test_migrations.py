"""Migrations of releases stay as they are: backups made with another content of one are refused."""

import pytest
from django.db.migrations.loader import MigrationLoader

from jobs.backups.states import files_of
from tests.helpers import kept


def test_migrations_are_not_edited() -> None:
    pytest.importorskip("assay_extensions.machines")
    kept.check("migrations.json", files_of(MigrationLoader(None).disk_migrations))
