"""Settings come from the environment; a message names a bad variable and its value."""

import os
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyrage
import pytest
from django.core.exceptions import ImproperlyConfigured

from server import environment, paths
from tests.fixtures import start_process, wait_until


@pytest.mark.parametrize(
    ("given", "expected"), [("true", True), ("1", True), ("No", False), ("off", False), ("", False)]
)
def test_a_boolean_is_read(monkeypatch: pytest.MonkeyPatch, given: str, expected: bool) -> None:
    monkeypatch.setenv("HTTPS", given)

    assert environment.boolean("HTTPS") is expected


def test_debug_pages_with_https_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "true")
    assert environment.no_debug_pages("DEBUG", https="HTTPS")

    monkeypatch.setenv("HTTPS", "true")

    with pytest.raises(ImproperlyConfigured, match="DEBUG and HTTPS are both true"):
        environment.no_debug_pages("DEBUG", https="HTTPS")
    command = [sys.executable, "manage.py", "check"]
    assert subprocess.run(command, cwd=paths.ROOT, capture_output=True, check=False).returncode == 1


def test_misspelled_boolean_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS", "ture")

    with pytest.raises(ImproperlyConfigured, match="HTTPS is 'ture'; use true or false"):
        environment.boolean("HTTPS")


@pytest.mark.parametrize("given", ["ten", "nan", "inf", "-1", "0.01"])
def test_a_number_out_of_range_is_named(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("JOB_HEARTBEAT_SECONDS", given)

    with pytest.raises(
        ImproperlyConfigured, match=f"JOB_HEARTBEAT_SECONDS is '{given}'; use a number of at least 0.1"
    ):
        environment.number("JOB_HEARTBEAT_SECONDS", 5, least=0.1)


@pytest.mark.parametrize("given", ["beir scifact", "beir/*/test", "-x", "vaswani,/etc"])
def test_a_pattern_of_ids_is_checked(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("IR_DATASETS", "vaswani, beir/*,*")
    assert environment.patterns("IR_DATASETS") == ["vaswani", "beir/*", "*"]
    monkeypatch.setenv("IR_DATASETS", given)

    with pytest.raises(ImproperlyConfigured, match=r"IR_DATASETS has .*; use ids such as vaswani, beir/\*"):
        environment.patterns("IR_DATASETS")


def test_a_value_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("p@ss:w/rd\n")
    monkeypatch.setenv("DATABASE_URL", "postgresql://assay@host/assay")
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(tmp_path / "password"))

    config = environment.database("DATABASE_URL", "", password=environment.text("DATABASE_PASSWORD"))

    assert (config["USER"], config["PASSWORD"]) == ("assay", "p@ss:w/rd")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"NAME_FILE": "/nowhere"}, "NAME_FILE is '/nowhere', which cannot be read"),
        ({"NAME_FILE": "/nowhere", "NAME": "x"}, "NAME and NAME_FILE are both set"),
    ],
)
def test_a_file_that_cannot_give_the_value_is_named(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], message: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=message):
        environment.text("NAME")


@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (environment.token, "short", "NAME has 5 characters; use at least 16"),
        (environment.networks, "10.0.0.0/99", "NAME is '10.0.0.0/99'; use addresses and networks"),
        (
            lambda name: environment.hour(name, "03:00"),
            "3 am",
            "NAME is '3 am'; use a time of day such as 03:00",
        ),
        (lambda name: environment.retention(name, "7,4,12"), "7,4", "NAME is '7,4'; use three numbers"),
    ],
)
def test_a_bad_value_of_monitoring_and_backups_is_named(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], given: str, message: str
) -> None:
    monkeypatch.setenv("NAME", given)

    with pytest.raises(ImproperlyConfigured, match=message):
        read("NAME")


def test_a_number_unset_is_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_HEARTBEAT_SECONDS", "")

    assert environment.number("JOB_HEARTBEAT_SECONDS", 5) == 5


def test_words_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", " assay.example.org, ,www.example.org ")

    assert environment.words("ALLOWED_HOSTS") == ["assay.example.org", "www.example.org"]


def test_an_origin_without_scheme_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSRF_TRUSTED_ORIGINS", "https://a.example.org,b.example.org")

    with pytest.raises(ImproperlyConfigured, match=r"CSRF_TRUSTED_ORIGINS contains 'b\.example\.org'"):
        environment.origins("CSRF_TRUSTED_ORIGINS")


