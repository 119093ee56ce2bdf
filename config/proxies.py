"""The address of a client behind proxies. `X-Forwarded-For` is believed only from TRUSTED_PROXIES."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from server.environment import Proxies

IPV6_PREFIX = 64  # bits of a network that is usually one customer, who has all its addresses


class ClientAddressMiddleware:
    """Replaces `REMOTE_ADDR` by the address of the client, so that all code behind it finds the real one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        peer, forwarded = request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", "")
        request.META["REMOTE_ADDR"] = client_address(peer, forwarded, settings.TRUSTED_PROXIES)
        return self.get_response(request)


def client_address(peer: str, forwarded: str, trusted: Proxies) -> str:
    """The address that the outermost trusted proxy saw.

    Each proxy appends the address of its client, so the header is read from the right, as long as the address read last
    belongs to a trusted proxy. Whatever a client wrote into the header itself is further left.
    """
    client = peer
    for n_read, hop in enumerate(reversed(forwarded.split(","))):
        address = _parsed(hop)
        if address is None or not _is_trusted(client, n_read, trusted):
            break
        client = str(address)
    return client


def _is_trusted(address: str, n_read: int, trusted: Proxies) -> bool:
    if isinstance(trusted, int):
        return n_read < trusted
    parsed = _parsed(address)
    return parsed is not None and any(parsed in network for network in trusted)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """An address, with or without a port; None for anything else."""
    text = text.strip().removeprefix("[").partition("]")[0]
    if text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def network_of(request: HttpRequest) -> str | None:
    """The address for which wrong passwords are counted: of IPv6, the start of the network of the client."""
    address = _parsed(request.META.get("REMOTE_ADDR", ""))
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False).network_address)
    return str(address) if address else None
