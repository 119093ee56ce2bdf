"""The address of a client behind proxies. `X-Forwarded-For` is believed only from TRUSTED_PROXIES."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from server.environment import Proxies
from web.addresses import parsed as parsed_address


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
        address = parsed_address(hop)
        if address is None or not _is_trusted(client, n_read, trusted):
            break
        client = str(address)
    return client


def _is_trusted(address: str, n_read: int, trusted: Proxies) -> bool:
    if isinstance(trusted, int):
        return n_read < trusted
    parsed = parsed_address(address)
    return parsed is not None and any(parsed in network for network in trusted)
