"""Fixtures of all tests. `tests.servers` starts the PostgreSQL and the Redis that they use."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.signals import request_finished, request_started
from django.db import connection, connections, transaction
from django.db.backends.signals import connection_created
from django.db.migrations.executor import MigrationExecutor
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from django.dispatch import receiver
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    Response,
    expect,
    sync_playwright,
)
from redis.exceptions import ConnectionError as RedisConnectionError

from server import browser as chromium
from server import paths
from tests import servers
from tests.helpers.database import tables, tables_with_rows
from tests.helpers.forks import Fork, Original

# No deadline: a slow machine fails no test. In CI, every process tries the same examples.
hypothesis_settings.register_profile(
    "assay",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("assay")


@receiver(connection_created)
def _allow_truncate(**signal: Any) -> None:
    """Let Django empty the tables after a test that commits; a trigger refuses it in every other session."""
    with signal["connection"].cursor() as cursor:
        cursor.execute("SET assay.allow_truncate = 'on'")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name packed bytes alike in every process: they contain the time at which they were packed."""
    return "packed" if isinstance(val, bytes) and val[:2] in {b"\x1f\x8b", b"PK"} else None


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """Migrate once for all processes of pytest-xdist, and for later sessions."""
    servers.use_template(request.config)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Wait for other sessions before the database of the tests is dropped: of a browser, or of a process that ends."""
    yield
    others = (
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    deadline = time.monotonic() + 30
    connection.close()  # a test may have ended its session
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(others)
        while (queries := cursor.fetchall()) and time.monotonic() < deadline:
            time.sleep(0.1)
            cursor.execute(others)
    assert not queries, f"another session still uses the database; its last query: {queries[0][0]}"


def _delete_rows(test: TransactionTestCase) -> None:
    """Empty the tables after a test that commits. Most are empty already, and TRUNCATE is slow for each of them."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {', '.join(tables())} IN EXCLUSIVE MODE")  # wait for other processes
        filled = tables_with_rows()
        cursor.execute(
            "SET LOCAL session_replication_role = 'replica'"
        )  # no trigger and no foreign key refuses
        for table in filled:
            cursor.execute(f"DELETE FROM {table}")


@pytest.fixture(autouse=True, scope="session")
def _quick_emptying() -> None:
    if servers.MIGRATED in os.environ:
        TransactionTestCase._fixture_teardown = _delete_rows


@pytest.fixture(autouse=True, scope="session")
def _migrations_are_not_measured() -> None:
    """Migrate without coverage, which omits migrations and makes them half as slow again."""
    migrate = MigrationExecutor.migrate

    def unmeasured(*args: Any, **options: Any) -> Any:
        trace = sys.gettrace()
        sys.settrace(None)
        try:
            return migrate(*args, **options)
        finally:
            sys.settrace(trace)

    MigrationExecutor.migrate = unmeasured  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _locks_need_a_transaction_of_the_code() -> None:
    """Refuse `select_for_update` where only the test's own transaction holds the lock, as Django does without one."""
    as_sql = SQLCompiler.as_sql

    def guarded(compiler: SQLCompiler, *args: Any, **options: Any) -> Any:
        blocks = getattr(compiler.connection, "atomic_blocks", ())
        if compiler.query.select_for_update and blocks and all(block._from_testcase for block in blocks):
            raise TransactionManagementError("select_for_update outside a transaction of the code")
        return as_sql(compiler, *args, **options)

    SQLCompiler.as_sql = guarded  # type: ignore[assignment,method-assign]


@pytest.fixture(autouse=True, scope="session")
def _no_kept_pages() -> None:
    """Render each page: tests change rows without services, and have pages with the same addresses."""
    from accounts import visitors

    visitors.SECONDS = 0


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    """Begin with an empty cache: pages, counts and beats of one test would be answers to the next one."""
    from django.core.cache import cache

    cache.clear()


