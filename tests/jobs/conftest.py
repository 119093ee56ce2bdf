"""Handlers of jobs are registered when their modules are imported, which must not happen while a test replaces them."""

import pytest
from django.urls import get_resolver


@pytest.fixture(autouse=True, scope="session")
def _handlers_are_registered() -> None:
    get_resolver().url_patterns  # noqa: B018 - imports all views, and with them the handlers
