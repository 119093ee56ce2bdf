"""Parts of every page: context and methods, the addresses that it goes on to, counted nouns, sizes and durations."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, gettext, ngettext
from django.views.decorators.http import require_http_methods

from assay.formats.text import notes_kept

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
MEGABYTE = 1_000_000
MOST_DIGITS = 18
ROWS_ON_PAGE = 100
ALL_ROWS = "all"  # in place of the number of a page
read_and_post = require_http_methods(["GET", "HEAD", "POST"])  # decorates the view of a page with a form


def context_of(page: "DataclassInstance") -> dict[str, object]:
    """The fields of a page by name, for its template. Shallow, so that querysets stay lazy."""
    return {field.name: getattr(page, field.name) for field in fields(page)}


def page_of(rows: Sequence[T], number: str | None) -> Page[T]:
    """A page of a long list: a hundred rows, or every row if the number is `all`. Decision: ADR 84."""
    pages = Paginator(rows, ROWS_ON_PAGE)
    if number == ALL_ROWS:
        pages.per_page = max(pages.count, 1)
    return pages.get_page(number)


FORM_PAGE: dict[str, object] = {
    "layout": "base.html",
    "style": "wide-form",
    "crumbs": (),
    "lead": "",
    "note": "",
    "saves": False,
}


def form_page(
    request: HttpRequest,
    form: BaseForm,
    heading: str,
    button: str,
    *,
    template: str = "form_page.html",
    **context: object,
) -> HttpResponse:
    """A page that is one form, with status 422 if the form has errors. `crumbs` are pairs of a label and an address.

    In a track, the button has the words of the next step where that leads, unless the form `saves` more than the step.
    """
    context = FORM_PAGE | {"form": form, "heading": heading, "button": button} | context
    return render(request, template, context, status=422 if form.errors else 200)


def site_of(request: HttpRequest) -> str:
    """The origin of the site for links that leave it, such as those in e-mails; a path of `reverse` follows it.

    It is `SITE_URL`. If that is not set, it is the host of the request, which its sender chooses.
    """
    return settings.SITE_URL or f"{request.scheme}://{request.get_host()}"


def local_address(request: HttpRequest, address: str) -> str:
    """An address that a form or a query string gave, if it is a page of this site; otherwise empty."""
    is_local = address.startswith("/") and url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if is_local else ""


@contextmanager
def notes_shown(request: HttpRequest) -> Iterator[None]:
    """Show notes on the encoding of the files that are read meanwhile, as messages."""
    with notes_kept() as notes:
        yield
    for note in notes:
        messages.info(request, note)


def numbers_in(texts: Iterable[str]) -> list[int]:
    """The numbers among texts of an address or a form. A number with more digits than an id is skipped."""
    return [int(text) for text in texts if text.isdecimal() and len(text) <= MOST_DIGITS]


def number_in(text: str, otherwise: int) -> int:
    """The number in a text of an address or a form; another one if the text is not a number."""
    return next(iter(numbers_in([text])), otherwise)


def counted(n: int, noun: str) -> str:
    """`3 runs`, `1 run`. Give an irregular plural after a comma: `counted(2, "batch,batches")` is `2 batches`."""
    return _counted(n, noun, get_language())


@lru_cache(maxsize=10_000, typed=True)
def _counted(n: int, noun: str, _language: str | None) -> str:
    """A page counts a dozen of things, and its next reader mostly the same numbers of them."""
    singular, _, plural = noun.partition(",")
    words = ngettext(f"{{n}} {singular}", f"{{n}} {plural or singular + 's'}", n)
    return words.format(n=number_format(n, force_grouping=True))


def countable(noun: str) -> str:
    """Mark a noun that `counted` gets from a variable, so that it is translated."""
    return noun


def size(n_bytes: int) -> str:
    """`1.5 GB`, `512 MB`, `0.3 MB`, `12 kB`: kilobytes are rounded up, so that only an empty file has none."""
    if n_bytes < MEGABYTE / 10:
        return f"{-(-n_bytes // 1000)} kB"
    megabytes = n_bytes / MEGABYTE
    if megabytes >= 1000:
        return f"{megabytes / 1000:,.1f} GB"
    return f"{megabytes:.0f} MB" if megabytes >= 100 else f"{megabytes:.1f} MB"


def hours(n: float | None) -> str:
    """A duration in hours: `12 h`, `1.5 h`, `20 min`, at least `1 min` if there is one; `–` if it is not known."""
    if n is None:
        return "–"
    if n < 1:
        return gettext("{n} min").format(n=f"{max(n * 60, 1) if n else 0:.0f}")
    digits = 0 if n >= 10 else 1  # number_format cuts off
    return gettext("{n} h").format(n=number_format(round(n, digits), digits, force_grouping=True))
