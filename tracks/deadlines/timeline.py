"""The deadlines and milestones of a track in the order of time, for pages that show them as a line."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from enum import StrEnum
from types import MappingProxyType

from django.utils.translation import gettext, gettext_noop

from assay.protocols.schema import RunRules
from tracks.models import Deadline, Milestone, Track
from web import times

NOTHING: Mapping[str, datetime] = MappingProxyType({})


class Place(StrEnum):
    """The place of a date in time. Its value is the class of its mark, and its label is read aloud."""

    PAST = "past"
    NOW = "now"
    ON = "now on"
    COMING = ""

    @property
    def label(self) -> str:
        return {
            Place.PAST: gettext_noop("over"),
            Place.NOW: gettext_noop("next"),
            Place.ON: gettext_noop("going on"),
        }.get(self, gettext_noop("to come"))


@dataclass(frozen=True)
class Date:
    """A date. `moment` is its instant, which it has to the minute if `is_exact`; `ends` is when it is over."""

    title: str
    days: str
    moment: datetime
    ends: datetime
    is_exact: bool = False
    note: str = ""
    left: str = ""
    place: Place = Place.COMING


def timeline(
    track: Track, now: datetime, *, has_results: bool = False, happened: Mapping[str, datetime] = NOTHING
) -> list[Date]:
    """The dates of a track with what `happened`, earliest first. Two queries at most.

    The first one that is not over comes next, unless the results are released: then nobody waits for a date, a period
    that began before them is over, and those to come are plans of the organizers.
    """
    rules = track.protocol.parsed.runs
    deadlines = [deadline for deadline in track.deadlines.all() if not is_void(deadline, track, now)]
    dates = [*_deadline_dates(deadlines, rules), *map(_milestone_date, track.milestones.all())]
    dates += [Date(title, f"{moment:%Y-%m-%d}", moment, moment) for title, moment in happened.items()]
    dates.sort(key=lambda date: (date.moment, date.title))
    if has_results:
        released = max(happened.values(), default=None)
        return [
            replace(date, place=Place.PAST)
            if released and date.moment <= released
            else _with_place(date, None, now, gettext("planned"))
            for date in dates
        ]
    coming = next((date for date in dates if date.ends > now), None)
    return [_with_place(date, coming, now) for date in dates]


def is_void(deadline: Deadline, track: Track, now: datetime) -> bool:
    """Return whether a deadline does not hold any more, because its track was closed before it."""
    phase = track.protocol.parsed.runs.phase_of(deadline.kind) if deadline.kind else None
    is_early = track.status == Track.Status.CLOSED and (deadline.closes_at or now) > now
    return is_early and not (phase and phase.after_closing)


def _with_place(date: Date, coming: Date | None, now: datetime, note: str = "") -> Date:
    if date.ends <= now:
        return replace(date, place=Place.PAST)
    if date is not coming:
        return replace(date, note=date.note or note)
    left = times.time_left((date.moment - now).total_seconds()) if date.is_exact else ""
    return replace(date, place=Place.ON if date.moment <= now else Place.NOW, left=left)


def _deadline_dates(deadlines: Iterable[Deadline], rules: RunRules) -> Iterator[Date]:
    for deadline in deadlines:
        name, zone = rules.name_of(deadline.kind) if deadline.kind else "", deadline.zone
        if deadline.opens_at:
            opens = gettext("{name} runs open").format(name=name) if name else gettext("Open for runs")
            yield _instant(opens, deadline.opens_at, zone)
        if deadline.closes_at:
            due = gettext("{name} runs due").format(name=name) if name else gettext("Runs due")
            note = ""
            if deadline.grace_minutes:
                until = deadline.closes_at + timedelta(minutes=deadline.grace_minutes)
                note = gettext("late runs until {time}").format(time=_text(until, zone))
            yield _instant(due, deadline.closes_at, zone, note)


def _instant(title: str, moment: datetime, zone: str, note: str = "") -> Date:
    return Date(title, _text(moment, zone), moment, moment, is_exact=True, note=note)


def _text(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(times.zone_of(zone)):%Y-%m-%d %H:%M} {zone}"


def _milestone_date(milestone: Milestone) -> Date:
    """A milestone begins with its day everywhere, so it comes after a deadline of the day before.

    A milestone of one day has happened once the day has come; one of several days is over after the last.
    """
    zone = times.zone_of(times.AOE)
    starts = ends = datetime.combine(milestone.starts_on, time.min, zone)
    if milestone.ends_on:
        ends = datetime.combine(milestone.ends_on, time.min, zone) + timedelta(days=1)
    return Date(milestone.title, milestone.days, starts, ends)
