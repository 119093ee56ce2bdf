"""The points of a campaign's checklist. Each app registers those about its own rows. Decision: ADR 75.

Points are derived from the rows at each request; nobody ticks anything. `tracks.checklist.selectors` puts them together
and derives the next step.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache, cached_property
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Count, Exists, IntegerField, JSONField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.urls import get_resolver

from tracks.models import Track
from web.links import addresses
from web.statements import Statement, stored

NAMED = 5  # names in a sentence
# The tracks of a sorted list. Without the bounds, PostgreSQL expects ten tracks in any list, and finds a plan for every
# list too slow: it plans each execution, which takes ten times as long as the execution.
AMONG = """
WHERE tracks_track.id = ANY(%(tracks)s)
    AND tracks_track.id BETWEEN (%(tracks)s)[1] AND (%(tracks)s)[cardinality(%(tracks)s)]
"""
Value = TypeVar("Value")
Query = Callable[[Any], QuerySet[Any, Any]]  # of the rows of a track


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

    @property
    def accept(self) -> str:
        """The key that the track stores if its organizers accept the sentence; empty if it has an action."""
        return "" if self.action else f"look-{sha256(self.text.encode()).hexdigest()[:12]}"


class Point(NamedTuple):
    """A point of the checklist.

    Args:
        action: the words of the button if the point comes next, the same as on the page at the address.
        detail: why somebody does it, or what it needs, in whole sentences.
        is_form: the address takes a form without fields, and its effect can be undone: the button acts at once.
        is_possible: whether it can be done now. The checklist skips a point that cannot.
        waits: why nobody needs to act, as a whole sentence; the point is then not the next one.
        needed_by: the phase after whose beginning the point is no longer asked for; by default the one after its own.
        is_pressing: whether it is asked for although a later phase has begun.
        lasts: whether it stays recommended, but is no step any more, while an opened track takes runs.
        has_begun: whether its phase has begun, although it is not done.
        share: how much of it is done, from 0 to 1, for the bar of its phase.
        skip: a key. The point is recommended: organizers can skip it, and the track stores the key.
        dismiss: the words of the button that says on its page that it was done, `Mark as` and a word: see `mark`.
        meanwhile: what can be done while the point waits or instead of it, as words of a button and an address.
        look: returns problems without an action that take queries; only the home asks for them.
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
    lasts: bool = False
    has_begun: bool = False
    share: float = 0
    look: Callable[[], Iterable[Problem]] = tuple
    skip: str = ""
    dismiss: str = ""
    meanwhile: tuple[tuple[str, str], ...] = ()
    is_late: bool = False  # set by the checklist: it lasts, and its time to be the next step is over
    is_next: bool = False  # set by the checklist
    is_skipped: bool = False  # set by the checklist
    is_marked: bool = False  # set by the checklist
    accepted: tuple[Problem, ...] = ()  # set by the checklist

    @property
    def mark(self) -> str:
        """The key that the track stores instead if somebody says that it was done; empty if nobody can."""
        return f"{self.skip}:done" if self.skip and self.dismiss else ""

    @property
    def marked(self) -> str:
        """The word that it says about the point, such as `seen`."""
        return self.dismiss.removeprefix("Mark as ")


class Campaign:
    """A track whose points are asked for. One query reads all that the apps register with `numbers` and `listed`."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.protocol = track.protocol.parsed
        self._known: dict[Callable[..., Any], Any] = {}
        self._address_of = addresses()

    def address(self, name: str) -> str:
        return self._address_of(name, self.track.slug)

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The values that the apps register, and `now` by the clock of the database."""
        return _numbers_of([self.track])[self.track.pk]

    def rows(self, query: Query) -> list[Any]:
        """The rows of a registered query: objects, or dictionaries if it asks for `values`."""
        if query not in self._known:
            self._known[query] = _objects(query, self.numbers[_name_of(query)])
        rows: list[Any] = self._known[query]
        return rows

    def once(self, function: Callable[["Campaign"], Value]) -> Value:
        """The value that a function returns for the campaign. It is called once, whichever points need it."""
        if function not in self._known:
            self._known[function] = function(self)
        value: Value = self._known[function]
        return value


