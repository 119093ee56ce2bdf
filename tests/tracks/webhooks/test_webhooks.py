"""Webhooks over real HTTP: a receiver on this machine checks each signature as the reference of the API says."""

import json
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.mail.letters import MAX_TRIES
from accounts.models import User
from assay.errors import Refused
from jobs import services as jobs
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_role, make_topic, make_track, make_webhook
from tracks.announcements import EVENTS, announce
from tracks.models import Delivery, Track
from tracks.tasks import deliver
from tracks.tracks import services as track_services
from tracks.webhooks import delivery
from tracks.webhooks.delivery import check_address

pytestmark = pytest.mark.django_db
REFERENCE = Path("docs/reference/api.md").read_text()


class Receiver:
    """The requests that a receiver got. It answers with the next of `answers`, or else with 204."""

    def __init__(self, server: HTTPServer) -> None:
        self.server = server
        self.url = f"http://localhost:{server.server_port}/hook?lab=1"
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOKS_OVER_HTTP = settings.WEBHOOKS_TO_PRIVATE_ADDRESSES = True

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(received.answers.pop(0) if received.answers else 204)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        received = Receiver(server)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield received
        server.shutdown()
        thread.join()


@pytest.fixture
def organizer() -> User:
    return make_organizer("olga")


@pytest.fixture
def track(organizer: User) -> Track:
    track = make_track("arq", status=Track.Status.DRAFT)
    make_topic(track, "A.1")
    return track


def open_and_close(track: Track) -> None:
    track_services.open_for_runs(track=track)
    track_services.close(track=track)


