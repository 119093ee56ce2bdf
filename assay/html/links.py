"""Turns the links of a collection into links to its own posts, or into text.

`read` understands every form in which a Stack Exchange site writes the address of a post. The sanitizer stores the
result as a marker, which has no address::

    <a data-host="math.stackexchange.com" data-post="456" data-thread="123">   perhaps a post of the collection
    <a data-host="arxiv.org">                                                 an external link

The page decides whether a marker becomes a link, because only then the collection is complete: `posts` lists the
posts that markers name, and `resolve` writes the HTML with the addresses of the posts that exist. `hosts` are the
hosts of the collection. An empty host means that the link was relative, so to the collection's own site.
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
# The address of a post in any text, also inside the address of an archive; or a marker that was one.
_IN_TEXT = re.compile(
    r"/(?:questions|q|a|posts)/([0-9]{1,18})(?:/[^/\s\"'<>#()]*(?:/([0-9]{1,18}))?)?"
    r"(?:(?:\?[^/\s\"'<>()#]*)?\#(?:answer-|comment[0-9]+_)?([0-9]{1,18})\b)?"
    r"|href=[\"']?\#(?:answer-|comment[0-9]+_)?([0-9]{1,18})\b"
    r'|data-post="([0-9]{1,18})" data-thread="([0-9]{1,18})"'
)
_INSIDE = re.compile(r".*[^a-z]https?:/{1,2}([^/].*)", re.IGNORECASE | re.DOTALL)  # the last one
_IGNORED = re.compile(r"[\x00-\x20\x7f]+")
_MARKER = re.compile(r'<a((?: [a-z-]+="[^"]*")*)>|</a>')
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')


class Link(NamedTuple):
    """The target of a link: a host (empty: relative) and, for the address of a post, the post and its thread."""

    host: str
    post: str = ""
    thread: str = ""


def read(href: str) -> Link:
    """The target of an href. `post` is empty if it is not the address of a post.

    An archive's link has the archive's host and the post whose address is inside it, so that a check for leaks sees it.
    """
    href = _IGNORED.sub("", href)
    address = _ADDRESS.fullmatch(href)
    if address is None:
        match = _HOST.match(href)
        return Link((match[1] or match[2]).lower().rstrip(".") if match else "")
    host = (address["host"] or "").lower().rstrip(".")
    match, path = _FRAGMENT.fullmatch(address["fragment"] or ""), address["path"] or ""
    fragment = match[1] if match else ""
    if question := _QUESTION.fullmatch(path):
        return Link(host, fragment or question[2] or question[1], question[1])
    if short := _SHORT.fullmatch(path):
        return Link(host, fragment or short[1], short[1])
    if host and (inside := _INSIDE.match(href)) and (link := read(f"//{inside[1]}")).post:
        return link._replace(host=host)
    is_relative = not path and not host and fragment
    return Link(host, fragment, fragment) if is_relative else Link(host)


def marker(link: Link) -> str:
    """The opening tag of a link in stored HTML."""
    post = f' data-post="{link.post}" data-thread="{link.thread}"' if link.post else ""
    return f'<a data-host="{link.host}"{post}>'


def mentioned(text: str) -> Iterator[set[str]]:
    """The ids of each address of a post: in HTML or Markdown of a site, or in stored HTML, where it is a marker.

    >>> [sorted(ids) for ids in mentioned('See <a href="/questions/12/why/34">this</a> or /a/56.')]
    [['12', '34'], ['56']]
    >>> [sorted(ids) for ids in mentioned('See <a data-host="" data-post="34" data-thread="12">this</a>.')]
    [['12', '34']]
    """
    return (set(match.groups()) - {None} for match in _IN_TEXT.finditer(text))


def posts(fragments: Iterable[str], hosts: Collection[str]) -> set[str]:
    """The docnos of all posts and threads that markers in stored HTML name."""
    stored = (_stored(match) for html in fragments for match in _MARKER.finditer(html))
    ours = (link for link in stored if link and _is_ours(link, hosts))
    return {docno for link in ours for docno in (link.post, link.thread)}


def _stored(tag: re.Match[str]) -> Link | None:
    attributes = dict(_ATTRIBUTE.findall(tag[1] or ""))
    if "data-host" not in attributes:
        return None
    return Link(attributes["data-host"], attributes.get("data-post", ""), attributes.get("data-thread", ""))


def _is_ours(link: Link, hosts: Collection[str]) -> bool:
    return bool(link.post) and (not link.host or link.host in hosts)


def resolve(html: str, addresses: Mapping[str, str], hosts: Collection[str]) -> str:
    """Stored HTML as a page shows it, with a link or a text for each marker.

    `addresses` has the local address of each post in the collection. A link to such a post opens in a new tab. Any
    other link becomes text, marked as external.
    """
    if "<a" not in html:
        return html
    ends: list[str] = []

    def shown(match: re.Match[str]) -> str:
        if match[0] == "</a>":
            return ends.pop() if ends else ""
        link = _stored(match)
        if link is None:
            start, end = "<span>", "</span>"
        elif _is_ours(link, hosts) and (address := addresses.get(link.post) or addresses.get(link.thread)):
            start, end = (
                f'<a class="local-link" href="{escape(address)}" target="_blank" rel="noopener">',
                "</a>",
            )
        else:
            title = (
                f"External link to {link.host}, not followed" if link.host else "External link, not followed"
            )
            note = '<span class="visually-hidden"> (external link, not followed)</span>'
            start, end = f'<span class="external-link" title="{escape(title)}">', f"{note}</span>"
        ends.append(end)
        return start

    return _MARKER.sub(shown, html)
