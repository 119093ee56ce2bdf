"""The view of an administrator on a running site: metrics, log lines with the ids of requests, and the access log."""

import gzip
import http.server
import json
import logging
import math
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import brotli
import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from accounts.models import Letter
from assay.version import VERSION
from config.monitoring import metrics
from config.monitoring.requests import AccessLogMiddleware
from jobs import liveness
from jobs import services as jobs
from jobs.models import Job
from server import paths
from tests.helpers.factories import make_collection, make_organizer, make_track
from web import logs
from web.caches import ForgivingRedisCache

pytestmark = pytest.mark.django_db
TOKEN = "a-token-for-the-metrics"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def watched(settings: Any, tmp_path: Path) -> Iterator[Client]:
    """A client of a site whose metrics are on."""
    settings.METRICS_TOKEN, settings.METRICS_DIR = TOKEN, tmp_path
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[:2],
        "config.monitoring.metrics.MetricsMiddleware",
        *settings.MIDDLEWARE[2:],
    ]
    yield from _with_own_recorder()


def _with_own_recorder() -> Iterator[Client]:
    from prometheus_client import values

    earlier = values.ValueClass
    metrics.recorder.cache_clear()
    metrics._slots.clear()
    yield Client(raise_request_exception=False)
    metrics.recorder.cache_clear()
    metrics._slots.clear()
    values.ValueClass = earlier


def figures(client: Client) -> dict[tuple[str, ...], float]:
    """The samples of the metrics: by name, and the values of their labels."""
    answer = client.get("/metrics", headers=BEARER)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (each.name, *dict(sorted(each.labels.items())).values()): each.value
        for family in families
        for each in family.samples
    }


def test_requests_are_counted_by_view_and_status_but_not_by_address(watched: Client) -> None:
    track = make_track()
    for path in (track.get_absolute_url(), track.get_absolute_url(), "/tracks/none/", "/nowhere/", "/also/"):
        watched.get(path)

    counted = figures(watched)

    assert counted["assay_requests_total", "GET", "200", "tracks:track"] == 2
    assert counted["assay_requests_total", "GET", "404", "tracks:track"] == 1
    assert counted["assay_requests_total", "GET", "404", "none"] == 2
    assert counted["assay_request_seconds_count", "tracks:track"] == 3
    assert not any("nowhere" in "".join(key) for key in counted)


def test_a_process_continues_the_files_of_one_that_has_ended(watched: Client, tmp_path: Path) -> None:
    """Two processes at a time have two slots; the third gets a free one, so the number of files stays the same.

    What is off is not imported.
    """
    script = (
        "import os, sys, django; from pathlib import Path; django.setup(); import config.urls\n"
        "assert not {'config.monitoring.traces', 'prometheus_client', 'sentry_sdk', 'allauth'} & set(sys.modules)\n"
        "from config.monitoring.metrics import Recorder\n"
        "for _ in range(2):\n"
        "    if not os.fork():\n"
        "        Recorder(Path(sys.argv[1])).count('GET', 'home', 200, 0.1)\n"
        "        os._exit(0)\n"
        "    assert os.wait()[1] == 0\n"
    )
    watched.get("/")
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=paths.ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        check=True,
    )

    assert figures(watched)["assay_requests_total", "GET", "200", "home"] == 3
    assert sorted(path.name for path in tmp_path.glob("counter_*")) == ["counter_1.db", "counter_2.db"]


def test_jobs_judgments_backups_and_health_are_read_from_the_database(
    watched: Client, settings: Any, scene_jobs: list[Job]
) -> None:
    settings.BACKUP_DIR = "/backups"
    Letter.objects.bulk_create(
        Letter(kind="accounts.links", data={}, due_at=due, sent_at=sent, error=error)
        for due, sent, error in [
            (timezone.now(), None, ""),
            *[(timezone.now(), None, "OSError: down")] * 2,
            (None, None, "OSError: down"),
            (None, timezone.now(), ""),
        ]
    )

    read = figures(watched)

    assert (read["assay_jobs", "queued"], read["assay_jobs", "running"]) == (1, 0)
    assert 3600 <= read["assay_oldest_queued_job_seconds",] < 3700
    assert read["assay_finished_jobs", "jobs.backup", "done"] == 1
    assert read["assay_finished_jobs_seconds", "jobs.backup", "done"] == 60
    assert 7200 <= read["assay_backup_age_seconds",] < 7300
    assert (read["assay_backup_scheduled",], read["assay_backup_failed",]) == (1, 1)
    assert (read["assay_judgments_total",], read["assay_healthy",]) == (0, 1)
    assert [read["assay_letters", state] for state in ("waiting", "failing", "given_up")] == [1, 2, 1]


