"""Addresses of clients, and the network for which attempts are counted."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.http import HttpRequest

IPV6_PREFIX = 64  # bits of a network that is usually one customer, who has all its addresses


def parsed(text: str) -> IPv4Address | IPv6Address | None:
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
    address = parsed(request.META.get("REMOTE_ADDR", ""))
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False).network_address)
    return str(address) if address else None
