"""Who is acting: the edge of the site states it once per request, and `audit.services.record` reads it.

A service that is called by a page, an endpoint and the admin need not pass on who called it, and none can forget to.
Commands and workers state nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from django.contrib.auth.base_user import AbstractBaseUser

from audit.models import Event


class Actor(NamedTuple):
    """The user is asked for when something is recorded: an API request may find its user late."""

    user: Callable[[], AbstractBaseUser | None]
    via: str


_current: ContextVar[Actor | None] = ContextVar("actor", default=None)


@contextmanager
def acting(user: Callable[[], AbstractBaseUser | None], via: str) -> Iterator[None]:
    """Within this block, what is recorded without a person is recorded for this one."""
    token = _current.set(Actor(user, via))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> tuple[AbstractBaseUser | None, str]:
    """The person who acts now, and through what."""
    actor = _current.get()
    return (actor.user(), actor.via) if actor else (None, Event.Via.COMMAND)