@pytest.mark.parametrize(
    "given",
    [
        "assay.example.org",
        "ftp://a.example",
        "https://a.example/path",
        "https://",
        "https://u:p@a.example",
        "https://a:x",
    ],
)
def test_site_without_an_origin_is_named(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("SITE_URL", given)

    with pytest.raises(ImproperlyConfigured, match=f"SITE_URL is '{given.rstrip('/')}'; use the address"):
        environment.origin("SITE_URL")


def test_origin_may_have_a_port_and_a_last_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_URL", "https://assay.example.org:8443/")

    assert environment.origin("SITE_URL") == "https://assay.example.org:8443"
    assert environment.host_of("https://Assay.example.org:8443") == "assay.example.org"
    assert environment.host_of("http://[::1]:8000") == "[::1]"


def test_unknown_level_is_named_with_the_allowed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "LOUD")

    with pytest.raises(ImproperlyConfigured, match="LOG_LEVEL is 'LOUD'; use one of INFO, ERROR"):
        environment.one_of("LOG_LEVEL", ["INFO", "ERROR"], "INFO")


def test_another_database_than_postgresql_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://me:hush@db/assay")

    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL begins with 'mysql'") as refusal:
        environment.database("DATABASE_URL", "")

    assert "hush" not in str(refusal.value)


def test_invalid_database_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://assay@db:port/assay")

    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL is not a valid address"):
        environment.database("DATABASE_URL", "")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://redis:6379/0", "redis://:a%2Fb%40c@redis:6379/0"),
        ("rediss://redis:6379/0", "rediss://:a%2Fb%40c@redis:6379/0"),
        ("redis://:own@redis:6379/0", "redis://:own@redis:6379/0"),
        ("filesystem://", "filesystem://"),
    ],
)
def test_password_of_redis_may_come_separately(
    monkeypatch: pytest.MonkeyPatch, url: str, expected: str
) -> None:
    monkeypatch.setenv("REDIS_URL", url)

    assert environment.broker("REDIS_URL", "", password="a/b@c") == expected
    assert environment.broker("REDIS_URL", "") == url


def test_another_broker_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "amqp://rabbit")

    with pytest.raises(ImproperlyConfigured, match="REDIS_URL begins with 'amqp'"):
        environment.broker("REDIS_URL", "")


@pytest.mark.parametrize(
    "address", ["redis://host:6379/0?virtual_host=5", "redis+socket:///redis.sock?virtual_host=5"]
)
def test_broker_with_a_parameter_that_redis_does_not_know_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", address)

    with pytest.raises(ImproperlyConfigured, match="REDIS_URL is not a valid address"):
        environment.broker("REDIS_URL", "")


def test_secret_is_created_once_and_only_its_owner_reads_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    file = tmp_path / "var" / "secret_key"

    first = environment.secret("SECRET_KEY", file)

    assert len(first) > 50
    assert environment.secret("SECRET_KEY", file) == first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_a_secret_of_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET_KEY", "from the environment")

    assert environment.secret("SECRET_KEY", tmp_path / "key") == "from the environment"
    assert not (tmp_path / "key").exists()


def test_secret_that_cannot_be_stored_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    (tmp_path / "var").write_text("a file where a folder should be")

    with pytest.raises(
        ImproperlyConfigured, match=r"SECRET_KEY is not set, and .* cannot be read or created"
    ):
        environment.secret("SECRET_KEY", tmp_path / "var" / "secret_key")


def test_the_queue_without_a_broker_has_its_folders(tmp_path: Path) -> None:
    folders = environment.queue_folders(tmp_path)

    assert folders["data_folder_in"] == folders["data_folder_out"]
    assert all(Path(str(folder)).is_dir() for folder in folders.values())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", 0),
        ("2", 2),
        ("10.0.0.0/8, 192.0.2.7", ("10.0.0.0/8", "192.0.2.7/32")),
        ("2001:db8::/32", ("2001:db8::/32",)),
    ],
)
def test_proxies_are_a_number_or_networks(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: object
) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", given)

    proxies = environment.proxies("TRUSTED_PROXIES")

    assert (proxies if isinstance(proxies, int) else tuple(map(str, proxies))) == expected


