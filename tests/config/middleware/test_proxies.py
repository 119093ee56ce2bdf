"""The address of a client behind proxies, and what counts wrong passwords by it."""

from ipaddress import ip_network

import pytest
from django.test import Client
from django.urls import reverse

from config.middleware.proxies import client_address
from server.environment import Proxies
from tests.helpers.factories import PASSWORD, make_user

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


@pytest.mark.django_db
def test_stranger_behind_the_same_proxy_does_not_lock_out_the_organizer(settings: object) -> None:
    settings.TRUSTED_PROXIES = 1  # type: ignore[attr-defined]
    make_user("ada", is_staff=True)

    assert fail("198.51.100.1", 10) == 429
    assert log_in("198.51.100.1") == 429
    assert log_in("203.0.113.9") == 302


@pytest.mark.django_db
def test_invented_addresses_do_not_escape_the_lock(settings: object) -> None:
    settings.TRUSTED_PROXIES = 1  # type: ignore[attr-defined]
    make_user("ada")

    for n in range(10):
        fail(f"192.0.2.{n}, 198.51.100.1", 1)

    assert log_in("192.0.2.99, 198.51.100.1") == 429


@pytest.mark.django_db
def test_addresses_of_one_ipv6_network_are_counted_together(settings: object) -> None:
    settings.TRUSTED_PROXIES = 1  # type: ignore[attr-defined]
    make_user("ada")

    for n in range(10):
        fail(f"2001:db8:1:1::{n:x}", 1)

    assert log_in("2001:db8:1:1:ffff::1") == 429
    assert log_in("2001:db8:1:2::1") == 302


@pytest.mark.django_db
def test_lock_ends_although_somebody_goes_on(client: Client) -> None:
    from axes.models import AccessAttempt

    make_user("ada")
    fail("", 10)
    locked_at = AccessAttempt.objects.get().attempt_time

    assert fail("", 5) == 429
    assert AccessAttempt.objects.get().attempt_time == locked_at
