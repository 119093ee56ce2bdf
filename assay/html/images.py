"""Shows the images of a collection in the place of the placeholders of stored HTML.

The sanitizer replaces every image by a placeholder. If the URL of the image can name a file, the placeholder keeps host
and path of the URL, its *reference*::

    <span class="image-placeholder" data-image="i.stack.imgur.com/vTmU2.gif">[Image: a graph]</span>

The page decides whether a placeholder becomes an image, because images may be imported later than posts: `references`
lists those that stored HTML names, and `show` writes the elements of the images that exist. A file matches a
reference that ends in its name: `vTmU2.gif` and `i.stack.imgur.com/vTmU2.gif` both match the one above.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

MAX_CHARACTERS = 300
MAX_PARTS = 12  # of a path
_SCHEME = re.compile(r"(?:https?:)?//(?:www\.)?", re.IGNORECASE)
# What would need escaping in an attribute, begins a formula, or is no part of a usual file name.
_UNFIT = re.compile('[\x00-\x1f\x7f"<>&$\\\\`:|*?#\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]')
_DESCRIPTION = r'([^<]*+(?>(?:<span class="(?:math-container|dollar)"[^<>]*>[^<]*+</span>[^<]*+)*))</span>'
_PLACEHOLDER = re.compile(r'<span class="image-placeholder" data-image="([^"]*)">' + _DESCRIPTION)
ANY_PLACEHOLDER = re.compile(r'<span class="image-placeholder"(?: data-image="[^"]*")?>' + _DESCRIPTION)
_REFERENCE = re.compile(r'<span class="image-placeholder" data-image="[^"]*">')
_FORMULA = re.compile(r'<span class="math-container"[^<>]*>([^<]*)</span>')
_TAG = re.compile("<[^<>]*>")
_WORDS = re.compile(r"\[Image(?:: (.*?))?(?: \(at [^()\s]*\))?\]", re.DOTALL)
_NO_DESCRIPTION = "enter image description here"  # what Stack Exchange writes by itself


class ShownImage(NamedTuple):
    """An image of a collection: its local address, and its size in pixels."""

    address: str
    width: int
    height: int


def reference_in(url: str) -> str:
    """The host and path of the URL of an image, or a relative path; empty if no file can have such a name."""
    path = _SCHEME.sub("", url.strip(), count=1).partition("#")[0].partition("?")[0]
    return file_name(unquote(path))


def described(description: str, host: str) -> str:
    """The text of a placeholder, in brackets."""
    return "[Image" + (f": {description}" if description else "") + (f" (at {host})]" if host else "]")


def placeholder(reference: str) -> str:
    image = f' data-image="{reference}"' if reference else ""
    return f'<span class="image-placeholder"{image}>'


def file_name(path: str) -> str:
    """The path of a file as references name it; empty if no reference can."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    name = "/".join(parts)
    is_fit = parts and ".." not in parts and len(parts) <= MAX_PARTS and len(name) <= MAX_CHARACTERS
    return name if is_fit and not _UNFIT.search(name) else ""


def file_names(reference: str) -> list[str]:
    """The names of the files that match a reference, the most exact first."""
    parts = reference.split("/")
    return ["/".join(parts[i:]) for i in range(len(parts))]


def without_placeholders(html: str) -> str:
    """Sanitized HTML without the placeholders of its images, whose words the source does not have."""
    return ANY_PLACEHOLDER.sub("", html) if "image-placeholder" in html else html


def references(texts: Iterable[str]) -> set[str]:
    """The references of all placeholders in stored HTML."""
    return {match[1] for text in texts if "data-image" in text for match in _PLACEHOLDER.finditer(text)}


def show(html: str, images: Mapping[str, ShownImage]) -> str:
    """Stored HTML with the images that exist, by reference. Each has a text: what the post says about it.

    The other placeholders stay, without their reference.
    """
    if "data-image" not in html:
        return html

    def element(match: re.Match[str]) -> str:
        if (image := images.get(match[1])) is None:
            return match[0]
        # The text of the placeholder without its frame, escaped for an attribute.
        words = _WORDS.fullmatch(_TAG.sub("", _FORMULA.sub(r"$\1$", match[2])))
        description = ((words[1] if words else "") or "").strip().replace('"', "&quot;")
        alt = "Image" if description in {"", _NO_DESCRIPTION} else description
        return (
            f'<img class="post-image" src="{image.address}" width="{image.width}" height="{image.height}" '
            f'alt="{alt}" loading="lazy" decoding="async">'
        )

    html = _PLACEHOLDER.sub(element, html) if images else html
    return _REFERENCE.sub(placeholder(""), html)
