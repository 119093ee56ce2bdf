"""Pages of a track without what its chairs would be refused. Decision: ADR 65.

Whether a view takes a form from chairs is decided by its decorator (`accounts.access`), and by nothing else. So this
middleware asks the decorators: it looks up where each form and link of a page leads, and cuts out a form that chairs
may not send, and a link to a page that is only such a form. It does nothing for anybody but chairs.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, ResolverMatch, resolve

from accounts.models import User
from config.middleware import Middleware
from web.addresses import belongs_to_track, track_at

ATTRIBUTE = re.compile(r'\b(action|class|form|href|id|method)="([^"]*)"')


ID = re.compile(r'\bid="([^"]+)"')
OF_ORGANIZERS = "of-organizers"  # the class of a part of a page that is about a form only


class ChairMiddleware(Middleware):
    """Cuts what a chair would be refused out of a page of the track."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_page = not response.streaming and response.get("Content-Type", "").startswith("text/html")
        if is_page and is_chair(request):
            response.content = without_forms(response.content.decode(), request.path).encode()
            if response.has_header("Content-Length"):
                response["Content-Length"] = str(len(response.content))
        return response


def is_chair(request: HttpRequest) -> bool:
    """Return whether the page of a request belongs to a track that its user chairs. No query for others."""
    match = request.resolver_match
    # Public pages do not depend on the user, so it is not looked up for them.
    if match is None or not belongs_to_track(match):
        return False
    user = request.user
    if not isinstance(user, User) or not any(role.is_chair for role in user.roles.values()):
        return False
    role = user.role_at(track_at(match))
    return role is not None and role.is_chair


def is_refused(address: str) -> bool:
    """Return whether the page at an address is only a form that chairs may not send."""
    return _is_of_organizers(address, attribute="is_form")


def without_forms(page: str, path: str) -> str:
    """The page at a path without forms that change the track, what is about them only, and links to pages of forms."""
    cut: set[str] = set()  # ids of what is left out

    def form(tag: Mapping[str, str], whole: str) -> str:
        if tag.get("method", "get").lower() != "post" or not _is_of_organizers(tag.get("action") or path):
            return whole
        cut.update({tag.get("id", "")} - {""})
        return ""

    def link(tag: Mapping[str, str], whole: str) -> str:
        address = tag.get("href", "")
        is_of_cut = address.startswith(("?", "#")) and address.partition("#")[2] in cut
        if not (is_of_cut or is_refused(address)):
            return whole
        return "" if "btn" in tag.get("class", "") else whole[whole.index(">") + 1 : -len("</a>")]

    def part(tag: Mapping[str, str], whole: str) -> str:
        if OF_ORGANIZERS not in tag.get("class", "").split():
            return whole
        cut.update(ID.findall(whole))
        return ""

    for name in ("details", "section"):
        page = _replaced(page, name, part)
    page = _replaced(_replaced(page, "form", form), "a", link)
    return _replaced(page, "button", lambda tag, whole: "" if tag.get("form") in cut else whole)


def _replaced(page: str, name: str, change: Callable[[Mapping[str, str], str], str]) -> str:
    """The page with what `change` makes of each element of a name, from its attributes and the whole element.

    Templates write each tag in the same way, and text of people is escaped or sanitized, so that it contains no form.
    """
    parts: list[str] = []
    done, start = 0, page.find(f"<{name}")
    while start >= 0:
        end_of_tag = page.find(">", start)
        end = page.find(f"</{name}>", end_of_tag)
        if min(end_of_tag, end) < 0:
            break
        after = start
        if not page[start + len(name) + 1].isalnum():  # not <article> for <a>
            after = end + len(name) + 3
            parts += [
                page[done:start],
                change(dict(ATTRIBUTE.findall(page[start:end_of_tag])), page[start:after]),
            ]
            done = after
        start = page.find(f"<{name}", max(after, start + 1))
    return "".join([*parts, page[done:]])


@lru_cache(maxsize=4096)  # a page has many links, and each takes a third of a millisecond to resolve
def _is_of_organizers(address: str, attribute: str = "is_of_organizers") -> bool:
    """Return whether the view at an address of this site refuses what chairs would send to it."""
    try:
        target: ResolverMatch = resolve(urlsplit(address).path)
    except (Resolver404, ValueError):
        return False
    view: Any = target.func
    return bool(vars(view).get(attribute))
