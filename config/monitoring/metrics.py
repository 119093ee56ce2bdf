"""The metrics of the site, in the text format of Prometheus. `docs/howto/monitor.md` has a table of them.

Each web process counts its requests in files, and whichever process is asked adds up the files of all. A process takes
the first slot that no other process holds, by a lock that the kernel releases when it ends, and continues the files of
that slot. So there are as many files as processes, although each process ends after some thousand requests. All other
figures are read from the database when somebody asks, because the rows are the truth (ADR 3). Decision: ADR 66.
"""

import fcntl
import hmac
import itertools
import os
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from accounts.mail import letters
from assay.version import VERSION
from assessment.judgments.selectors import last_number
from config.middleware import Middleware, client_address
from config.monitoring.requests import method_of
from home.health import health
from jobs import selectors
from jobs.backups.schedule import last_backup
from jobs.liveness import liveness
from web.throttling import parsed_address

PATH = "/metrics"
SET_BY_PROXIES = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_FORWARDED",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_REAL_IP",
    "HTTP_VIA",
)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)  # of requests: bounds of the histogram
_slots: dict[int, str] = {}


class MetricsMiddleware(Middleware):
    """Counts and measures requests, and gives the metrics to those who may read them.

    It answers before the host name is checked, because Prometheus asks each machine by an address of its own.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == PATH:
            # The metrics. Who has the token or an allowed address may read them
            if _may_read(request):
                return HttpResponse(recorder().text(), content_type=CONTENT_TYPE)
            refusal = "Send the token of METRICS_TOKEN (Authorization: Bearer TOKEN), or ask from METRICS_ALLOWED.\n"
            return HttpResponse(refusal, status=403, content_type="text/plain; charset=utf-8")
        begun = time.monotonic()
        response = self.get_response(request)
        match = request.resolver_match
        view = (match.view_name if match else "") or "none"
        recorder().count(method_of(request), view, response.status_code, time.monotonic() - begun)
        return response


def _may_read(request: HttpRequest) -> bool:
    given = request.META.get("HTTP_AUTHORIZATION", "").encode()
    if settings.METRICS_TOKEN and hmac.compare_digest(given, f"Bearer {settings.METRICS_TOKEN}".encode()):
        return True
    address = parsed_address(request.META.get("REMOTE_ADDR", ""))
    is_allowed = address is not None and any(address in network for network in settings.METRICS_ALLOWED)
    return is_allowed and _is_address_of_client(request)


def _is_address_of_client(request: HttpRequest) -> bool:
    """False if `REMOTE_ADDR` is that of a proxy that is not trusted, which passes on requests of anybody."""
    if not any(header in request.META for header in SET_BY_PROXIES):
        return True
    rest, _, nearest = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")
    trusted, address = settings.TRUSTED_PROXIES, parsed_address(nearest)
    if not trusted or address is None:
        return False
    before = trusted - 1 if isinstance(trusted, int) else trusted
    client: str = request.META["REMOTE_ADDR"]
    return client_address(str(address), rest, before) == client


class Recorder:
    """The counts of this process, in the files of its slot, and the sum over all processes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ[FOLDER_VARIABLE] = str(folder)  # the package reads nothing else
        values.ValueClass = values.MultiProcessValue(lambda: _slot_in(folder))
        self.folder = folder
        self.requests = Counter(
            "assay_requests", "Requests that were answered.", ["method", "view", "status"], registry=None
        )
        self.seconds = Histogram(
            "assay_request_seconds",
            "Time until the response was made.",
            ["view"],
            registry=None,
            buckets=SECONDS,
        )

    def count(self, method: str, view: str, status: int, seconds: float) -> None:
        self.requests.labels(method, view, str(status)).inc()
        self.seconds.labels(view).observe(seconds)

    def text(self) -> bytes:
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=str(self.folder))
        registry.register(SiteFigures())
        text: bytes = generate_latest(registry)
        return text


@lru_cache(maxsize=1)
def recorder() -> Recorder:
    """The recorder of this process."""
    return Recorder(settings.METRICS_DIR)


def _slot_in(folder: Path) -> str:
    """The slot of this process: the first whose lock is free. Its handle stays open as long as the process lives."""
    if os.getpid() not in _slots:
        for number in itertools.count(1):
            handle = os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            _slots[os.getpid()] = str(number)
            break
    return _slots[os.getpid()]


class SiteFigures:
    """The figures of the whole site, read from its database. If that does not answer, only its health is there."""

    def collect(self) -> Iterable[Metric]:
        problem = health.problem()
        yield _gauge(
            "assay_healthy", "1 if the database can write and files can be stored, otherwise 0.", not problem
        )
        there = liveness()
        yield _gauge("assay_redis_answers", "1 if Redis answers, otherwise 0.", there.has_cache)
        if there.clock is not None:
            yield _gauge("assay_clock_seconds", "Time since the clock (beat) was last alive.", there.clock)
        if there.worker is not None:
            yield _gauge(
                "assay_worker_seconds", "Time since any worker took a task of the clock.", there.worker
            )
        yield _labeled("assay_info", "The version, as a label.", ["version"], [((VERSION,), 1)])
        if not problem:
            queue = selectors.queue_figures()
            waiting = [((state,), figures.n) for state, figures in queue.items()]
            yield _labeled("assay_jobs", "Jobs that are not finished.", ["state"], waiting)
            yield _gauge(
                "assay_oldest_queued_job_seconds",
                "For how long the oldest queued job has been waiting.",
                queue["queued"].seconds,
            )
            finished = selectors.finished_figures()
            labels = ["kind", "result"]
            counts = [((row.kind, row.state), row.n) for row in finished]
            times = [((row.kind, row.state), row.seconds) for row in finished]
            yield _labeled("assay_finished_jobs", "Jobs that have finished.", labels, counts)
            yield _labeled(
                "assay_finished_jobs_seconds",
                "Time from the start of these jobs to their end.",
                labels,
                times,
            )
            yield CounterMetricFamily(
                "assay_judgments", "Judgments stored, by the number of the last one.", last_number()
            )
            mails = [((state,), n) for state, n in letters.figures().items()]
            yield _labeled("assay_letters", "E-mails that are not sent.", ["state"], mails)
            last = last_backup()
            yield _gauge(
                "assay_backup_scheduled", "1 if backups are made on a schedule.", bool(settings.BACKUP_DIR)
            )
            if last.seconds is not None:
                yield _gauge(
                    "assay_backup_age_seconds", "Age of the last good scheduled backup.", last.seconds
                )
            yield _gauge(
                "assay_backup_failed",
                "1 if a scheduled backup has failed since the last good one.",
                last.has_failed,
            )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value)


def _labeled(
    name: str, text: str, labels: list[str], values_by_label: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values_by_label:
        family.add_metric(key, value)
    return family