def test_redis_clock_worker_and_version_are_in_the_metrics_and_each_metric_is_on_the_page(
    watched: Client, scene_jobs: list[Job], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BACKUP_DIR = "/backups"
    cache.set(liveness.CLOCK, time.time() - 30)
    cache.set(liveness.WORKER, time.time() - 600)
    watched.get("/")

    read = figures(watched)
    monkeypatch.setattr(ForgivingRedisCache, "_silent_until", math.inf)
    away = figures(watched)

    assert (read["assay_redis_answers",], away["assay_redis_answers",]) == (1, 0)
    assert 30 <= read["assay_clock_seconds",] < 60
    assert 600 <= read["assay_worker_seconds",] < 660
    assert read["assay_info", VERSION] == 1
    assert not {("assay_clock_seconds",), ("assay_worker_seconds",)} & away.keys()
    described = set(
        re.findall(r"^\| `(assay_\w+)`", (paths.ROOT / "docs/howto/monitor.md").read_text(), re.MULTILINE)
    )
    parts = re.compile(r"_(count|sum|bucket|created)$")
    assert {parts.sub("", name) for name, *_ in read} == described


@pytest.fixture
def scene_jobs(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """A job that has waited for an hour, a good backup two hours ago, and a failed one since."""
    now = timezone.now()

    def job(state: str, **fields: Any) -> Job:
        made = Job.objects.create(kind="jobs.backup", title="Scheduled backup", state=state)
        Job.objects.filter(pk=made.pk).update(**fields)
        return made

    ended = now - timedelta(hours=2)
    return [
        job("queued", queued_at=now - timedelta(hours=1)),
        job("done", started_at=ended - timedelta(minutes=1), finished_at=ended),
        job("failed", started_at=now, finished_at=now),
    ]


def test_metrics_need_the_token_or_an_allowed_address(watched: Client, settings: Any) -> None:
    wrong = {"Authorization": "Bearer another"}
    refused = [watched.get("/metrics"), watched.get("/metrics", headers=wrong)]
    settings.METRICS_ALLOWED = (ip_network("10.1.0.0/16"),)
    near = watched.get("/metrics", REMOTE_ADDR="10.1.2.3", headers={"Host": "web:8000"})
    far = watched.get("/metrics", REMOTE_ADDR="10.2.2.3")
    settings.METRICS_TOKEN = ""
    without = watched.get("/metrics", headers={"Authorization": "Bearer "})

    assert [answer.status_code for answer in (*refused, near, far, without)] == [403, 403, 200, 403, 403]
    assert b"METRICS_TOKEN" in far.content


@pytest.mark.parametrize(
    ("trusted", "headers", "status"),
    [
        ((), {}, 200),
        ((), {"X-Forwarded-For": "198.51.100.7"}, 403),
        ((), {"X-Forwarded-For": "127.0.0.1, 198.51.100.7"}, 403),
        ((), {"Forwarded": "for=198.51.100.7"}, 403),
        (1, {"Forwarded": "for=198.51.100.7"}, 403),
        (1, {"X-Forwarded-For": "198.51.100.7"}, 403),
        (1, {"X-Forwarded-For": "127.0.0.1"}, 200),
        (2, {"X-Forwarded-For": "127.0.0.1, 10.0.0.9"}, 200),
        ((ip_network("10.0.0.0/8"),), {"X-Forwarded-For": "127.0.0.1, 198.51.100.7"}, 403),
    ],
)
def test_proxy_on_the_machine_opens_no_metrics_to_everybody(
    trusted: Any, headers: dict[str, str], status: int, watched: Client, settings: Any
) -> None:
    """127.0.0.1 is then also the address from which the proxy asks."""
    settings.METRICS_ALLOWED, settings.TRUSTED_PROXIES = (ip_network("127.0.0.0/8"),), trusted

    answer = watched.get("/metrics", headers=headers)

    assert answer.status_code == status


def test_metrics_are_off_by_default_and_then_cost_nothing(client: Client) -> None:
    assert client.get("/metrics").status_code == 404
    assert not any("monitoring" in each for each in django_settings.MIDDLEWARE)


@pytest.fixture
def log() -> Iterator[list[str]]:
    """The lines that a site with JSON logs and an access log writes."""
    lines: list[str] = []
    formatter = logs.JsonFormatter()

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(formatter.format(record))

    handler = Lines()
    handler.addFilter(logs.RouteFilter())
    root = logging.getLogger()
    access, jobs_log = logging.getLogger("assay.access"), logging.getLogger("jobs")
    root.addHandler(handler)
    jobs_log.setLevel(logging.INFO)
    yield lines
    root.removeHandler(handler)
    jobs_log.setLevel(logging.NOTSET)
    assert access.level == logging.INFO


@pytest.fixture
def logged(settings: Any) -> Client:
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[:2],
        "config.monitoring.requests.AccessLogMiddleware",
        *settings.MIDDLEWARE[2:],
    ]
    return Client(raise_request_exception=False)


def test_access_log_has_one_line_for_each_request(logged: Client, log: list[str]) -> None:
    organizer, track = make_organizer(), make_track()
    visit = logged.get(track.get_absolute_url())
    logged.force_login(organizer)
    logged.get("/account/")

    first, second = map(json.loads, log)

    assert first.keys() == {
        *("time", "level", "logger", "message", "request_id"),
        *("method", "route", "status", "seconds", "user", "bytes"),
    }
    assert (first["method"], first["route"], first["status"]) == ("GET", "/tracks/<slug:slug>/", 200)
    assert (first["user"], first["bytes"]) == (None, len(visit.content))
    assert first["request_id"] == visit["X-Request-ID"]
    assert second["user"] == organizer.pk


def test_a_streamed_response_is_logged_when_it_was_sent(log: list[str], rf: Any) -> None:
    middleware = AccessLogMiddleware(lambda _: StreamingHttpResponse(iter([b"one", b"four"])))
    with logs.working_for("the-id-of-a-request"):
        answer = middleware(rf.get("/nowhere/"))

    assert log == []
    assert b"".join(answer) == b"onefour"
    (line,) = map(json.loads, log)
    assert (line["bytes"], line["request_id"]) == (7, "the-id-of-a-request")


def test_no_secret_of_an_address_or_header_is_logged(
    logged: Client, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the access log nor in what Django logs of a failed request."""
    token = "assay_" + "x" * 40

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"with {token}")

    monkeypatch.setattr("accounts.views.services.user_of_link", fail)
    answer = logged.get("/login/link/7/secret-of-the-link/", headers={"Authorization": f"Bearer {token}"})
    logged.get("/login/link/7/secret-of-the-link”/")  # copied with its quotation mark, which Django escapes
    logged.get("/nowhere/secret-of-the-link/")

    assert answer.status_code == 500
    assert "Internal Server Error: /login/link/<int:user_id>/<str:token>/" in "".join(log)
    assert "secret-of-the-link" not in "".join(log)
    assert token not in "".join(log)


def test_a_job_logs_under_the_id_of_the_request_that_asked_for_it(
    client: Client, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_handlers", dict(jobs._handlers))
    jobs.handler("tests.work")(lambda progress: {})
    with logs.working_for("the-id-of-a-request"):
        job = jobs.request(kind="tests.work", title="Work", arguments={}, by=None, subject=make_collection())

    jobs.run(job.pk)

    (line,) = map(json.loads, log)
    assert (line["message"], line["request_id"]) == (
        f"job {job.pk} (tests.work) is done",
        "the-id-of-a-request",
    )


@pytest.mark.parametrize(
    ("trusted", "named", "is_kept"),
    [
        (1, "id-of-the-proxy", True),
        (0, "id-of-the-proxy", False),
        (1, "x y\nforged", False),
        (1, "short", False),
    ],
)
def test_only_a_trusted_proxy_may_name_a_request(
    client: Client, settings: Any, trusted: int, named: str, is_kept: bool
) -> None:
    settings.TRUSTED_PROXIES = trusted

    answer = client.get("/", headers={"X-Request-ID": named})["X-Request-ID"]

    assert (answer == named) == is_kept
    assert is_kept or re.fullmatch("[0-9a-f]{32}", answer)


class Received(http.server.BaseHTTPRequestHandler):
    """A receiver of events and spans, which keeps what arrives."""

    bodies: queue.Queue[tuple[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        unpack = {"gzip": gzip.decompress, "br": brotli.decompress}.get(
            self.headers.get("Content-Encoding"), bytes
        )
        self.bodies.put((self.path, unpack(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@pytest.fixture
def receiver() -> Iterator[tuple[str, "queue.Queue[tuple[str, bytes]]"]]:
    """The address of a receiver on this machine, and what it has received."""
    bodies: queue.Queue[tuple[str, bytes]] = queue.Queue()
    handler = type("Handler", (Received,), {"bodies": bodies})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    server.server_close()
    thread.join()


OBSERVED = """
import django
django.setup()
from django.test import Client
from django.conf import settings
import accounts.views

def fail(**_):
    name = "grace@example.org"
    raise RuntimeError(f"{name} cannot be found")

accounts.views.services.user_of_link = fail
answer = Client(raise_request_exception=False, HTTP_HOST="localhost").get(
    "/login/link/7/secret-of-the-link/?q=grace", headers={"Authorization": "Bearer assay_secret-token"})
print(answer.status_code, answer["X-Request-ID"])
"""


def test_an_error_and_a_span_arrive_without_addresses_and_values(
    receiver: tuple[str, "queue.Queue[tuple[str, bytes]]"],
) -> None:
    """One process with both settings, against a receiver on this machine."""
    address, bodies = receiver
    own = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SENTRY_DSN": f"http://key@{address}/1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}",
    }
    done = subprocess.run(
        [sys.executable, "-c", OBSERVED],
        cwd=paths.ROOT,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=True,
    )
    status, identity = done.stdout.split()

    arrived = dict(bodies.get_nowait() for _ in range(bodies.qsize()))

    assert status == "500"
    assert sorted(arrived) == ["/api/1/envelope/", "/v1/traces"]
    for body in arrived.values():
        assert identity.encode() in body
        assert b"/login/link/<int:user_id>/<str:token>/" in body
        for secret in (b"grace", b"secret-of", b"assay_secret", b"127.0.0.1"):
            assert secret not in body
    event = json.loads(arrived["/api/1/envelope/"].splitlines()[-1])
    (error,) = event["exception"]["values"]
    assert (error["type"], error["stacktrace"]["frames"][-1]["function"]) == ("RuntimeError", "fail")
