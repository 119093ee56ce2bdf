"""The rule that decides whether a track accepts runs of a kind. Pages, forms, services and API all ask here.

The rule compares instants by the clock of the database. It does not depend on Celery beat, which only brings the stored
state of tracks up to date:

- A draft accepts runs from its opening time on.
- An open track accepts runs of a kind from the opening time of that kind, if it has one, to the closing time; then,
  marked as late, until the end of the grace period.
- A closed track accepts none; but if its deadline closed it, what arrived before and was then checked.
- Kinds of a phase after closing are accepted when all others are over, from their own opening to their own closing
  time. They open nothing again: whether a track is open is about the other kinds.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.access import AnyUser, oversees
from tracks.models import Deadline, Track
from web import times
from web.statements import Prepared

NO_TIMES = Deadline()
_DEADLINES = Prepared(lambda track: Deadline.objects.filter(track=track))


class Stage(StrEnum):
    WAITING = gettext_noop("not open yet")
    OPEN = gettext_noop("open")
    LATE = gettext_noop("open, late")
    CLOSED = gettext_noop("closed")


@dataclass(frozen=True)
class Acceptance:
    """The state of a kind of runs: whether they are accepted now. `name` is the kind in words; `reason` states why
    not, as the end of a sentence.

    `ends_at` is the end of the grace period: from then on nothing is accepted. `at` is when this was so.
    """

    kind: str
    name: str
    stage: Stage
    reason: str
    at: datetime
    opens_at: datetime | None
    closes_at: datetime | None
    ends_at: datetime | None
    zone: str

    @property
    def is_accepting(self) -> bool:
        """Return whether runs can be submitted and withdrawn."""
        return self.stage in {Stage.OPEN, Stage.LATE}

    @property
    def is_late(self) -> bool:
        """Return whether a run that is submitted now is marked as late."""
        return self.stage == Stage.LATE

    @property
    def next_at(self) -> datetime | None:
        """The next instant at which something changes."""
        moments = {Stage.WAITING: self.opens_at, Stage.OPEN: self.closes_at, Stage.LATE: self.ends_at}
        return moments.get(self.stage)

    @property
    def time_left(self) -> str:
        """Until `next_at`, in words; empty without one."""
        return times.time_left((self.next_at - self.at).total_seconds()) if self.next_at else ""


def acceptance_of(track: Track, kind: str, at: datetime | None = None) -> Acceptance:
    """Return whether a track accepts runs of a kind now. Two queries.

    With `at`: whether it accepts a run that arrived at that time, and was checked since. A track that was closed by
    hand meanwhile accepts none.
    """
    is_after = track.protocol.parsed.runs.phase_of(kind).after_closing
    if at is not None and track.is_closed_by_deadline and not is_after:
        track = copy(track)
        track.status = Track.Status.OPEN
    return _state(track, kind, deadlines_of(track), at or times.now())


def acceptances(track: Track) -> list[Acceptance]:
    """The state of each kind of run of the protocol, in its order. Two queries."""
    return acceptances_at(track, deadlines_of(track), times.now())


def acceptances_at(track: Track, deadlines: Mapping[str, Deadline], now: datetime) -> list[Acceptance]:
    """The state of each kind of run at a time, by the deadlines of the track."""
    return [_state(track, kind, deadlines, now) for kind in track.protocol.parsed.runs.keys]


def acceptances_for(user: AnyUser, track: Track) -> list[Acceptance]:
    """The states of the kinds that a user may submit: some only organizers submit. Two queries."""
    sees_all = oversees(user, track.pk)
    rules = track.protocol.parsed.runs
    return [
        state for state in acceptances(track) if sees_all or rules.kind(state.kind).submitted_by == "teams"
    ]


def until_closing(track: Track, states: Iterable[Acceptance]) -> list[Acceptance]:
    """The states of the kinds on which it depends whether a track is open: not those of phases after closing."""
    rules = track.protocol.parsed.runs
    return [state for state in states if not rules.phase_of(state.kind).after_closing]


def is_accepting(states: Iterable[Acceptance]) -> bool:
    """Return whether runs of any kind can be submitted or withdrawn."""
    return any(state.is_accepting for state in states)


def why_closed(states: Iterable[Acceptance]) -> str:
    """The reason why none of these kinds is accepted, as the end of a sentence; empty if one is."""
    states = list(states)
    return (
        "" if is_accepting(states) else next((state.reason for state in states), "it accepts no kind of run")
    )


def timetable(states: Iterable[Acceptance]) -> list[tuple[str, Acceptance]]:
    """The states, each with its kinds in words: kinds with the same times share one."""
    shared: dict[Acceptance, list[str]] = {}
    for state in states:
        shared.setdefault(replace(state, kind="", name="", reason=""), []).append(state.name)
    return [(", ".join(kinds), state) for state, kinds in shared.items()]


def has_ended(track: Track, states: Iterable[Acceptance]) -> bool:
    """Return whether an open track accepts no run any more, because the time of each kind is over."""
    is_over = all(state.stage == Stage.CLOSED for state in until_closing(track, states))
    return track.status == Track.Status.OPEN and is_over


def is_due() -> Q:
    """Drafts whose opening time has come."""
    openings = Deadline.objects.filter(track=OuterRef("pk"), kind="", opens_at__lte=Now())
    return Q(status=Track.Status.DRAFT) & Q(Exists(openings))


def next_closing(track: Track) -> Deadline | None:
    """The earliest closing time of an open track that is not over by the clock of this machine; for lists of tracks.

    It uses `track.deadlines` if that was prefetched, and takes no other query.
    """
    if track.status != Track.Status.OPEN:
        return None
    closings = [(deadline.closes_at, deadline) for deadline in track.deadlines.all() if deadline.closes_at]
    coming = [closing for closing in closings if closing[0] > timezone.now()]
    return min(coming, key=lambda closing: closing[0], default=(None, None))[1]


def deadlines_of(track: Track) -> dict[str, Deadline]:
    """The deadlines of a track by kind of run; that of all kinds has none."""
    is_known = "deadlines" in getattr(track, "_prefetched_objects_cache", {})
    rows = track.deadlines.all() if is_known else _DEADLINES(track=track.pk)
    return {deadline.kind: deadline for deadline in rows}


def _state(track: Track, kind: str, rows: Mapping[str, Deadline], now: datetime) -> Acceptance:
    if track.protocol.parsed.runs.phase_of(kind).after_closing:
        return _state_after(track, kind, rows, now)
    of_all, own = rows.get("", NO_TIMES), rows.get(kind, NO_TIMES)
    closing = own if own.closes_at else of_all
    # the opening time of all kinds opens a draft; opening a track by hand overrides it
    is_draft = track.status == Track.Status.DRAFT
    openings = [of_all.opens_at if is_draft else None, own.opens_at]
    opens_at = max(filter(None, openings), default=None)
    ends_at = closing.closes_at and closing.closes_at + timedelta(minutes=closing.grace_minutes)
    is_waiting = now < opens_at if opens_at else False
    if is_draft and of_all.opens_at is None:
        is_waiting, opens_at = True, None
    stage = _stage(track.status == Track.Status.CLOSED, is_waiting, closing.closes_at, ends_at, now)
    zone = next(
        (deadline.zone for deadline in (closing, own, of_all) if deadline.closes_at or deadline.opens_at),
        "UTC",
    )
    name = track.protocol.parsed.runs.name_of(kind)
    subject = f"{name} runs" if closing is own and closing.closes_at else "the track"
    reasons = {
        Stage.WAITING: f"{name} runs are accepted from {times.in_words(opens_at, zone)}"
        if opens_at
        else "the track is not open yet",
        Stage.CLOSED: f"{subject} closed on {times.in_words(ends_at, zone)}"
        if ends_at and ends_at <= now
        else "the track is closed",
    }
    return Acceptance(
        kind=kind,
        name=name,
        stage=stage,
        reason=reasons.get(stage, ""),
        at=now,
        opens_at=opens_at,
        closes_at=closing.closes_at,
        ends_at=ends_at,
        zone=zone,
    )


def _state_after(track: Track, kind: str, rows: Mapping[str, Deadline], now: datetime) -> Acceptance:
    """The state of a kind of a phase after closing, which only its own times limit."""
    rules, own = track.protocol.parsed.runs, rows.get(kind, NO_TIMES)
    before = [
        _state(track, other, rows, now) for other in rules.keys if not rules.phase_of(other).after_closing
    ]
    is_over = track.status == Track.Status.CLOSED or has_ended(track, before)
    zone = own.zone if own.opens_at or own.closes_at else next((state.zone for state in before), "UTC")
    ends_at = own.closes_at and own.closes_at + timedelta(minutes=own.grace_minutes)
    is_early = own.opens_at is not None and now < own.opens_at
    stage = _stage(False, is_early or not is_over, own.closes_at, ends_at, now)
    name, reason = rules.name_of(kind), ""
    if stage == Stage.WAITING:
        when = times.in_words(own.opens_at, zone) if is_over and own.opens_at else "the closing of the track"
        reason = f"{name} runs are accepted from {when}"
    elif stage == Stage.CLOSED and ends_at:
        reason = f"{name} runs closed on {times.in_words(ends_at, zone)}"
    return Acceptance(
        kind=kind,
        name=name,
        stage=stage,
        reason=reason,
        at=now,
        opens_at=own.opens_at,
        closes_at=own.closes_at,
        ends_at=ends_at,
        zone=zone,
    )


def day_of(track: Track, moment: datetime) -> tuple[datetime, datetime, str]:
    """The start and end of the day in which an instant lies, in the time zone of a track's deadlines, and that zone.

    Without deadlines it is UTC. The end is the start of the next day. One query.
    """
    zone = next(
        (
            deadline.zone
            for deadline in deadlines_of(track).values()
            if deadline.closes_at or deadline.opens_at
        ),
        "UTC",
    )
    rules = times.zone_of(zone)
    day = moment.astimezone(rules).date()
    start, end = (
        datetime.combine(date, time.min, rules).astimezone(UTC) for date in (day, day + timedelta(days=1))
    )
    return start, end, zone


def _stage(
    is_closed: bool, is_waiting: bool, closes_at: datetime | None, ends_at: datetime | None, now: datetime
) -> Stage:
    if is_closed:
        return Stage.CLOSED
    if is_waiting:
        return Stage.WAITING
    if closes_at is None or now < closes_at:
        return Stage.OPEN
    return Stage.LATE if ends_at and now < ends_at else Stage.CLOSED
