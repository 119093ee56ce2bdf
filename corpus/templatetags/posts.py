"""Filters that show stored posts on a page."""

from collections.abc import Mapping

from django import template
from django.utils.safestring import SafeString, mark_safe

from assay.html import images, links, sanitize
from corpus.collections.selectors import counts_in_words

register = template.Library()
register.filter("in_words", counts_in_words)


@register.filter
def as_body(html: str) -> SafeString:
    """A stored body or comment. If no selector has resolved its links and images, they are shown as text."""
    return html if isinstance(html, SafeString) else mark_safe(images.show(links.resolve(html, {}, ()), {}))  # noqa: S308


@register.filter
def as_title(html: str) -> SafeString:
    """A stored title with its formulas."""
    return mark_safe(html)  # noqa: S308 - sanitized before it was stored


@register.filter
def with_formulas(text: str) -> SafeString:
    """Plain text, such as a comment of an assessor: formulas between dollars are typeset, all else is escaped."""
    return mark_safe(sanitize.clean_title(text))  # noqa: S308 - sanitized here


@register.filter
def shown(documents: Mapping[str, object], docno: str) -> object:
    """The part of a document that a page shows; None if it shows nothing of it."""
    return documents.get(docno)


@register.filter
def as_text(html: str) -> str:
    """A stored title or body as plain text, for `<title>` and labels."""
    return sanitize.plain(html)
