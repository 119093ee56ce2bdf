"""The rule that decides whether a track accepts runs of a kind. Pages, forms, services and API all ask here.

The rule compares instants by the clock of the database. It does not depend on Celery beat, which only brings the stored
state of tracks up to date:

- A draft accepts runs from its opening time on.
- An open track accepts runs of a kind from the opening time of that kind, if it has one, to the closing time; then,
  marked as late, until the end of the grace period.
- A closed track accepts none; but if its deadline closed it, what arrived before and was then checked.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from accounts.access import AnyUser
from accounts.models import User
from tracks.models import Deadline, Track
from web import times


class Phase(StrEnum):
    WAITING = "not open yet"
    OPEN = "open"
    LATE = "open, late"
    CLOSED = "closed"


@dataclass(frozen=True)
class Acceptance:
    """The state of a kind of runs: whether they are accepted now. `name` is the kind in words; `reason` states why
    not, as the end of a sentence.

    `ends_at` is the end of the grace period: from then on nothing is accepted. `at` is when this was so.
    """

    kind: str
    name: str
    phase: Phase
    reason: str
    at: datetime
    opens_at: datetime | None
    closes_at: datetime | None
    ends_at: datetime | None
    zone: str

    @property
    def is_accepting(self) -> bool:
        """Return whether runs can be submitted and withdrawn."""
        return self.phase in {Phase.OPEN, Phase.LATE}

    @property
    def is_late(self) -> bool:
        """Return whether a run that is submitted now is marked as late."""
        return self.phase == Phase.LATE

    @property
    def next_at(self) -> datetime | None:
        """The next instant at which something changes."""
        moments = {Phase.WAITING: self.opens_at, Phase.OPEN: self.closes_at, Phase.LATE: self.ends_at}
        return moments.get(self.phase)

    @property
    def time_left(self) -> str:
        """Until `next_at`, in words; empty without one."""
        return times.time_left((self.next_at - self.at).total_seconds()) if self.next_at else ""


def state(track: Track, kind: str, at: datetime | None = None) -> Acceptance:
    """Return whether a track accepts runs of a kind now. Two queries.

    With `at`: whether it accepts a run that arrived at that time, and was checked since. A track that was closed by
    hand meanwhile accepts none.
    """
    if at is not None and track.is_closed_by_deadline:
        track = copy(track)
        track.status = Track.Status.OPEN
    return _state(track, kind, _rows(track), at or times.now())


def states(track: Track) -> list[Acceptance]:
    """The state of each kind of run of the protocol, in its order. Two queries."""
    rows, now = _rows(track), times.now()
    return [_state(track, kind, rows, now) for kind in track.protocol.parsed.runs.keys]


def states_for(user: AnyUser, track: Track) -> list[Acceptance]:
    """The states of the kinds that a user may submit: some only organizers submit. Two queries."""
    is_organizer = isinstance(user, User) and user.is_organizer
    rules = track.protocol.parsed.runs
    return [each for each in states(track) if is_organizer or rules.kind(each.kind).submitted_by == "teams"]


def is_accepting(states: Iterable[Acceptance]) -> bool:
    """Return whether runs of any kind can be submitted or withdrawn."""
    return any(each.is_accepting for each in states)


def why_closed(states: Iterable[Acceptance]) -> str:
    """The reason why none of these kinds is accepted, as the end of a sentence; empty if one is."""
    states = list(states)
    return "" if is_accepting(states) else next((each.reason for each in states), "it accepts no kind of run")


def timetable(states: Iterable[Acceptance]) -> list[tuple[str, Acceptance]]:
    """The states, each with its kinds in words: kinds with the same times share one."""
    shared: dict[Acceptance, list[str]] = {}
    for each in states:
        shared.setdefault(replace(each, kind="", name="", reason=""), []).append(each.name)
    return [(", ".join(kinds), state) for state, kinds in shared.items()]


def has_ended(track: Track, states: Iterable[Acceptance]) -> bool:
    """Return whether an open track accepts no run any more, because the time of each kind is over."""
    return track.status == Track.Status.OPEN and all(each.phase == Phase.CLOSED for each in states)


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
    closings = [(each.closes_at, each) for each in track.deadlines.all() if each.closes_at]
    coming = [closing for closing in closings if closing[0] > timezone.now()]
    return min(coming, key=lambda closing: closing[0], default=(None, None))[1]


def _rows(track: Track) -> dict[str, Deadline]:
    return {each.kind: each for each in Deadline.objects.filter(track=track)}


def _state(track: Track, kind: str, rows: Mapping[str, Deadline], now: datetime) -> Acceptance:
    of_all, own = rows.get("", Deadline()), rows.get(kind, Deadline())
    closing = own if own.closes_at else of_all
    # the opening time of all kinds opens a draft; opening a track by hand overrides it
    is_draft = track.status == Track.Status.DRAFT
    openings = [of_all.opens_at if is_draft else None, own.opens_at]
    opens_at = max(filter(None, openings), default=None)
    ends_at = closing.closes_at and closing.closes_at + timedelta(minutes=closing.grace_minutes)
    is_waiting = now < opens_at if opens_at else False
    if is_draft and of_all.opens_at is None:
        is_waiting, opens_at = True, None
    phase = _phase(track, is_waiting, closing.closes_at, ends_at, now)
    zone = next((each.zone for each in (closing, own, of_all) if each.closes_at or each.opens_at), "UTC")
    name = track.protocol.parsed.runs.name_of(kind)
    subject = f"{name} runs" if closing is own and closing.closes_at else "the track"
    reasons = {
        Phase.WAITING: f"{name} runs are accepted from {times.in_words(opens_at, zone)}"
        if opens_at
        else "the track is not open yet",
        Phase.CLOSED: f"{subject} closed on {times.in_words(ends_at, zone)}"
        if ends_at and ends_at <= now
        else "the track is closed",
    }
    return Acceptance(
        kind, name, phase, reasons.get(phase, ""), now, opens_at, closing.closes_at, ends_at, zone
    )


def _phase(
    track: Track, is_waiting: bool, closes_at: datetime | None, ends_at: datetime | None, now: datetime
) -> Phase:
    if track.status == Track.Status.CLOSED:
        return Phase.CLOSED
    if is_waiting:
        return Phase.WAITING
    if closes_at is None or now < closes_at:
        return Phase.OPEN
    return Phase.LATE if ends_at and now < ends_at else Phase.CLOSED
