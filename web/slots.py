"""Slots: places in pages of the core that extensions fill with templates of their own, in their `urls.py`."""

from collections import defaultdict

from django.urls import NoReverseMatch

from web.links import address_of

_TEMPLATES: defaultdict[str, list[str]] = defaultdict(list)


def fill(place: str, template: str) -> None:
    """Show a template at a place, `{% slot "PLACE" %}`, with the context of the page."""
    _TEMPLATES[place].append(template)


def templates_of(place: str) -> list[str]:
    return _TEMPLATES[place]


def address_if_known(view: str, *arguments: object) -> str:
    """The address of a page of an extension, or of the first page if the site does not have the extension."""
    try:
        return address_of(view, *arguments)
    except NoReverseMatch:
        return address_of("home")
