"""The points of a campaign's checklist. Each app registers those about its own rows. Decision: ADR 75.

Points are derived from the rows at each request; nobody ticks anything. `tracks.checklist.selectors` puts them together
and derives the next step.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from django.db.models import Count, Exists, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.urls import reverse

from tracks.models import Track

NAMED = 5  # names in a sentence
Rows = TypeVar("Rows")


class Phase(StrEnum):
    """The phases of a campaign, in their order."""

    SET_UP = "Set up"
    RUNS = "Runs"
    JUDGING = "Judging"
    RESULTS = "Results"


PHASES = list(Phase)


class Problem(NamedTuple):
    """Something to look at, as a whole sentence, and the page that solves it: that of its point if it has none.

    A problem with an action blocks its phase: the campaign must not go on without it. The action is the words of the
    button there; `is_form` says that the address takes a form without fields, so that the button acts at once.
    """

    text: str
    address: str = ""
    action: str = ""
    is_form: bool = False


class Point(NamedTuple):
    """A point of the checklist.

    Args:
        action: the words of the button if the point comes next, the same as on the page at the address.
        is_form: the address takes a form without fields, and its effect can be undone: the button acts at once.
        is_possible: whether it can be done now. The checklist skips a point that cannot.
        waits: why nobody needs to act, as a whole sentence; the point is then not the next one.
        needed_by: the phase after whose beginning the point is no longer asked for; by default the one after its own.
        is_pressing: whether it is asked for although a later phase has begun.
        has_begun: whether its phase has begun, although it is not done.
    """

    label: str
    state: str
    address: str
    is_done: bool
    problems: tuple[Problem, ...] = ()
    action: str = ""
    detail: str = ""
    is_form: bool = False
    is_optional: bool = False
    is_possible: bool = True
    waits: str = ""
    needed_by: Phase | None = None
    is_pressing: bool = False
    has_begun: bool = False
    is_next: bool = False  # set by the checklist


class Campaign:
    """A track whose points are asked for. Each selector of rows is asked once, whichever points need it."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.protocol = track.protocol.parsed
        self._rows: dict[Callable[[Track], Any], Any] = {}

    def address(self, name: str) -> str:
        return reverse(name, args=[self.track.slug])

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The values that the apps register with `numbers`, and `now` by the clock of the database. One query."""
        asked = {name: value for function in _numbers for name, value in function().items()}
        return dict(Track.objects.filter(pk=self.track.pk).values(now=Now(), **asked).get())

    def rows(self, selector: Callable[[Track], Rows]) -> Rows:
        """Return what a selector returns for the track, without a query if its number says that there is nothing."""
        if selector not in self._rows:
            number, nothing = _lists.get(selector, ("", list))
            is_asked = not number or self.numbers[number]
            self._rows[selector] = selector(self.track) if is_asked else nothing()
        rows: Rows = self._rows[selector]
        return rows


Points = Callable[[Campaign], Iterable[Point]]
_registered: dict[tuple[Phase, int], Points] = {}
_numbers: list[Callable[[], dict[str, Any]]] = []
_lists: dict[Callable[[Track], Any], tuple[str, Callable[[], Any]]] = {}


def numbers(function: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Register expressions of a query of tracks, by name: one query asks for all, however many points there are."""
    _numbers.append(function)
    return function


def asked_if(
    number: str, nothing: Callable[[], Any] = list
) -> Callable[[Callable[[Track], Rows]], Callable[[Track], Rows]]:
    """Register that a selector returns what `nothing` does, and need not be asked, if a number is 0 or false."""

    def register(selector: Callable[[Track], Rows]) -> Callable[[Track], Rows]:
        _lists[selector] = (number, nothing)
        return selector

    return register


def n_of(rows: QuerySet[Any, Any], track: str = "track") -> Coalesce:
    """The number of rows of a track, inside a query of tracks; `track` is the field that leads to it."""
    of_track = rows.order_by().filter(**{track: OuterRef("pk")}).values(track)
    return Coalesce(Subquery(of_track.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


def any_of(rows: QuerySet[Any, Any], track: str = "track") -> Exists:
    """The condition that a track has such rows, inside a query of tracks."""
    return Exists(rows.order_by().filter(**{track: OuterRef("pk")}))


def points(phase: Phase, place: int) -> Callable[[Points], Points]:
    """Register a function that returns points at a place of a phase."""

    def register(function: Points) -> Points:
        if _registered.setdefault((phase, place), function) is not function:
            raise ValueError(f"two functions return the points of {phase} at place {place}")
        return function

    return register


def points_of(campaign: Campaign, phase: Phase) -> list[Point]:
    """The points of a phase, in their order."""
    of_phase = sorted((place, function) for (at, place), function in _registered.items() if at == phase)
    return [point for _, function in of_phase for point in function(campaign)]


def named(names: list[str]) -> str:
    """Some names, as a part of a sentence."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
