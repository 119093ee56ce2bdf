"""Set the deadlines and milestones of a track, and open and close tracks on time. Decision: ADR 30."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from functools import partial
from typing import Any, NamedTuple

from django.db import transaction

from accounts.audit import services as audit
from assay.errors import Refused
from tracks.models import Deadline, Milestone, Track
from tracks.tracks import services as track_services
from web import times

MAX_GRACE_MINUTES = 60 * 24 * 30
MAX_REMINDER_DAYS = 90

deadline_refused = partial(Refused, code="deadline-refused", title="The deadlines were not changed")


@dataclass(frozen=True)
class Window:
    """The start and end of the time in which runs of a kind are accepted."""

    opens_at: datetime | None = None
    closes_at: datetime | None = None
    grace_minutes: int = 0

    @property
    def is_empty(self) -> bool:
        return self == Window()


@transaction.atomic
def set_deadlines(
    *,
    track: Track,
    zone: str,
    windows: Mapping[str, Window],
    reminder_days: int | None = None,
    names_hidden_until: datetime | None = None,
) -> list[Deadline]:
    """Set the deadlines of a track by kind of run; "" means all kinds, and a kind that is missing has none.

    Teams that owe runs or documents are reminded `reminder_days` before a closing time; None: they are not. Results
    show pseudonyms of teams and runs until `names_hidden_until`; None: names.

    Raises:
        Refused: A kind, a time or the zone is not accepted.
    """
    current = track_services.lock(track.pk)
    if zone not in times.zone_names():
        raise deadline_refused(
            f"“{zone}” is not a time zone. Use {times.AOE}, UTC, or a name such as Europe/Prague."
        )
    earlier = {deadline.kind: deadline for deadline in current.deadlines.all()}
    windows = {kind: window for kind, window in windows.items() if not window.is_empty}
    stored = {
        kind: (Window(row.opens_at, row.closes_at, row.grace_minutes), row.zone)
        for kind, row in earlier.items()
    }
    of_track = {"reminder_days": reminder_days, "names_hidden_until": names_hidden_until}
    changed = [name for name, value in of_track.items() if getattr(current, name) != value]
    if {kind: (window, zone) for kind, window in windows.items()} == stored and not changed:
        return list(earlier.values())
    for name in changed:
        setattr(current, name, of_track[name])
    current.save(update_fields=changed)
    before = _deadlines_in_words(earlier.values())
    for kind, window in windows.items():
        _check(current, kind, window, earlier.get(kind))
    current.deadlines.exclude(kind__in=windows).delete()
    rows = []
    for kind, window in windows.items():
        values = asdict(window) | {"zone": zone}
        row, _ = Deadline.objects.update_or_create(track=current, kind=kind, defaults=values)
        rows.append(row)
    details: dict[str, Any] = {
        "times": {"from": before, "to": _deadlines_in_words(rows)},
        "reminder days": reminder_days,
    }
    if "names_hidden_until" in changed:
        details["names hidden until"] = (
            times.in_words(names_hidden_until, zone) if names_hidden_until else "-"
        )
    audit.record(action="deadlines.set", subject=current, track=current, details=details)
    return rows


def _deadlines_in_words(rows: Iterable[Deadline]) -> str:
    changes = [
        f"{row.kind or 'all'} runs {verb} {times.in_words(moment, row.zone)}"
        for row in rows
        for verb, moment in (("open", row.opens_at), ("close", row.closes_at))
        if moment
    ]
    return "; ".join(changes) or "none"


def window_problems(track: Track, kind: str, window: Window) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the window of a kind of run, each with its part: opens, closes or grace."""
    subject = f"{kind} runs" if kind else "all runs"
    if window.opens_at and window.closes_at and window.closes_at <= window.opens_at:
        yield "closes", f"The closing time of {subject} is not after the opening time."
    elif window.closes_at and window.closes_at <= times.now():
        earlier = track.deadlines.filter(kind=kind).first()
        if window.closes_at != (earlier and earlier.closes_at):
            passed = times.in_words(window.closes_at, "UTC")
            yield (
                "closes",
                f"The closing time of {subject} has passed: {passed}. Enter a later time, or close the track by hand.",
            )
    if window.grace_minutes and not window.closes_at:
        yield "grace", f"The grace period of {subject} has no closing time. Enter one, or no grace period."
    if not 0 <= window.grace_minutes <= MAX_GRACE_MINUTES:
        yield "grace", f"The grace period of {subject} is not accepted; use 0 to {MAX_GRACE_MINUTES} minutes."


