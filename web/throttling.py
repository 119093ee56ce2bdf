"""Counts the requests of an address over all web processes, and limits forms without a login."""

import time
from collections.abc import Callable
from functools import wraps
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Concatenate, ParamSpec

from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext_lazy

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
HOUR = 3600
OF_A_CLASS = 600  # forms an hour: a class or a lab shares one address
TOO_MANY = {
    "title": gettext_lazy("Too many requests"),
    "message": gettext_lazy("This form was sent too often from your network address. Try again in an hour."),
}
IPV6_PREFIX = 64  # bits of a network that is usually one customer, who has all its addresses


def limited(name: str, *, per_hour: int = OF_A_CLASS) -> Callable[[View[P]], View[P]]:
    """Answer POST requests beyond a number per address and hour with 429. Without the cache, nothing is limited."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if request.method == "POST" and count(f"{name}:{network_of(request)}", HOUR) > per_hour:
                return render(request, "409.html", TOO_MANY, status=429)
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def count(name: str, seconds: int) -> int:
    """Count one more event of this hour or minute; how many there are. 1 if the cache does not answer."""
    key = key_of(name, seconds)
    cache.add(key, 0, seconds)
    try:
        return cache.incr(key)
    except ValueError:
        return 1


def key_of(name: str, seconds: int) -> str:
    return f"limited:{seconds}:{int(time.time()) // seconds}:{name}"


def parsed_address(text: str) -> IPv4Address | IPv6Address | None:
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
    address = parsed_address(request.META.get("REMOTE_ADDR", ""))
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False).network_address)
    return str(address) if address else None
