"""Handlers of jobs are registered when their modules are imported, which must not happen while a test replaces them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import get_resolver

from tests.helpers import s3


@pytest.fixture(autouse=True, scope="session")
def _handlers_are_registered() -> None:
    get_resolver().url_patterns  # noqa: B018 - imports all views, and with them the handlers


@pytest.fixture
def service(tmp_path: Path) -> Iterator[s3.Service]:
    """A real S3-compatible service."""
    running = s3.start(tmp_path / "objects")
    yield running
    running.stop()
