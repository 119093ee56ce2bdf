"""Write the audit log.

The edge of the site states once per request who is acting (`acting`), and `record` reads it: a service that is called
by a page, an endpoint and the admin need not pass on who called it, and none can forget to. Commands and workers state
nothing. Decision: ADR 65.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import connection
from django.urls import get_script_prefix

from accounts.models import Event


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


class Track(Protocol):
    """The track of an event. The log is below the tracks, so it does not import their model."""

    pk: int
    slug: str


Listener = Callable[[Event, object], None]  # (event, subject): in the transaction that records the event
_listeners: list[Listener] = []


def on_event(listener: Listener) -> Listener:
    """Register a function of an app above this one that is called for each event of a track."""
    _listeners.append(listener)
    return listener


def record(
    *,
    action: str,
    subject: object = "",
    track: Track | None = None,
    details: Mapping[str, object] | None = None,
    by: AbstractBaseUser | None = None,
) -> Event:
    """Record what was done, in the transaction that does it: both are stored, or neither.

    Args:
        action: a noun and a participle, such as `batch.opened`. The pages show it as “batch opened”.
        subject: what was changed: a row, which is linked if it has a page, or a text.
        details: what else a reader needs, as JSON: a reason, numbers, or old and new values (`changes`).
        by: the person; by default the user of the request. Nobody for commands and workers.

    Raises:
        RuntimeError: There is no transaction.
    """
    # the transaction around a test does not count, as for Django's durable blocks
    if not any(not getattr(block, "_from_testcase", False) for block in connection.atomic_blocks):
        raise RuntimeError(f"{action} is recorded outside the transaction that does it")
    actor = _current.get()
    person = by or (actor.user() if actor else None)
    address = getattr(subject, "get_absolute_url", str)()
    event = Event.objects.create(
        by_id=person.pk if person else None,
        via=actor.via if actor else Event.Via.COMMAND,
        action=action,
        subject=str(subject)[:200],
        subject_path=address.removeprefix(get_script_prefix())[:500],
        track_id=track.pk if track else None,
        track_slug=track.slug if track else "",
        details=dict(details or {}),
    )
    for listener in _listeners if track else ():
        listener(event, subject)
    return event


def changes(before: object, after: object, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The old and the new value of each field that differs, for `details`."""
    pairs = {name: (str(getattr(before, name)), str(getattr(after, name))) for name in names}
    return {
        name.replace("_", " "): {"from": old, "to": new} for name, (old, new) in pairs.items() if old != new
    }
