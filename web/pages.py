"""The context of a page, from the dataclass that a selector returns, and the addresses that a page goes on to."""

from dataclasses import fields
from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def context_of(page: "DataclassInstance") -> dict[str, object]:
    """The fields of a page by name, for its template. Shallow, so that querysets stay lazy."""
    return {field.name: getattr(page, field.name) for field in fields(page)}


def site_of(request: HttpRequest) -> str:
    """The origin of the site; a path of `reverse` follows it."""
    return f"{request.scheme}://{request.get_host()}"


def local_address(request: HttpRequest, address: str) -> str:
    """An address that a form or a query string gave, if it is a page of this site; otherwise empty."""
    is_local = address.startswith("/") and url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if is_local else ""