@pytest.fixture
def pages_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the pages that are the same for all visitors, as a site does."""
    monkeypatch.setattr("accounts.visitors.SECONDS", 60)


@pytest.fixture(autouse=True, scope="session")
def _quick_passwords() -> None:
    """Hash passwords by a fast hash: the real one takes half a second each time, on purpose."""
    from django.conf import settings

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True, scope="session")
def _plain_static_files() -> None:
    """Use plain names of static files, so that no test needs `collectstatic`."""
    from django.conf import settings

    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"


@pytest.fixture(autouse=True)
def _unseen_jobs_have_no_heartbeat(request: pytest.FixtureRequest) -> Iterator[None]:
    """Switch the heartbeat off where a test runs jobs in its own transaction.

    No other connection sees such a job, so its heartbeat would count it as lost after a few seconds.
    """
    from django.conf import settings

    mark = request.node.get_closest_marker("django_db")
    uses_database = mark is not None or "db" in request.fixturenames
    is_seen = "transactional_db" in request.fixturenames or (
        mark is not None and mark.kwargs.get("transaction")
    )
    usual = settings.JOB_HEARTBEAT_SECONDS
    if uses_database and not is_seen:
        settings.JOB_HEARTBEAT_SECONDS = 3600
    yield
    settings.JOB_HEARTBEAT_SECONDS = usual


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Look for doctests in the library only: every process would search the modules of the tests, too."""
    collectors = yield
    if not {"site", "tests"} & {*file_path.relative_to(paths.ROOT).parts}:
        return collectors
    return [each for each in collectors if type(each) is pytest.Module]  # and no module of doctests


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="run the tests with the mark nightly, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need the real files: `-m "not real_files"` runs all others. Begin with the long tests.

    Tests with the mark nightly run with `--nightly` only.
    """
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly and not config.getoption("nightly"):
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if item not in nightly]
    for item in items:
        if "data" in getattr(item, "fixturenames", ()):
            item.add_marker("real_files")
    if worker := getattr(config, "workerinput", None):
        items[:] = _long_tests_first(items, worker["workercount"])


def _long_tests_first(items: list[pytest.Item], n: int) -> list[pytest.Item]:
    """Put some long tests at the start of each of the n parts into which pytest-xdist divides the tests.

    At the end of a part, a single one would keep its process at work while the others have nothing left.
    """
    long = [item for item in items if item.get_closest_marker("long")]
    short = [item for item in items if not item.get_closest_marker("long")]
    ordered: list[pytest.Item] = []
    for part in range(n):
        size = (len(items) - len(ordered)) // (n - part)
        chosen = long[part::n]
        rest = max(size - len(chosen), 0)
        ordered += [*chosen, *short[:rest]]
        del short[:rest]
    return ordered + short


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out what is loaded by now: to look at it again took a tenth of the time."""
    gc.freeze()  # without a look at it, which takes half a second and finds 1 % of it to be garbage
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def shared_data() -> Path:
    """The folder of real files: `../shared/data`, or `data` under the folder that `ASSAY_SHARED` names."""
    root = Path(os.environ.get("ASSAY_SHARED", paths.ROOT.parent / "shared"))
    return root / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real files. Without it the test is skipped; with CI=true it fails, unless ASSAY_SHARED=none."""
    folder = shared_data()
    if not folder.is_dir():
        if os.environ.get("CI") == "true" and os.environ.get("ASSAY_SHARED") != "none":
            pytest.fail(f"the real test data is not at {folder}; set ASSAY_SHARED")
        pytest.skip(f"the real test data is not at {folder}; set ASSAY_SHARED")
    return folder


@pytest.fixture(scope="session")
def redis_url() -> str:
    """The broker of this session's tests and their workers."""
    return os.environ["REDIS_URL"]


@pytest.fixture
def process_environment(transactional_db: None) -> dict[str, str]:
    """Environment of another process that shares this test's rows, files and messages; lost jobs show early."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
    quick = {"JOB_HEARTBEAT_SECONDS": "0.3", "JOB_LOST_AFTER_SECONDS": "2", "LOG_LEVEL": "INFO"}
    return {**os.environ, **quick, "DATABASE_URL": url.geturl()}


@dataclass
class Running:
    """A process with its own process group, and its output in a file."""

    process: subprocess.Popen[bytes] | Fork
    log: Path
    name: str = ""

    def kill(self) -> None:
        """Send SIGKILL to the whole group, so that nothing in it can clean up."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def output(self) -> str:
        return self.log.read_text(errors="replace")


def start_process(command: list[str], environment: dict[str, str], log: Path, name: str = "") -> Running:
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command], env=environment, stdout=out, stderr=out, start_new_session=True
        )
    return Running(process, log, name)


PAGE_TIMEOUT = 60_000  # ms that a page may take on a busy machine
MOST_WINDOWS = 4  # that wait for the next test; each takes about 100 MB