def is_genuine(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """The function in the reference of the API."""
    names: dict[str, Any] = {}
    code = re.search(r"```python\n(.*?)```", REFERENCE[REFERENCE.index("## Webhooks") :], re.DOTALL)
    assert code is not None
    exec(code[1], names)
    return bool(names["is_genuine"](secret, headers, body))


def test_event_is_signed_names_nobody_and_is_sent_once(
    receiver: Receiver, track: Track, organizer: User
) -> None:
    webhook = make_webhook(track, organizer, receiver.url, "track.opened")
    open_and_close(track)

    delivery.deliver_due()
    delivery.deliver_due()

    ((headers, body),) = receiver.got
    content, sent = json.loads(body), Delivery.objects.get()
    assert is_genuine(webhook.secret, headers, body)
    assert not is_genuine(webhook.secret, headers, body + b" ")
    assert not is_genuine(webhook.secret, headers | {"Assay-Timestamp": "1764000000"}, body)
    assert content.keys() == {"id", "event", "created_at", "track", "url"}
    assert (content["event"], content["track"], content["url"]) == (
        "track.opened",
        "arq",
        "/api/v1/tracks/arq/",
    )
    assert headers["Assay-Delivery"] == content["id"] == str(sent.key)
    assert (sent.state, sent.status, sent.n_tries) == ("accepted", 204, 1)


def test_event_that_is_undone_is_not_sent(receiver: Receiver, track: Track, organizer: User) -> None:
    make_webhook(track, organizer, receiver.url, "track.opened")
    with transaction.atomic():
        track_services.open_for_runs(track=track)
        transaction.set_rollback(True)

    delivery.deliver_due()

    assert receiver.got == []


def test_failure_is_tried_again_later_with_the_same_body_until_the_last_try(
    receiver: Receiver, track: Track, organizer: User
) -> None:
    webhook = make_webhook(track, organizer, receiver.url, "track.opened", "track.closed")
    open_and_close(track)
    receiver.answers = [500, 302] + [500] * MAX_TRIES

    delivery.deliver_due()  # the second event waits, because the first failed
    delivery.deliver_due()
    first = Delivery.objects.earliest("pk")
    assert len(receiver.got) == 1
    assert (first.state, first.status) == ("waiting for another try", 500)
    assert first.due_at is not None
    assert timedelta(minutes=1) < first.due_at - timezone.now() < timedelta(minutes=3)
    Delivery.objects.exclude(pk=first.pk).delete()
    for _ in range(MAX_TRIES + 1):
        Delivery.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
        track.webhooks.update(rests_until=timezone.now())
        delivery.deliver_due()

    first.refresh_from_db()
    assert len(receiver.got) == first.n_tries == MAX_TRIES
    assert len({body for _, body in receiver.got}) == 1
    assert all(is_genuine(webhook.secret, *each) for each in receiver.got)
    assert (first.state, first.error) == ("given up", "The answer had the status 500.")


def certified(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A certificate of its own authority for localhost, which the workers trust."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    of_localhost = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subprocess.run(
        [*command, "-keyout", key, "-out", certificate, *of_localhost], check=True, capture_output=True
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_certificate_is_checked_against_the_name(
    receiver: Receiver,
    host: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    track: Track,
    organizer: User,
) -> None:
    context = certified(tmp_path, monkeypatch)
    receiver.server.socket = context.wrap_socket(
        receiver.server.socket, server_side=True, do_handshake_on_connect=False
    )
    make_webhook(track, organizer, f"https://{host}:{receiver.server.server_port}/", "track.opened")
    track_services.open_for_runs(track=track)

    delivery.deliver_due()

    sent = Delivery.objects.get()
    if host == "localhost":
        assert (sent.state, sent.status, len(receiver.got)) == ("accepted", 204, 1)
    else:
        assert (sent.status, "not valid for '127.0.0.1'" in sent.error, receiver.got) == (None, True, [])


def drip(server: socket.socket) -> None:
    """Answer with a header that never ends, a byte at a time, until the other side hangs up."""
    connection, _ = server.accept()
    with connection, suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nA: ")
        while True:
            connection.sendall(b"a")
            threading.Event().wait(0.02)


def test_receiver_that_sends_byte_by_byte_is_cut(
    settings: Any, monkeypatch: pytest.MonkeyPatch, track: Track, organizer: User
) -> None:
    settings.WEBHOOKS_OVER_HTTP = settings.WEBHOOKS_TO_PRIVATE_ADDRESSES = True
    monkeypatch.setattr(delivery, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as slow:
        thread = threading.Thread(target=drip, args=[slow])
        thread.start()
        make_webhook(track, organizer, f"http://127.0.0.1:{slow.getsockname()[1]}/", "track.opened")
        track_services.open_for_runs(track=track)
        delivery.deliver_due()
        thread.join()

    sent = Delivery.objects.get()
    assert (sent.status, sent.state) == (None, "waiting for another try")
    assert sent.error.startswith("No answer")


@pytest.mark.parametrize(
    "host", ["localhost", "127.1", "0x7f.1", "[::ffff:10.0.0.1]", "169.254.169.254", "[::]"]
)
def test_names_that_lead_inside_are_refused_when_they_are_connected_to(host: str) -> None:
    with pytest.raises(Refused, match="private or reserved"):
        delivery.send(f"https://{host}:1/", b"", {})


@pytest.mark.parametrize(
    "address",
    [
        *("fe80::1%eth0", "fc00::1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "::", "::7f00:1"),
        *("fec0::1", "64:ff9b:1::1", "2001::1", "2001:db8::1", "ff02::1", "100::1", "5f00::1", "3fff::1"),
        *("192.0.0.192", "100.100.100.200", "168.63.129.16", "0.1.2.3", "198.18.0.1", "192.88.99.1"),
        *("255.255.255.255", "203.0.113.9", "172.31.255.255"),
    ],
)
def test_private_and_reserved_addresses_are_not_public(address: str) -> None:
    assert not delivery.is_public(address)


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "172.32.0.1", "192.0.1.1", "2606:2800::1", "2a00:1450::1", "64:ff9b::5db8:d822"],
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert delivery.is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.org/",
        "ftp://a.org",
        "https://",
        "https://u:p@a.org/",
        "https://a.org:x/",
        "https://a.org/ b",
    ],
)
def test_address_that_no_webhook_may_have_is_refused(url: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_address(url)

    assert refusal.value.code == "address-refused"


def test_organizer_adds_tests_changes_and_removes_a_webhook_on_the_page(
    receiver: Receiver, track: Track, organizer: User, client: Client
) -> None:
    client.force_login(organizer)
    page = reverse("tracks:webhooks", args=["arq"])
    wrong = client.post(page, {"url": "gopher://x", "events": ["batch.closed"]})
    added = client.post(page, {"url": receiver.url, "events": ["batch.closed", "job.failed"]})
    webhook = track.webhooks.get()
    address = webhook.get_absolute_url()

    client.post(f"{address}test/")
    deliver.run()
    shown = client.get(address).content.decode()
    again = client.post(page, {"url": receiver.url, "events": ["batch.closed"]})
    client.post(address, {"url": receiver.url + "2", "events": ["track.opened"]})
    client.post(f"{address}deliveries/{webhook.deliveries.get().key}/again/")
    receiver.answers = [500]
    deliver.run()
    failed = client.get(address).content.decode()
    renewed = client.post(f"{address}secret/").content.decode()
    earlier = webhook.secret
    webhook.refresh_from_db()

    assert "begins with https:// or http://" in wrong.content.decode()
    assert earlier in added.content.decode()
    assert earlier not in shown
    assert (webhook.secret in renewed, webhook.secret == earlier) == (True, False)
    assert receiver.got[0][1] == receiver.got[1][1]  # sent again
    assert "The answer had the status 500." in failed
    assert "already has a webhook" in again.content.decode()
    assert [[*each.context["form"].errors] for each in (wrong, again)] == [["url"], ["url"]]
    assert ('<td data-label="Event">Test' in shown, "accepted" in shown, "204" in shown) == (True, True, True)
    assert (webhook.url, webhook.events) == (receiver.url + "2", ["track.opened"])
    client.post(f"{address}remove/")
    assert not track.webhooks.exists()


def test_program_adds_a_webhook_and_strangers_to_the_track_do_not_find_it(track: Track) -> None:
    organizer, other = api(make_role(track, "rolf")), api(make_role(make_track("other"), "otto"))
    data = {"address": "https://lab.example.org/hook", "events": ["qrels.frozen", "batch.closed"]}

    added = call(organizer, "POST", "webhooks", "arq", data=data)
    of_other = call(other, "POST", "webhooks", "arq", data=data)
    number = added.json()["id"]
    changed = call(organizer, "PATCH", "webhook", "arq", number, data={"events": ["job.failed"]}).json()
    wrong = call(organizer, "PATCH", "webhook", "arq", number, data={"events": ["x"]})
    call(organizer, "POST", "test_webhook", "arq", number)
    (waiting,) = call(organizer, "GET", "deliveries", "arq", number).json()["results"]

    assert (added.status_code, added.json()["events"]) == (201, ["batch.closed", "qrels.frozen"])
    assert added.json()["secret"] == track.webhooks.get().secret
    assert "secret" not in call(organizer, "GET", "webhook", "arq", number).json()
    assert (of_other.status_code, call(other, "GET", "webhook", "other", number).status_code) == (404, 404)
    assert (changed["events"], changed["address"]) == (["job.failed"], data["address"])
    assert (wrong.status_code, waiting["status"], waiting["event"]) == (400, "waiting", "webhook.tested")
    renewed = call(organizer, "POST", "renew_webhook_secret", "arq", number).json()
    assert renewed["secret"] == track.webhooks.get().secret != added.json()["secret"]
    again = call(organizer, "POST", "resend_delivery", "arq", number, waiting["id"])
    assert (again.status_code, again.json()["id"]) == (202, waiting["id"])
    assert call(other, "POST", "resend_delivery", "arq", number, waiting["id"]).status_code == 404
    assert call(organizer, "DELETE", "webhook", "arq", number).status_code == 204


def test_failed_job_is_announced_to_the_track_of_its_subject(track: Track, organizer: User) -> None:
    pytest.importorskip("assay_extensions.building.site.tasks")
    make_webhook(track, organizer, "https://lab.example.org/", "job.failed")
    job = jobs.request(kind="tracks.leaks.check", title="t", arguments={}, by=organizer, subject=track)

    jobs.cancel(job=job, by=organizer)

    assert json.loads(Delivery.objects.get().body)["url"] == f"/api/v1/jobs/{job.pk}/"


def test_event_takes_one_query_where_nobody_wants_it(
    track: Track, organizer: User, django_assert_num_queries: Any
) -> None:
    make_webhook(track, organizer, "https://lab.example.org/", "job.failed")
    with django_assert_num_queries(1):
        announce(event="run.submitted", track_id=track.pk, subject=track)

    assert not Delivery.objects.exists()


def test_reference_lists_every_event() -> None:
    assert all(f"`{event}`" in REFERENCE for event in EVENTS)
