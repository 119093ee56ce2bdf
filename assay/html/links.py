"""Which post of a collection a link means. A kernel: no Django, no network.

`read` understands every form in which a Stack Exchange site writes the address of a post. The sanitizer stores what
it says as a neutral marker, which leads nowhere by itself:

    <a data-host="math.stackexchange.com" data-post="456" data-thread="123">   may lead to a post of the collection
    <a data-host="arxiv.org">                                                 leads elsewhere

Whether a marker becomes a link is decided where it is shown, when the whole collection is in: `posts` lists the posts
that markers name, `resolve` writes the HTML with the addresses of those that exist. `hosts` are the collection's; an
empty host means that the link was relative, hence to the collection's own site.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from html import escape
from typing import NamedTuple

_ADDRESS = re.compile(
    r"(?:(?:https?:)?//(?P<host>[a-z0-9.-]{1,253})(?::(?:80|443))?(?=[/?#]|$))?(?P<path>/[^?#]*)?(?:\?[^#]*)?(?:#(?P<fragment>.*))?",
    re.IGNORECASE | re.DOTALL,
)
_HOST = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^/?#@\\]*@)?([a-z0-9.-]{1,253})|//([a-z0-9.-]{1,253})", re.IGNORECASE
)
_QUESTION = re.compile(r"/questions/(\d{1,18})(?:/[^/]*(?:/(\d{1,18}))?)?/?")
_SHORT = re.compile(r"/(?:q|a|posts)/(\d{1,18})(?:/\d+)?/?")
_FRAGMENT = re.compile(r"(?:answer-|comment\d+_)?(\d{1,18})")
_IGNORED = re.compile(r"[\x00-\x20\x7f]+")
_MARKER = re.compile(r'<a((?: [a-z-]+="[^"]*")*)>|</a>')
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')


class Link(NamedTuple):
    """Where a link goes: a host (empty: relative) and, if its form is that of a post, the post and its thread."""

    host: str
    post: str = ""
    thread: str = ""


def read(href: str) -> Link:
    """What an href means. Anything that is not the address of a post has an empty `post`."""
    href = _IGNORED.sub("", href)
    address = _ADDRESS.fullmatch(href)
    if address is None:
        return Link(_host(href))
    host = (address["host"] or "").lower().rstrip(".")
    fragment = _FRAGMENT.fullmatch(address["fragment"] or "")
    return _post(host, address["path"] or "", fragment[1] if fragment else "")


def _post(host: str, path: str, fragment: str) -> Link:
    if question := _QUESTION.fullmatch(path):
        return Link(host, fragment or question[2] or question[1], question[1])
    if short := _SHORT.fullmatch(path):
        return Link(host, fragment or short[1], short[1])
    if not path and not host and fragment:
        return Link(host, fragment, fragment)
    return Link(host)


def _host(href: str) -> str:
    found = _HOST.match(href)
    return (found[1] or found[2]).lower().rstrip(".") if found else ""


def marker(link: Link) -> str:
    """The opening tag that stands for a link in stored HTML."""
    post = f' data-post="{link.post}" data-thread="{link.thread}"' if link.post else ""
    return f'<a data-host="{link.host}"{post}>'


def posts(fragments: Iterable[str], hosts: Collection[str]) -> set[str]:
    """Docnos of all posts and threads that the markers in some stored HTML name."""
    links = (link for html in fragments for link in _markers(html) if _is_ours(link, hosts))
    return {docno for link in links for docno in (link.post, link.thread)}


def _markers(html: str) -> Iterator[Link]:
    for found in _MARKER.finditer(html):
        if link := _stored(found):
            yield link


def _stored(found: re.Match[str]) -> Link | None:
    attributes = dict(_ATTRIBUTE.findall(found[1] or ""))
    if "data-host" not in attributes:
        return None
    return Link(attributes["data-host"], attributes.get("data-post", ""), attributes.get("data-thread", ""))


def _is_ours(link: Link, hosts: Collection[str]) -> bool:
    return bool(link.post) and (not link.host or link.host in hosts)


def resolve(html: str, addresses: Mapping[str, str], hosts: Collection[str]) -> str:
    """Stored HTML with its markers turned into what a reader sees.

    `addresses` gives the local address of each post that the collection has. A link to one of them opens in a new
    tab; every other link is text, marked as external.
    """
    if "<a" not in html:
        return html
    ends: list[str] = []
    return _MARKER.sub(lambda found: _shown(found, ends, addresses, hosts), html)


def _shown(
    found: re.Match[str], ends: list[str], addresses: Mapping[str, str], hosts: Collection[str]
) -> str:
    if found[0] == "</a>":
        return ends.pop() if ends else ""
    link = _stored(found)
    if link is None:
        start, end = "<span>", "</span>"
    elif _is_ours(link, hosts) and (address := addresses.get(link.post) or addresses.get(link.thread)):
        start, end = _local(address)
    else:
        start, end = _external(link.host)
    ends.append(end)
    return start


def _local(address: str) -> tuple[str, str]:
    return f'<a class="local-link" href="{escape(address)}" target="_blank" rel="noopener">', "</a>"


def _external(host: str) -> tuple[str, str]:
    title = f"External link to {host}, not followed" if host else "External link, not followed"
    said = '<span class="visually-hidden"> (external link, not followed)</span>'
    return f'<span class="external-link" title="{escape(title)}">', f"{said}</span>"