def _check(track: Track, kind: str, window: Window, earlier: Deadline | None) -> None:
    kinds = track.protocol.parsed.runs.keys
    if kind and kind not in kinds:
        raise deadline_refused(f"{track} has no runs of the kind {kind!r}; it accepts {', '.join(kinds)}.")
    for _, problem in window_problems(track, kind, window):
        raise deadline_refused(problem)
    if not kind and window.opens_at != (earlier and earlier.opens_at):
        # Refuse an opening time of all kinds where it would do nothing
        if track.status != Track.Status.DRAFT:
            raise deadline_refused(f"{track} was opened already, so its opening time cannot change.")
        track_services.check_opening(track)


def settle_due() -> int:
    """Open and close the tracks whose time has come; the number of those that changed.

    It brings the stored state up to date. Whether a run is accepted does not depend on it (`selectors.state`).
    """
    waiting = Track.objects.exclude(status=Track.Status.CLOSED).filter(deadlines__isnull=False).distinct()
    n_changed = 0
    for track in waiting.order_by("pk"):
        with transaction.atomic():
            n_changed += track_services.lock(track.pk).status != track.status
    return n_changed


MOST = 100  # milestones of a track

milestones_refused = partial(Refused, code="milestones-refused", title="The milestones were not changed")


class NewMilestone(NamedTuple):
    """A title with its day, or its first and last day."""

    title: str
    starts_on: date
    ends_on: date | None = None


def milestone_problems(milestones: Sequence[NewMilestone]) -> Iterator[tuple[int, str, str]]:
    """Yield what is wrong with milestones, each with its index and its part: title, first or last."""
    titles = [" ".join(milestone.title.split()) for milestone in milestones]
    for n, (title, (_, first, last)) in enumerate(zip(titles, milestones, strict=True)):
        if title in titles[:n]:
            yield n, "title", f"The milestone “{title}” is there twice."
        for part, day in (("first", first), ("last", last)):
            if day and not times.EARLIEST <= day.year <= times.LATEST:
                years = f"{times.EARLIEST} to {times.LATEST}"
                yield n, part, f"“{title}” has a day that is not in the years {years}."
        if last and last <= first:
            yield n, "last", f"The last day of “{title}” is not after its first day."


@transaction.atomic
def set_milestones(*, track: Track, milestones: Sequence[NewMilestone]) -> None:
    """Set all milestones of a track. One that keeps its title stays the same event in a calendar.

    Raises:
        Refused: There are too many, two have the same title, or the days of one are not accepted.
    """
    current = track_services.lock(track.pk)
    if len(milestones) > MOST:
        raise milestones_refused(f"There are {len(milestones)} milestones; use at most {MOST}.")
    for *_, problem in milestone_problems(milestones):
        raise milestones_refused(problem)
    milestones = [milestone._replace(title=" ".join(milestone.title.split())) for milestone in milestones]
    titles = [milestone.title for milestone in milestones]
    stored = current.milestones.order_by().values_list("title", "starts_on", "ends_on")
    if set(stored) == set(milestones):
        return
    current.milestones.exclude(title__in=titles).delete()
    for milestone in milestones:
        Milestone.objects.update_or_create(track=current, title=milestone.title, defaults=milestone._asdict())
    days = "; ".join(f"{milestone.days} {milestone}" for milestone in current.milestones.all())
    audit.record(action="milestones.set", subject=current, track=current, details={"days": days or "none"})


@transaction.atomic
def set_dates(
    *,
    track: Track,
    zone: str,
    windows: Mapping[str, Window],
    reminder_days: int | None,
    milestones: Sequence[NewMilestone],
    names_hidden_until: datetime | None = None,
) -> None:
    """Set the deadlines and the milestones of a track, or neither. See `set_deadlines` and `set_milestones`."""
    set_deadlines(
        track=track,
        zone=zone,
        windows=windows,
        reminder_days=reminder_days,
        names_hidden_until=names_hidden_until,
    )
    set_milestones(track=track, milestones=milestones)