def campaigns_of(tracks: Sequence[Track]) -> list[Campaign]:
    """The campaigns of some tracks, with their numbers. One query."""
    known, campaigns = _numbers_of(tracks) if tracks else {}, [Campaign(track) for track in tracks]
    for campaign in campaigns:
        vars(campaign)["numbers"] = known[campaign.track.pk]
    return campaigns


def _numbers_of(tracks: Sequence[Track]) -> dict[int, dict[str, Any]]:
    """The numbers of each track."""
    names, statement = _statement()
    rows = statement.rows(tracks=sorted(track.pk for track in tracks))
    return {pk: dict(zip(names, values, strict=True)) for pk, *values in rows}


Points = Callable[[Campaign], Iterable[Point]]
_registered: dict[tuple[Phase, int], Points] = {}
_numbers: list[Callable[[], dict[str, Any]]] = []


def numbers(function: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Register expressions of a query of tracks, by name. Each process builds them once: write `Now()`, no time."""
    _numbers.append(function)
    return function


def listed(query: Query) -> Query:
    """Register a query of the rows of a track. Choose the fields with `only` or `values`; JSON carries them."""
    _numbers.append(lambda: {_name_of(query): _Listed(query)})
    return query


class _Listed(Subquery):
    """The rows of a query as JSON."""

    template = "(SELECT coalesce(json_agg(listed), '[]') FROM (%(subquery)s) listed)"

    def __init__(self, query: Query) -> None:
        fields, annotated = _columns_of(query)
        rows = query(OuterRef("pk"))
        named = rows.values(*[field.attname for field in fields], *annotated) if fields else rows
        super().__init__(named, output_field=JSONField())


def _name_of(query: Query) -> str:
    return f"{query.__module__}_{query.__name__}".replace(".", "_")


@cache
def _columns_of(query: Query) -> tuple[list[Any], list[str]]:
    """The fields of the objects that a query returns, and the names of its annotations; no fields for `values`."""
    rows = query(OuterRef("pk"))
    if not rows.query.default_cols:
        return [], []
    chosen, is_rest = rows.query.deferred_loading
    fields = [
        field
        for field in rows.model._meta.concrete_fields
        if field.primary_key or (field.name in chosen) != is_rest
    ]
    return fields, list(rows.query.annotations)


def _objects(query: Query, values: list[dict[str, Any]]) -> list[Any]:
    """The objects of a query from its rows as JSON."""
    fields, annotated = _columns_of(query)
    if not fields:
        return values
    return [
        stored(
            fields[0].model,
            [
                *((field.attname, field.to_python(row[field.attname])) for field in fields),
                *((name, row[name]) for name in annotated),
            ],
        )
        for row in values
    ]


@cache
def _statement() -> tuple[list[str], Statement]:
    """The names of all values, and the statement that reads them after the id of each track."""
    get_resolver().url_patterns  # noqa: B018 - `tracks.tabs` counts the rows of pages, which urls register
    asked = {name: value for function in _numbers for name, value in function().items()}
    query = Track.objects.order_by().values("pk", now=Now(), **asked).query
    with connection.cursor() as cursor:
        text = cursor.mogrify(*query.sql_with_params()).decode()
    return ["now", *asked], Statement(f"{text}{AMONG}")


def n_of(rows: QuerySet[Any, Any], track: str = "track") -> Coalesce:
    """The number of rows of a track, inside a query of tracks; `track` is the field that leads to it."""
    matching = rows.order_by().filter(**{track: OuterRef("pk")}).values(track)
    return Coalesce(Subquery(matching.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


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
    registered = sorted((place, function) for (at, place), function in _registered.items() if at == phase)
    return [point for _, function in registered for point in function(campaign)]


def named(names: list[str]) -> str:
    """Some names, as a part of a sentence."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
