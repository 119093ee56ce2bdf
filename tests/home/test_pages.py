"""The frame of every page: the link to the documentation, error pages, the look of the admin, the home page."""

import logging
import math
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from assay.version import VERSION
from config.celery import app
from home import documentation
from home.health import NO_STORAGE, NO_TABLES, READ_ONLY, UNREACHABLE, health
from jobs import liveness
from jobs.watchdog import WatchedScheduler
from tests.helpers.factories import make_collection, make_organizer, make_track, make_user
from tests.helpers.templates import templates
from web.caches import ForgivingRedisCache


@pytest.mark.django_db
def test_refused_page_of_a_track_leads_to_its_organizers(client: Client) -> None:
    make_track("arq", status="open")
    client.force_login(make_user("pat"))

    refused = client.get(reverse("tracks:deadlines", args=["arq"]))
    of_no_track = client.get(reverse("corpus:start_import")).content.decode()

    assert refused.status_code == 403
    assert f'href="{reverse("tracks:track", args=["arq"])}"' in refused.content.decode()
    assert "ask an organizer to change your role" in of_no_track


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "page"),
    [("home", "/help/index.html"), ("corpus:start_import", "/help/howto/import-a-collection.html")],
)
def test_help_leads_to_the_documentation_of_the_page(client: Client, name: str, page: str) -> None:
    client.force_login(make_organizer())

    text = client.get(reverse(name)).content.decode()

    assert f'href="{page}"' in text


@pytest.mark.django_db
def test_help_leads_to_the_section_of_the_page(client: Client) -> None:
    track = make_track("arq")
    client.force_login(make_organizer())

    text = client.get(reverse("pooling:runs", args=[track.slug])).content.decode()

    assert 'href="/help/roles/participant.html#submit-a-run"' in text


@pytest.mark.django_db
def test_missing_page_has_a_help_link_too(client: Client) -> None:
    response = client.get("/nowhere/")

    assert response.status_code == 404
    assert 'href="/help/index.html"' in response.content.decode()


@pytest.mark.django_db
def test_everyone_reads_the_documentation(client: Client, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path)
    (tmp_path / "index.html").write_text("<h1>Assay</h1>")

    assert client.get("/help/").content == b"<h1>Assay</h1>"
    assert client.get("/help/index.html").content == b"<h1>Assay</h1>"
    assert client.get("/help/missing.html").status_code == 404


@pytest.mark.django_db
def test_missing_documentation_names_the_command_that_builds_it(
    client: Client, tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path)

    response = client.get("/help/")

    assert response.status_code == 404
    assert "make docs" in response.content.decode()


@pytest.mark.parametrize("name", ["400", "500"])
def test_error_page_needs_no_request_and_no_database(name: str) -> None:
    text = render_to_string(f"{name}.html")

    assert "config/base.css" in text
    assert 'class="site-head"' in text


@pytest.mark.django_db
def test_server_error_is_styled_like_the_other_pages(client: Client, monkeypatch: Any) -> None:
    def fail(user: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("home.landing.listed_tracks", fail)
    client.raise_request_exception = False

    response = client.get("/")

    assert response.status_code == 500
    assert "<h1>Server error</h1>" in response.content.decode()


@pytest.mark.django_db
def test_admin_has_the_look_of_the_product(client: Client) -> None:
    client.force_login(make_organizer())

    text = client.get("/admin/").content.decode()

    assert re.search(r"config/admin[.\w]*\.css", text)
    assert re.search(r"config/icon[.\w]*\.svg", text)
    assert 'href="/help/' in text
    assert not re.search(r"<style|\sstyle=", text)


@pytest.mark.django_db
def test_organizer_without_tracks_reads_how_to_begin(client: Client) -> None:
    """The first step is filled: a collection, then a track."""
    client.force_login(make_organizer())
    first = client.get("/").content.decode()
    make_collection()
    second = client.get("/").content.decode()

    filled = [re.findall(r'btn btn-primary"[^>]*>\s*([^<]*)<', page) for page in (first, second)]
    assert filled == [["Import a collection"], ["Create a track"]]


@pytest.mark.django_db
def test_stranger_without_tracks_waits_for_the_organizers(client: Client) -> None:
    client.force_login(make_user("sam"))

    text = client.get("/").content.decode()

    assert "No tracks yet" in text
    assert "Create a track" not in text


def test_comments_of_templates_end_on_their_line() -> None:
    """Django prints a comment of several lines between `{#` and `#}` on the page."""
    unfinished = [
        f"{path}: {line}"
        for path in templates()
        for line in path.read_text().splitlines()
        if line.count("{#") != line.count("#}")
    ]

    assert unfinished == []


@pytest.fixture(autouse=True)
def _no_earlier_result(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(health, "_until", 0.0)
    yield
    health._problem, health._until = "", 0.0


@pytest.mark.django_db
def test_web_process_with_a_database_is_healthy_and_leaves_nothing_in_it(client: Client) -> None:
    assert client.get("/health/").json()["status"] == "ok"
    assert "health_probe" not in connection.introspection.table_names()


@pytest.mark.django_db
def test_health_names_the_version_and_what_is_away_while_pages_work(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    silent = client.get("/health/")
    WatchedScheduler(app=app).tick()
    app.loader.import_default_modules()
    app.tasks["jobs.tasks.relaunch_lost_jobs"].run()
    health._until = 0.0
    alive = client.get("/health/").json()
    for part, seconds in (
        (liveness.CLOCK, liveness.CLOCK_SECONDS),
        (liveness.WORKER, liveness.WORKER_SECONDS),
    ):
        cache.set(part, time.time() - seconds - 1)
    health._until = 0.0
    dead = client.get("/health/").json()
    monkeypatch.setattr(ForgivingRedisCache, "_silent_until", math.inf)
    health._until = 0.0
    away = client.get("/health/").json()

    assert (silent.status_code, silent.json()["version"]) == (200, VERSION)
    assert alive == {"status": "ok", "version": VERSION, "redis": "ok", "clock": "ok", "worker": "ok"}
    for answer in (silent.json(), dead):
        assert answer["redis"] == "ok"
        assert (answer["clock"], answer["worker"]) == (liveness.NO_CLOCK, liveness.NO_WORKER)
    assert away["redis"] == liveness.NO_CACHE


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
def test_database_without_tables_is_reported(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_user RENAME TO lost")

    response = client.get("/health/")

    assert (response.status_code, response.json()["status"]) == (503, NO_TABLES)


@pytest.mark.django_db
def test_storage_that_is_gone_is_reported(client: Client, settings: LazySettings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = str(tmp_path / "files")
    assert client.get("/health/").json()["status"] == "ok"
    shutil.rmtree(tmp_path / "files")
    (tmp_path / "files").write_bytes(b"a file where the folder was")
    health._until = 0.0

    response = client.get("/health/")

    assert (response.status_code, response.json()["status"]) == (503, NO_STORAGE)


@pytest.mark.django_db
def test_pages_and_api_ask_to_try_again_while_the_database_is_away(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
    client.raise_request_exception = False

    page, answer = (
        client.get("/"),
        client.get("/api/v1/tracks/", headers={"Authorization": "Bearer x"}),
    )

    assert (page.status_code, page["Retry-After"]) == (503, "30")
    assert "The database does not answer." in page.text
    assert (answer.status_code, answer["Retry-After"], answer.json()["code"]) == (503, "30", "unavailable")


@pytest.mark.django_db
def test_database_that_is_away_is_reported(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")

    response = client.get("/health/")

    assert (response.status_code, response.json()["status"]) == (503, UNREACHABLE)
