"""Slots: places in pages that apps and extensions fill with templates of their own, in their `urls.py`."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.urls import NoReverseMatch

from web.links import address_of

Values = Callable[[Any], Mapping[str, object]]  # what a template shows to the user of the page


class Part(NamedTuple):
    template: str
    values: Values


_PARTS: defaultdict[str, list[Part]] = defaultdict(list)


def fill(place: str, template: str, values: Values = lambda _user: {}) -> None:
    """Show a template at a place, `{% slot "PLACE" %}`, with the context of the page and these values."""
    _PARTS[place].append(Part(template, values))


def parts_of(place: str) -> list[Part]:
    return _PARTS[place]


def address_if_known(view: str, *arguments: object) -> str:
    """The address of a page of an extension, or of the first page if the site does not have the extension."""
    try:
        return address_of(view, *arguments)
    except NoReverseMatch:
        return address_of("home")
