"""Send events to webhooks, and send them again while their addresses do not accept them.

An organizer chooses the address, and the server connects to it: so the name is resolved once, every address that it has
is checked, and the connection goes to an address that was checked. Redirects are not followed, the body of an answer is
not read, and a try takes at most `SECONDS`. Decision: ADR 29.
"""

import hashlib
import hmac
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http.client import HTTPConnection, HTTPException
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from accounts.mail.letters import FIRST_WAIT, KEPT, MAX_TRIES
from assay.errors import Refused
from tracks.models import Delivery, Webhook
from web import times

logger = logging.getLogger(__name__)

SECONDS = 10.0
LEASE = timedelta(minutes=2)  # a process that was killed while it sent leaves the event due again after this
PORTS = {"https": 443, "http": 80}
TRANSLATED = ip_network("64:ff9b::/96")  # NAT64: the last 32 bits are an address of IPv4
UNICAST = ip_network("2000::/3")  # all of IPv6 that is given out for the public internet
# Python's own lists differ between its versions. Sources: the registries of special-purpose addresses of IANA,
# RFC 6890, and the addresses at which machines in clouds ask for their secrets
NOT_PUBLIC = [
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # Azure
        *("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20"),
    )
]


address_refused = partial(Refused, code="address-refused", title="This address is not accepted", field="url")


def check_address(url: str) -> None:
    """Refuse what no webhook may have, without asking for its name.

    Raises:
        Refused: It is not `https://`, or has no host, a password, or a port that cannot be one.
    """
    try:
        parts = urlsplit(url)
        parts.port, (parts.hostname or "").encode("idna")  # both are checked when they are read
    except ValueError as error:
        raise address_refused(f"The address cannot be read: {error}.") from error
    schemes = ["https", "http"] if settings.WEBHOOKS_OVER_HTTP else ["https"]
    if parts.scheme not in schemes or not parts.hostname:
        raise address_refused(
            f"Enter an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}."
        )
    if "@" in parts.netloc or parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise address_refused("Enter an address in ASCII without a password, a fragment (#) and spaces.")


def is_public(text: str) -> bool:
    """Return whether an address of IP belongs to the public internet.

    >>> [is_public(address) for address in ("93.184.216.34", "10.0.0.1", "::ffff:127.0.0.1", "169.254.169.254")]
    [True, False, False, False]
    """
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in TRANSLATED:
            inner = ip_address(int(address) & 0xFFFFFFFF)  # type: ignore[assignment]
        if inner is not None:
            return is_public(str(inner))
        if address not in UNICAST:
            return False
    return not any(address in network for network in NOT_PUBLIC)


def public_address(host: str, port: int) -> str:
    """The IP address to which to connect.

    Raises:
        Refused: One of the addresses of the host is not public.
        OSError: The host has no address.
    """
    addresses = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not settings.WEBHOOKS_TO_PRIVATE_ADDRESSES and not all(is_public(address) for address in addresses):
        raise address_refused(f"{host} has an address in a private or reserved network.")
    return addresses[0]


@contextmanager
def _connection(host: str, port: int, *, is_encrypted: bool) -> Iterator[socket.socket]:
    """A connection that is cut after `SECONDS`, however slowly the other side sends."""
    connection = socket.create_connection((public_address(host, port), port), SECONDS)
    if is_encrypted:
        context = ssl.create_default_context()
        connection = context.wrap_socket(connection, server_hostname=host, do_handshake_on_connect=False)
    late = threading.Event()
    timer = threading.Timer(SECONDS, _cut, [connection, late])
    timer.daemon = True
    timer.start()
    try:
        if isinstance(connection, ssl.SSLSocket):
            connection.do_handshake()
        yield connection
    finally:
        timer.cancel()
        connection.close()
    if late.is_set():  # what was read may be a part of an answer
        raise TimeoutError


def _cut(connection: socket.socket, late: threading.Event) -> None:
    late.set()
    try:
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # of the socket below the encryption, too
    except OSError:
        logger.debug("the other side was faster")


def send(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Post a body to an address; the status of the answer.

    Raises:
        Refused: The address is not accepted, or leads into a private network.
        OSError, HTTPException: There was no answer.
    """
    check_address(url)
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    with _connection(host, port, is_encrypted=parts.scheme == "https") as connected:
        connection = HTTPConnection(host, port)
        connection.sock = connected
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body, {"Host": parts.netloc, **headers})
        answer = connection.getresponse()
        try:
            return answer.status
        finally:
            answer.close()


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """The HMAC-SHA256 of the time, a point and the body, in hexadecimal."""
    return hmac.new(secret.encode(), b"%d.%s" % (timestamp, body), hashlib.sha256).hexdigest()


def deliver_due() -> None:
    """Send each event that is due, the oldest first.

    After a failure the webhook rests: an address that does not answer keeps a worker busy for one try in two minutes,
    however many events there are.
    """
    now = timezone.now()
    due = Delivery.objects.filter(due_at__lte=now, webhook__rests_until__lte=now).order_by("pk")
    failed: set[int] = set()
    waiting = list(due.values_list("pk", "webhook_id"))
    for delivery_id, webhook_id in waiting:
        if webhook_id not in failed and not _deliver(delivery_id):
            failed.add(webhook_id)
            Webhook.objects.filter(pk=webhook_id).update(rests_until=timezone.now() + FIRST_WAIT)
    if waiting:
        Delivery.objects.filter(created_at__lt=timezone.now() - KEPT).delete()


def _deliver(delivery_id: int) -> bool:
    """Send an event, unless another worker has taken it; False after a failure. No transaction waits for the answer."""
    now = timezone.now()
    claimed = Delivery.objects.filter(pk=delivery_id, due_at__lte=now)
    if not claimed.update(due_at=now + LEASE, n_tries=F("n_tries") + 1):
        return True
    delivery = Delivery.objects.select_related("webhook").filter(pk=delivery_id).first()
    if delivery is None:  # its webhook was removed
        return True
    status, error = _answer(delivery)
    is_last = delivery.n_tries >= MAX_TRIES
    wait = FIRST_WAIT * 2 ** (delivery.n_tries - 1)
    Delivery.objects.filter(pk=delivery_id).update(
        status=status,
        error=error[:300],
        delivered_at=None if error else timezone.now(),
        due_at=timezone.now() + wait if error and not is_last else None,
    )
    return not error


def _answer(delivery: Delivery) -> tuple[int | None, str]:
    """The status of the answer, None without one, and what was wrong; empty if the event was accepted."""
    body, timestamp = delivery.body.encode(), int(times.now().timestamp())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Assay",
        "Assay-Event": delivery.event,
        "Assay-Delivery": str(delivery.key),
        "Assay-Timestamp": str(timestamp),
        "Assay-Signature": signature(delivery.webhook.secret, timestamp, body),
    }
    try:
        status = send(delivery.webhook.url, body, headers)
    except Refused as refusal:
        return None, refusal.message
    except TimeoutError:
        return None, f"No answer within {SECONDS:g} seconds."
    except (OSError, HTTPException) as error:
        return None, f"No answer: {error or type(error).__name__}"
    if 200 <= status < 300:
        return status, ""
    moved = " Redirects are not followed." if 300 <= status < 400 else ""
    return status, f"The answer had the status {status}.{moved}"
