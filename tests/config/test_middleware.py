"""Middleware: the work on each request before and after its view."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import User
from config.middleware import client_address
from config.wsgi import application
from home import documentation
from server.environment import Proxies
from tests.helpers.factories import (
    PASSWORD,
    make_collection,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)

pytestmark = pytest.mark.django_db


def cache_control(client: Client, address: str) -> str:
    return client.get(address).headers.get("Cache-Control", "")


def test_pages_of_a_user_are_not_stored_and_public_pages_are(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path)
    (tmp_path / "index.html").write_text("The documentation")
    track = make_track()
    topic = make_topic(track, "A.1")
    pages = ["/", track.get_absolute_url(), reverse("tracks:topic", args=[track.slug, topic.code])]
    public = [cache_control(client, page) for page in pages]
    client.force_login(make_organizer())

    private = [cache_control(client, page) for page in [*pages, "/account/", "/admin/", "/nowhere/"]]

    assert public == ["private, no-cache", "private, no-cache", ""]
    assert all("no-store" in each and "private" in each for each in private)
    assert cache_control(client, reverse("documentation")) == "", "the same for everybody"


@pytest.mark.parametrize("place", ["?after=%00", "find/?docno=a%00", "threads/%00/"])
def test_nul_in_an_address_is_a_bad_request(client: Client, place: str) -> None:
    collection = make_collection()
    client.force_login(make_organizer())

    answer = client.get(f"/collections/{collection.slug}/{place}")

    assert answer.status_code == 400
    assert "default-src 'self'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "CONNECT"])
def test_method_that_no_page_knows_is_refused(client: Client, method: str) -> None:
    for address in ("/", "/login/", "/api/v1/tracks/", "/static/x.css"):
        answer = client.generic(method, address)
        assert (answer.status_code, b"".join(answer)) == (405, b"")


def test_address_of_a_button_that_is_opened_after_a_login_is_a_page(client: Client) -> None:
    client.force_login(make_organizer())
    batch = "/judge/batches/1/open/"

    opened, asked = client.get(batch), client.get(batch, headers={"Accept": "application/json"})

    assert "There is no page at this address" in opened.content.decode()
    assert [(each.status_code, each["Allow"]) for each in (opened, asked)] == [(405, "POST")] * 2
    assert asked.content == b""


def test_every_answer_denies_pages_the_devices_of_their_reader(client: Client) -> None:
    for address in ("/", "/login/", "/nothing/", "/api/v1/tracks/", "/account/"):
        policy = client.get(address)["Permissions-Policy"]
        assert {"camera=()", "microphone=()", "geolocation=()"} <= {*policy.split(", ")}


@pytest.mark.parametrize("address", ["/", "/login/", "/help/index.html", "/nothing/"])
def test_head_sends_no_body_of_which_the_web_server_warns(address: str) -> None:
    environ = RequestFactory().head(address).environ
    started: list[Any] = []

    body = application(environ, lambda *start: started.append(start))

    assert list(body) == []
    assert int(dict(started[0][1])["Content-Length"]) > 0
    body.close()


@pytest.mark.parametrize("charset", ["charset=hex", "charset=nosuch", "charset=utf-16", "charset*=hex''x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_charset_than_utf8_is_a_bad_request(method: str, charset: str) -> None:
    for media in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert sent(method, f"{media}; {charset}") == "400 Bad Request"


@pytest.mark.parametrize("charset", ["", "; charset=UTF-8", '; charset="utf-8"', "; boundary=x"])
def test_utf8_is_accepted_in_any_spelling(charset: str) -> None:
    assert sent("GET", f"text/plain{charset}") == "200 OK"


def sent(method: str, content_type: str) -> str:
    """The status with which the application that gunicorn serves responds."""
    statuses: list[str] = []
    environ = RequestFactory().generic(method, "/login/?a=%ff", b"a=%ff", content_type="text/plain").environ
    application(environ | {"CONTENT_TYPE": content_type}, lambda status, headers: statuses.append(status))
    return statuses[0]


NETWORKS = (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "expected"),
    [
        ("203.0.113.9", "198.51.100.1", 0, "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1", 1, "198.51.100.1"),
        ("10.0.0.1", "1.2.3.4, 198.51.100.1", 1, "198.51.100.1"),
        ("10.0.0.1", "1.2.3.4, 198.51.100.1, 10.0.0.2", 2, "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1", 2, "198.51.100.1"),
        ("10.0.0.1", "", 1, "10.0.0.1"),
        ("", "198.51.100.1", 1, "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1:4711", 1, "198.51.100.1"),
        ("10.0.0.1", "[2001:db9::1]:4711", 1, "2001:db9::1"),
        ("10.0.0.1", "::ffff:198.51.100.1", 1, "198.51.100.1"),
        ("10.0.0.1", "fe80::1%eth0", 1, "fe80::1"),
        ("10.0.0.1", "unknown", 1, "10.0.0.1"),
        ("10.0.0.1", "<script>, 198.51.100.1", 2, "198.51.100.1"),
        ("10.0.0.1", "1.2.3.4, 198.51.100.1, 2001:db8::7, 10.9.9.9", NETWORKS, "198.51.100.1"),
        ("203.0.113.9", "198.51.100.1", NETWORKS, "203.0.113.9"),
        ("", "198.51.100.1", NETWORKS, ""),
    ],
)
def test_header_is_believed_as_far_as_proxies_are_trusted(
    peer: str, forwarded: str, trusted: Proxies, expected: str
) -> None:
    assert client_address(peer, forwarded, trusted) == expected


def fail(address: str, n: int, *, peer: str = "10.0.0.1") -> int:
    """Enter wrong passwords for Ada from an address behind a proxy; returns the last status."""
    headers = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": address}
    wrong = {"username": "ada", "password": "guess"}
    return [Client().post(reverse("login"), wrong, **headers).status_code for _ in range(n)][-1]  # type: ignore[arg-type]


def log_in(address: str) -> int:
    right = {"username": "ada", "password": PASSWORD}
    return (
        Client()
        .post(reverse("login"), right, REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=address)
        .status_code
    )


def test_stranger_behind_the_same_proxy_does_not_lock_out_the_organizer(settings: object) -> None:
    settings.TRUSTED_PROXIES = 1  # type: ignore[attr-defined]
    make_user("ada", is_staff=True)

    assert fail("198.51.100.1", 10) == 429
    assert log_in("198.51.100.1") == 429
    assert log_in("203.0.113.9") == 302


def test_invented_addresses_do_not_escape_the_lock(settings: object) -> None:
    settings.TRUSTED_PROXIES = 1  # type: ignore[attr-defined]
    make_user("ada")

    for n in range(10):
        fail(f"192.0.2.{n}, 198.51.100.1", 1)

    assert log_in("192.0.2.99, 198.51.100.1") == 429


def test_addresses_of_one_ipv6_network_are_counted_together(settings: object) -> None:
    settings.TRUSTED_PROXIES = 1  # type: ignore[attr-defined]
    make_user("ada")

    for n in range(10):
        fail(f"2001:db8:1:1::{n:x}", 1)

    assert log_in("2001:db8:1:1:ffff::1") == 429
    assert log_in("2001:db8:1:2::1") == 302


def test_lock_ends_although_somebody_goes_on(client: Client) -> None:
    from axes.models import AccessAttempt

    make_user("ada")
    fail("", 10)
    locked_at = AccessAttempt.objects.get().attempt_time

    assert fail("", 5) == 429
    assert AccessAttempt.objects.get().attempt_time == locked_at


@pytest.mark.parametrize("allowed", ["https://notebook.example", "*"])
def test_pages_of_named_origins_may_call_the_api(
    client: Client, settings: LazySettings, allowed: str
) -> None:
    settings.CORS_ORIGINS = [allowed]
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[:3],
        "config.middleware.CorsMiddleware",
        *settings.MIDDLEWARE[3:],
    ]
    origin = {"Origin": "https://notebook.example"}

    asked = client.options("/api/v1/tracks/", headers=origin | {"Access-Control-Request-Method": "POST"})
    answer = client.get("/api/v1/tracks/", headers=origin)
    page = client.get("/", headers=origin)
    other = client.get("/api/v1/tracks/", headers={"Origin": "https://other.example"})

    assert (asked.status_code, asked["Access-Control-Allow-Methods"]) == (
        204,
        "GET, HEAD, POST, PUT, PATCH, DELETE",
    )
    assert "Authorization" in asked["Access-Control-Allow-Headers"]
    assert answer["Access-Control-Allow-Origin"] == "https://notebook.example"
    assert "Repr-Digest" in answer["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in answer
    assert "Access-Control-Allow-Origin" not in page
    assert ("Access-Control-Allow-Origin" in other) == (allowed == "*")


def test_without_origins_no_header_is_added(client: Client) -> None:
    answer = client.get("/api/v1/tracks/", headers={"Origin": "https://notebook.example"})

    assert not any(name.startswith("Access-Control") for name in answer.headers)


MEGABYTE = 1024 * 1024


def post(client: Client, size: int) -> Any:
    """A request that declares a size. Its body is shorter, and is only read if the request is accepted."""
    return client.generic(
        "POST", "/login/", b"", CONTENT_LENGTH=str(size), **{"wsgi.input": BytesIO(b"x" * 100)}
    )


def test_visitor_may_send_a_form_but_no_file(client: Client) -> None:
    response = post(client, 2 * 1024 * 1024)

    assert response.status_code == 413
    assert "larger than 1 MB" in response.content.decode()


def test_user_may_send_up_to_the_limit(client: Client, settings: Any) -> None:
    client.force_login(User.objects.create(username="pat"))
    settings.UPLOAD_MAX_BYTES = 3 * 1024 * 1024

    assert post(client, 2 * 1024 * 1024).status_code != 413
    assert post(client, 4 * 1024 * 1024).status_code == 413


def test_full_disk_is_named_and_keeps_nothing_of_the_upload(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    client.force_login(User.objects.create(username="pat"))
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    run = SimpleUploadedFile("run.tsv", b"x" * 4 * MEGABYTE)

    with full_disk_after(3 * MEGABYTE):
        response = client.post("/account/", {"file": run})

    assert response.status_code == 507
    assert "The disk of the server is full." in response.content.decode()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def full_disk_after(n_bytes: int) -> Iterator[None]:
    """Let every file of this process that grows beyond a size fail, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_length_that_is_not_a_number_counts_as_zero(client: Client) -> None:
    response = client.generic("POST", "/login/", b"", CONTENT_LENGTH="many")

    assert response.status_code != 413


@pytest.mark.parametrize("size", [10, 3 * 1024 * 1024], ids=["in memory", "in a temporary file"])
def test_file_with_a_very_long_name_is_accepted(client: Client, size: int) -> None:
    client.force_login(User.objects.create(username="pat"))
    named = SimpleUploadedFile("run." + "é" * 250, b"x" * size)

    request = client.post("/login/", {"file": named}).wsgi_request

    assert len(str(request.FILES["file"].name).encode()) <= 200
