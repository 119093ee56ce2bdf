"""The navigation of a track: its pages in sections, each with a count. Each app registers its pages in its `urls.py`.

People who oversee a track see all sections. Others see the tabs of some of its pages, at most six.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import ResolverMatch

from accounts.access import AnyUser
from tracks.assessors.selectors import is_assessor
from tracks.checklist.points import Campaign, numbers
from tracks.models import Track
from web.links import address_of, addresses

MOST_TABS = 6


class Section(StrEnum):
    """The sections of a track, in their order: its home, the four phases of a campaign, and its settings."""

    HOME = "Home"
    SET_UP = "Set up"
    RUNS = "Runs"
    JUDGING = "Judging"
    RESULTS = "Results"
    SETTINGS = "Settings"


ICONS = {
    Section.HOME: "house",
    Section.SET_UP: "sliders",
    Section.RUNS: "collection",
    Section.JUDGING: "check2-square",
    Section.RESULTS: "bar-chart-line",
    Section.SETTINGS: "gear",
}


class Visitor:
    """Somebody who reads the public pages of a track."""

    def __init__(self, user: AnyUser, track: Track) -> None:
        self.user, self.track = user, track

    @cached_property
    def judges(self) -> bool:
        return is_assessor(self.user, self.track)

    @property
    def is_administrator(self) -> bool:
        return bool(getattr(self.user, "is_administrator", False))


class Page(NamedTuple):
    """A page of a track in its navigation.

    Args:
        place: its place in its section.
        below: the names of the views of the pages that are reached from it, of the same app unless they name another.
        rows: what the navigation counts; the rows of a track are those with `OuterRef("pk")`.
        n: what it counts instead, from what the campaign has read.
        is_in: whether a track has the page.
        address: its address, if it is not that of the view with the track.
        tab: its place among the tabs of other people, who see `tab_label`; 0 if they have none.
        is_for: whether somebody has the tab.
        label_in: its label in a track, if that is not always `label`.
    """

    label: str
    view: str
    section: Section
    place: int
    below: str = ""
    rows: QuerySet[Any] | None = None
    n: Callable[[Campaign], int] | None = None
    is_in: Callable[[Track], bool] = lambda track: True
    address: Callable[[Track], str] | None = None
    tab: int = 0
    tab_label: str = ""
    is_for: Callable[[Visitor], bool] = lambda visitor: True
    label_in: Callable[[Track], str] | None = None

    def name_in(self, track: Track) -> str:
        return self.label_in(track) if self.label_in else self.label

    def address_in(self, track: Track, address: Callable[..., str] = address_of) -> str:
        return self.address(track) if self.address else address(self.view, track.slug)


class Item(NamedTuple):
    """A page as a link. `n` is None where nothing is counted."""

    label: str
    address: str
    is_current: bool
    n: int | None = None


class Phase(NamedTuple):
    """A section as it is shown, with its pages. `is_here` says that the current page is one of them.

    The pages of the others are folded, unless the next step is there.
    """

    label: str
    icon: str
    state: str
    is_done: bool
    has_next: bool
    items: tuple[Item, ...]
    is_here: bool


_pages: dict[str, Page] = {}
_page_of_view: dict[str, Page] = {}
_by_section: dict[Section, list[Page]] = {section: [] for section in Section}


def register(*pages: Page) -> None:
    """Add pages to the navigation of tracks."""
    for page in pages:
        app = page.view.partition(":")[0]
        views = [page.view, *(name if ":" in name else f"{app}:{name}" for name in page.below.split())]
        for view in views:
            if _page_of_view.setdefault(view, page).view != page.view:
                raise ValueError(f"{view} is below two pages: {_page_of_view[view].label} and {page.label}")
        _pages[page.view] = page
    for section, of_section in _by_section.items():
        in_section = (page for page in _pages.values() if page.section == section)
        of_section[:] = sorted(in_section, key=lambda page: page.place)


def page_of(match: ResolverMatch | None) -> Page | None:
    return _page_of_view.get(match.view_name) if match else None


def rows_of_track(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The rows of a track, for `Page.rows`."""
    return rows.filter(track=OuterRef("pk"))


@numbers
def _counts() -> dict[str, Any]:
    """The number of rows of each page that counts some."""
    return {_name_of(page): _number(page.rows) for page in _pages.values() if page.rows is not None}


def _name_of(page: Page) -> str:
    return f"n_{page.view.replace(':', '_')}"


def _number(rows: QuerySet[Any]) -> Coalesce:
    by_track = rows.order_by().values("track").annotate(n=Count("pk", distinct=True)).values("n")
    return Coalesce(Subquery(by_track), 0)


def track_nav(
    campaign: Campaign, match: ResolverMatch | None, states: dict[str, tuple[str, bool, bool]]
) -> list[Phase]:
    """The sections of a track with their pages, for people who oversee it. Its campaign knows their counts.

    `states` are those of the phases of its campaign: how far each is in a word, whether it is done, and whether it has
    the next step.
    """
    track, here, address = campaign.track, page_of(match), addresses()
    phases = []
    for section in Section:
        items = tuple(
            Item(
                page.name_in(track),
                page.address_in(track, address),
                page is here,
                page.n(campaign) if page.n else campaign.numbers.get(_name_of(page)),
            )
            for page in _by_section[section]
            if page.is_in(track)
        )
        is_here = here is not None and here.section == section
        phases.append(
            Phase(section, ICONS[section], *states.get(section, ("", False, False)), items, is_here)
        )
    return phases


def track_tabs(user: AnyUser, track: Track, match: ResolverMatch | None) -> list[Item]:
    """The tabs of a track for somebody who does not oversee it. Each page checks permissions itself."""
    visitor, here = Visitor(user, track), page_of(match)
    pages = sorted((page for page in _pages.values() if page.tab), key=lambda page: page.tab)
    shown = [page for page in pages if page.is_in(track) and page.is_for(visitor)][:MOST_TABS]
    return [
        Item(page.tab_label or page.name_in(track), page.address_in(track), page is here) for page in shown
    ]