def wait_until(
    condition: Callable[[], Any], *, seconds: float = 120, reason: Callable[[], str] | str = ""
) -> Any:
    """Poll a condition until it is true. A test waits for another process like this, never for a fixed time."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(
                f"not within {seconds} s: {reason() if callable(reason) else reason or condition}"
            )
        time.sleep(0.05)
    return result


Factory = Callable[..., Running]
Originals = dict[frozenset[tuple[str, str]], Original]


@pytest.fixture(scope="session")
def _originals() -> Iterator[Originals]:
    """The process that has imported the site with the first environment that a test needs: nearly all need the same."""
    originals: Originals = {}
    yield originals
    for original in originals.values():
        original.end()


@pytest.fixture
def fork(process_environment: dict[str, str], _originals: Originals) -> Iterator[Factory]:
    """Start a command of the site, as `start_process` does, without the time that its imports take.

    It has the environment of other processes, and the variables that are given as keyword arguments in capitals.
    """
    usual = {name: value for name, value in process_environment.items() if name != "PYTEST_CURRENT_TEST"}
    own: Originals = {}
    started: list[Running] = []

    def start(command: list[str], log: Path, name: str = "", **environment: str) -> Running:
        wanted = usual | environment
        key = frozenset(wanted.items())
        is_shared = key in _originals or not (_originals or environment)
        originals = _originals if is_shared else own
        if key not in originals:
            originals[key] = Original(wanted)
        started.append(Running(originals[key].fork(command, log), log, name))
        return started[-1]

    yield start
    for running in started:
        running.stop()
    for original in own.values():
        original.end()


@pytest.fixture
def worker(fork: Factory, redis_url: str, tmp_path: Path) -> Iterator[Factory]:
    """Start real Celery workers against this test's database: `worker()`, then `.kill()` or `.stop()`.

    `worker()` returns when the worker answers. Keyword arguments in capitals are its environment variables.
    """
    from config.celery import app

    started: list[Running] = []
    app.control.purge()

    def start(*, concurrency: int = 1, **environment: str) -> Running:
        name = f"test-{uuid.uuid4().hex[:8]}@{socket.gethostname()}"
        words = [
            "-m",
            "celery",
            "-A",
            "config",
            "worker",
            "-n",
            name,
            "--concurrency",
            str(concurrency),
            "--loglevel",
            "INFO",
        ]
        running = fork(words, tmp_path / f"{name}.log", name, **environment)
        started.append(running)

        def answers() -> bool:
            assert running.process.poll() is None, running.output()
            try:
                return bool(app.control.ping(destination=[name], timeout=0.5))
            except RedisConnectionError:  # a test before stopped the Redis that a pooled connection leads to
                return False

        wait_until(answers, reason=lambda: f"{name} answers; its output: {running.output()}")
        return running

    yield start
    for running in started:
        running.stop()
    app.control.purge()


@pytest.fixture
def beat(fork: Factory, redis_url: str, tmp_path: Path) -> Factory:
    """Start a real Celery beat: `beat()`. It relaunches lost jobs; the test waits for the effect."""
    number = count()

    def start(**environment: str) -> Running:
        log = tmp_path / f"beat-{next(number)}.log"
        return fork(["-m", "celery", "-A", "config", "beat"], log, "beat", **environment)

    return start


@dataclass
class Watch:
    """Collects what no page may do: request another host, break the policy, log an error."""

    complaints: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("request", self._request)
        page.on("response", self._response)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob", "about"} and address.hostname not in {
            "localhost",
            "127.0.0.1",
        }:
            self.complaints.append(f"request to another host: {request.url}")

    def _response(self, response: Response) -> None:
        is_part = response.request.resource_type in {"script", "stylesheet", "font", "image"}
        if is_part and response.status >= 400:
            self.complaints.append(f"{response.status} for {response.url}")

    def _console(self, message: ConsoleMessage) -> None:
        # the test itself checks answers such as 404 or 409; missing parts of a page are found above
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.complaints.append(f"console: {message.text}")


@pytest.fixture(scope="session")
def _playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=PAGE_TIMEOUT)
    connections.close_all()  # while Playwright's loop runs, Django has others, and these would stay open
    with sync_playwright() as playwright:
        yield playwright
        connections.close_all()


@pytest.fixture
def other_browser(_playwright: Playwright, request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Firefox or WebKit, as the parameter says, where `playwright install` has put it."""
    kind = getattr(_playwright, request.param)
    if not Path(kind.executable_path).exists():
        pytest.skip(f"{request.param} is not installed: playwright install {request.param}")
    browser = kind.launch()
    yield browser
    browser.close()
    wait_until(lambda: not _busy, reason="requests are still at work")


