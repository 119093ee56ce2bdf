"""Marks the views whose pages and messages are translated; every other page is in English. Decision: ADR 72."""

from collections.abc import Callable
from typing import Any, TypeVar

V = TypeVar("V", bound=Callable[..., Any])
EVERYBODY, USERS, ASSESSORS = "everybody", "users", "assessors"


def translated(view: V) -> V:
    """For everybody; a page of a track is in English for people who oversee it."""
    return _marked(view, EVERYBODY)


def translated_for_users(view: V) -> V:
    """As `translated`, but in English for visitors, as are the pages to which it leads."""
    return _marked(view, USERS)


def translated_for_assessors(view: V) -> V:
    """For assessors only, because participants and visitors open it in English: a page of a track for its own
    assessors, another one for people who only judge.
    """
    return _marked(view, ASSESSORS)


def readers_of(view: object) -> str:
    """Return `EVERYBODY`, `USERS` or `ASSESSORS`; empty if the pages of a view are in English."""
    return str(getattr(view, "translated_for", ""))


def _marked(view: V, readers: str) -> V:
    view.translated_for = readers  # type: ignore[attr-defined]
    return view
