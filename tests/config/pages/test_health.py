"""The health check of the web process."""

import logging
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from config.pages.health import READ_ONLY, UNREACHABLE, health


@pytest.fixture(autouse=True)
def _no_earlier_result(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(health, "_until", 0.0)
    yield
    health._problem, health._until = "", 0.0


@pytest.mark.django_db
def test_web_process_with_a_database_is_healthy_and_leaves_nothing_in_it(client: Client) -> None:
    assert client.get("/health/").json() == {"status": "ok"}
    assert "health_probe" not in connection.introspection.table_names()


@pytest.fixture
def read_only(transactional_db: None) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        yield
        cursor.execute("SET default_transaction_read_only = off")


def test_database_that_cannot_write_is_reported_with_one_line_in_the_log(
    client: Client, read_only: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        responses = [client.get("/health/") for _ in range(3)]
        health._until = 0.0
        responses.append(client.get("/health/"))

    assert {(response.status_code, response.json()["status"]) for response in responses} == {(503, READ_ONLY)}
    assert [record.getMessage() for record in caplog.records] == [f"health: {READ_ONLY}"]


@pytest.mark.django_db
def test_database_that_is_away_is_reported(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")

    response = client.get("/health/")

    assert (response.status_code, response.json()["status"]) == (503, UNREACHABLE)