@pytest.fixture(scope="session")
def _chromium(request: pytest.FixtureRequest) -> Browser:
    path = chromium.find()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Chromium; `make test` installs one")
        pytest.skip("there is no Chromium; `make test` installs one")
    offline = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
    playwright: Playwright = request.getfixturevalue("_playwright")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", offline])


_busy: set[int] = set()  # threads of the live server that are answering a request


@receiver(request_started)
def _begun(**_: Any) -> None:
    if threading.current_thread() is not threading.main_thread():  # the thread of the test client
        _busy.add(threading.get_ident())


@receiver(request_finished)
def _finished(**_: Any) -> None:
    _busy.discard(threading.get_ident())


@pytest.fixture
def complaints() -> list[str]:
    """Complaints of the pages of a test. A test that expects some checks and clears the list."""
    return []


Size = dict[str, int]


@dataclass
class Window:
    """A browser context with one page, which a later test uses again: a new one costs half a second of processor time.

    `options` are those of the context that no page can change.
    """

    context: BrowserContext
    page: Page
    watch: Watch
    options: dict[str, Any]

    def show(self, *, viewport: Size | None = None, color_scheme: str = "light") -> Page:
        self.page.set_viewport_size(viewport or {"width": 1280, "height": 720})  # type: ignore[arg-type]
        self.page.emulate_media(color_scheme=color_scheme, reduced_motion=self.options["reduced_motion"])  # type: ignore[arg-type]
        return self.page

    def clear(self) -> bool:
        """Remove all that a test left. Return False if the window cannot be used again: its page was closed."""
        self.watch.complaints = []  # those of what is broken off here
        if self.page.is_closed():
            self.context.close()
            return False
        for other in self.context.pages:
            if other is not self.page:
                other.close()
        self.page.unroute_all()
        self.context.set_offline(False)
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(self.page.url))
        if self.page.url.startswith("http"):
            self.page.evaluate("() => sessionStorage.clear()")
        self.page.goto("about:blank")
        session = self.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()
        self.context.clear_cookies()
        return True


@pytest.fixture(scope="session")
def _windows(_chromium: Browser, django_db_setup: None) -> Iterator[list[Window]]:
    """The windows that no test is using. They close before the database is dropped, to which they keep connections."""
    free: list[Window] = []
    yield free
    for window in free:
        window.context.close()


@pytest.fixture
def new_page(
    _chromium: Browser, _windows: list[Window], complaints: list[str]
) -> Iterator[Callable[..., Page]]:
    """Open a page with its own cookies: `new_page()`; keyword arguments go to Playwright's context.

    The test fails if a page requests another host, breaks the Content-Security-Policy or logs an error. Transitions
    are off, because axe would measure the contrast of a color in between. At the end the fixture waits for the last
    requests: a running request and the emptying of the tables would deadlock. A test that gives the page a script or
    a handler of dialogs closes it, because the next test would get them.
    """
    used: list[Window] = []

    def open_page(*, viewport: Size | None = None, color_scheme: str = "light", **options: Any) -> Page:
        options = {"reduced_motion": "reduce", **options}
        window = next((each for each in _windows if each.options == options), None)
        if window is None:
            context = _chromium.new_context(**options)
            context.set_default_timeout(PAGE_TIMEOUT)
            watch = Watch()
            context.on("page", watch.follow)  # also tabs that the page opens
            window = Window(context, context.new_page(), watch, options)
        else:
            _windows.remove(window)
        window.watch.complaints = complaints
        used.append(window)
        return window.show(viewport=viewport, color_scheme=color_scheme)

    yield open_page
    reported = list(complaints)
    _windows.extend(window for window in used if window.clear())
    while len(_windows) > MOST_WINDOWS:
        _windows.pop(0).context.close()
    wait_until(lambda: not _busy, reason="requests are still at work")
    assert not reported, "\n".join(reported)


@pytest.fixture
def browser_page(new_page: Callable[..., Page]) -> Page:
    """One page of `new_page`."""
    return new_page()