@pytest.mark.parametrize("given", ["-1", "many", "21", "10.0.0.0/33", "10.0.0.1/8", "1,2", "2.5"])
def test_other_proxies_are_an_error(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", given)

    with pytest.raises(
        ImproperlyConfigured, match=f"TRUSTED_PROXIES is '{given}'; use the number of proxies"
    ):
        environment.proxies("TRUSTED_PROXIES")


def test_mail_server_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMAIL_URL", "smtp+tls://me%40example.org:a%2Fb@mail.example.org")

    assert environment.mail("EMAIL_URL") == {
        "EMAIL_HOST": "mail.example.org",
        "EMAIL_PORT": 587,
        "EMAIL_HOST_USER": "me@example.org",
        "EMAIL_HOST_PASSWORD": "a/b",
        "EMAIL_USE_TLS": True,
    }


@pytest.mark.parametrize(
    "given", ["mail.example.org", "http://mail.example.org", "smtp://", "smtp://host:port"]
)
def test_other_mail_servers_are_an_error(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("EMAIL_URL", given)

    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL"):
        environment.mail("EMAIL_URL")


def test_address_of_a_service_without_a_scheme_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_ENDPOINT_URL", "s3.example.org")

    with pytest.raises(ImproperlyConfigured, match=r"S3_ENDPOINT_URL is 's3\.example\.org'"):
        environment.address("S3_ENDPOINT_URL")


@pytest.mark.parametrize("value", ["s3:/bucket", "s3://", "s3://Bucket", "s3://bucket/../other/ x"])
def test_wrong_place_of_backups_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("BACKUP_DIR", value)

    with pytest.raises(ImproperlyConfigured, match=r"BACKUP_DIR is .*; use a folder, or s3://BUCKET/PREFIX"):
        environment.backup_folder("BACKUP_DIR")


def test_secret_key_in_place_of_the_public_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = str(pyrage.x25519.Identity.generate())
    monkeypatch.setenv("BACKUP_RECIPIENT", secret)

    with pytest.raises(
        ImproperlyConfigured, match=r"BACKUP_RECIPIENT contains '.*'; use public keys"
    ) as refusal:
        environment.recipients("BACKUP_RECIPIENT")
    assert secret[20:] not in str(refusal.value)


def test_setting_that_needs_a_missing_package_names_it() -> None:
    environment.require_packages("S3_BUCKET", "django", file="requirements-s3.txt")

    with pytest.raises(
        ImproperlyConfigured, match=r"S3_BUCKET is set, but it needs no_boto.*requirements-s3"
    ):
        environment.require_packages("S3_BUCKET", "django", "no_boto", file="requirements-s3.txt")


def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """An application that checks when its request arrived."""
    waited = time.monotonic() - environ["assay.arrival"]
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok" if 0 <= waited < 5 else b"no"]


def answer_large(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """An application that returns the number of its process, and needs 400 MB for `/large`."""
    n = len(bytearray(os.urandom(1)) * (400_000_000 if environ["PATH_INFO"] == "/large" else 1))
    start_response("200 OK", [("Content-Type", "text/plain"), ("Connection", "close")])
    return [str(os.getpid() if n else 0).encode()]


@contextmanager
def gunicorn(tmp_path: Path, application: str, **environment: str) -> Iterator[str]:
    """The address of an application in one process with one thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    listening.close()
    wanted = ["-m", "gunicorn", "-k", "server.gunicorn.Worker", "--workers", "1", "--threads", "1"]
    wanted += [
        "--keep-alive",
        "600",
        "--bind",
        f"127.0.0.1:{port}",
        f"tests.server.test_environment:{application}",
    ]
    running = start_process(wanted, dict(os.environ) | environment, tmp_path / "gunicorn.log")
    try:
        wait_until(lambda: "Listening" in running.output(), reason=running.output)
        yield f"http://127.0.0.1:{port}"
    finally:
        running.stop()


def read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=60) as page:
        content: bytes = page.read()
        return content


def test_silent_connections_hold_no_thread(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "answer") as address, ExitStack() as silent:
        place = (urlsplit(address).hostname, urlsplit(address).port)
        for _ in range(40):
            silent.enter_context(socket.create_connection(place))

        assert read(address) == b"ok"  # gunicorn's own class takes 5 seconds for each of them


def test_process_that_needed_much_memory_is_replaced(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "answer_large", PROCESS_MAX_MB="350") as address:
        first = read(address)
        assert read(address) == first

        assert read(f"{address}/large") == first
        wait_until(lambda: read(address) != first, reason="another process answers")
