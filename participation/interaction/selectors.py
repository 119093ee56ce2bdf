"""The interaction of a track: nominations, sessions and their seconds, and who sees which."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import quote, urlsplit

from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, gettext_noop

from accounts.access import AnyUser
from accounts.models import User
from assay.protocols.schema import InteractionRules
from corpus.threads.selectors import RenderedText
from participation.models import Interaction, Nomination, Team
from participation.teams.selectors import may_submit_for, teams_for, visible_teams
from tracks.assessors.selectors import people_judging
from tracks.deadline_acceptance import acceptance_of
from tracks.models import Topic, Track
from tracks.topics.selectors import render_topic
from web import times

PRACTICE = "practice"  # in the place of a topic's code in the address of a team's page


class SessionState(StrEnum):
    NOMINATED = gettext_noop("nominated")
    PLANNED = gettext_noop("planned")
    RUNNING = gettext_noop("running")
    OVER = gettext_noop("held")


def team_of(user: User, team_id: int) -> Team:
    """A team of a track with an interaction, for which a user may submit.

    Raises:
        Http404: There is no such team for the user.
    """
    team = get_object_or_404(teams_for(user), pk=team_id)
    if not may_submit_for(user, team) or rules_of(team.track) is None:
        raise Http404
    return team


def rules_of(track: Track) -> InteractionRules | None:
    """The rules of the interaction; None if the protocol has none."""
    return track.protocol.parsed.interaction


def ends_at(nomination: Nomination, limit: int) -> datetime | None:
    """Return when a session ends at the latest; None before it starts."""
    return nomination.started_at and nomination.started_at + timedelta(seconds=limit)


def state_of(nomination: Nomination, limit: int, now: datetime) -> SessionState:
    """The state of a session. It is over when its time is, whether or not anybody ended it."""
    end = ends_at(nomination, limit)
    if nomination.logged_seconds is not None or nomination.ended_at or (end and now >= end):
        return SessionState.OVER
    if nomination.started_at:
        return SessionState.RUNNING
    return SessionState.PLANNED if nomination.assessor_id else SessionState.NOMINATED


def seconds_of(nomination: Nomination, limit: int, now: datetime) -> float | None:
    """The seconds that a session took, at most the limit; None until it is over."""
    if state_of(nomination, limit, now) != SessionState.OVER:
        return None
    if nomination.started_at is None:
        return nomination.logged_seconds
    end = nomination.ended_at or nomination.started_at + timedelta(seconds=limit)
    return min((end - nomination.started_at).total_seconds(), float(limit))


def seconds_by_topic(teams: Iterable[int], limit: int) -> dict[int, dict[str, float]]:
    """The seconds of the sessions that are over, by team and topic code. Two queries."""
    now, seconds = times.now(), dict[int, dict[str, float]]()
    for nomination in Nomination.objects.filter(team__in=list(teams)).select_related("topic"):
        taken = seconds_of(nomination, limit, now)
        if taken is not None:
            seconds.setdefault(nomination.team_id, {})[nomination.topic.code] = taken
    return seconds


def interacted_topics(team: Team) -> set[str]:
    """The codes of the topics on which a session of the team is over."""
    rules = rules_of(team.track)
    return (
        set() if rules is None else set(seconds_by_topic([team.pk], rules.seconds_per_topic).get(team.pk, ()))
    )


@dataclass(frozen=True)
class SessionRow:
    """A nominated topic and its session."""

    nomination: Nomination
    state: SessionState
    seconds: float | None

    @property
    def is_logged(self) -> bool:
        return self.nomination.logged_seconds is not None

    @property
    def is_planned(self) -> bool:
        return self.state == SessionState.PLANNED

    @property
    def is_running(self) -> bool:
        return self.state == SessionState.RUNNING


@dataclass(frozen=True)
class TeamInteraction:
    """The interaction of a team; `may_nominate` is for its members until a session is planned or logged."""

    team: Team
    interaction: Interaction | None
    rows: list[SessionRow]
    may_nominate: bool

    @property
    def address(self) -> str:
        return self.interaction.address if self.interaction else ""

    @property
    def n_held(self) -> int:
        """Sessions that are over."""
        return sum(row.state == SessionState.OVER for row in self.rows)

    @property
    def n_open(self) -> int:
        """Nominations without a session."""
        return sum(row.state == SessionState.NOMINATED for row in self.rows)


@dataclass(frozen=True)
class InteractionPage:
    """The interaction of a track, as far as a user sees it."""

    track: Track
    rules: InteractionRules
    teams: list[TeamInteraction]
    sessions: list[SessionRow]  # that the user holds
    assessors: list[User]  # for organizers
    why_no_nominations: str
    zone: str  # of the track's deadlines


def may_see(user: AnyUser, track: Track) -> bool:
    """Return whether a user takes part: organizers, members of teams, and assessors with a session."""
    if not isinstance(user, User) or rules_of(track) is None:
        return False
    return (
        user.oversees(track.pk)
        or track.teams.filter(members=user).exists()
        or Nomination.objects.filter(team__track=track, assessor=user).exists()
    )


def interaction_page(user: User, track: Track, rules: InteractionRules) -> InteractionPage:
    """The page of the interaction for a user. Seven queries."""
    nominations = Prefetch(
        "nominations", Nomination.objects.select_related("topic", "assessor").order_by("place")
    )
    teams = visible_teams(user, track).select_related("interaction").prefetch_related(nominations)
    runs = acceptance_of(track, track.protocol.parsed.runs.keys[0])
    own = Nomination.objects.filter(team__track=track, assessor=user).select_related("topic", "team")
    now, limit = times.now(), rules.seconds_per_topic
    shown = []
    for team in teams.order_by("name"):
        rows = [_row(nomination, limit, now) for nomination in team.nominations.all()]
        is_free = all(row.state == SessionState.NOMINATED for row in rows)
        interaction = getattr(team, "interaction", None)
        shown.append(TeamInteraction(team, interaction, rows, runs.is_accepting and is_free))
    return InteractionPage(
        track=track,
        rules=rules,
        teams=shown,
        sessions=[_row(session, limit, now) for session in own.order_by("place", "pk")],
        assessors=assessors_of(track) if user.oversees(track.pk) else [],
        why_no_nominations="" if runs.is_accepting else runs.reason,
        zone=runs.zone,
    )


def zone_of(track: Track) -> str:
    """The time zone of a track's deadlines, in which the windows of its sessions are entered."""
    return acceptance_of(track, track.protocol.parsed.runs.keys[0]).zone


def window_in_words(opens_at: datetime | None, closes_at: datetime | None, zone: str) -> str:
    """The time when a session can start, such as `from 2026-05-01 10:00 UTC`; empty if at any time."""
    sides = ((gettext("from {time}"), opens_at), (gettext("until {time}"), closes_at))
    return " ".join(words.format(time=times.in_words(at, zone)) for words, at in sides if at)


def assessors_of(track: Track) -> list[User]:
    """Return the people who can hold sessions."""
    return [assessor.user for assessor in people_judging(track)]


def data_of(team: Team) -> Interaction | None:
    """The interaction of a team if its data are stored."""
    return Interaction.objects.filter(team=team).exclude(data="").first()


def is_last(nomination: Nomination) -> bool:
    """Return whether it is the session of its team that was started last, and none is planned or runs."""
    rules, now = rules_of(nomination.team.track), times.now()
    limit = 0 if rules is None else rules.seconds_per_topic
    others = list(Nomination.objects.filter(team=nomination.team_id))
    states = {state_of(session, limit, now) for session in others}
    started = [(session.started_at, session.pk) for session in others if session.started_at]
    is_over = not states & {SessionState.PLANNED, SessionState.RUNNING}
    return is_over and bool(started) and max(started)[1] == nomination.pk


def _row(nomination: Nomination, limit: int, now: datetime) -> SessionRow:
    return SessionRow(nomination, state_of(nomination, limit, now), seconds_of(nomination, limit, now))


def tracks_with_sessions(user: User) -> QuerySet[Track]:
    """The tracks in which a user has planned sessions to hold, each with their number as `n_sessions`."""
    sessions = Q(teams__nominations__assessor=user, teams__nominations__started_at__isnull=True)
    tracks = Track.objects.filter(sessions).order_by("name")
    return tracks.annotate(n_sessions=Count("teams__nominations"))


def sessions_for(user: User) -> QuerySet[Nomination]:
    """The sessions whose page a user may open: those that they hold; organizers all that are planned."""
    planned = Nomination.objects.filter(assessor__isnull=False)
    planned = planned.select_related("team__track__protocol", "team__interaction", "topic", "assessor")
    return planned.filter(Q(assessor=user) | Q(team__track__in=[*user.roles]))


@dataclass(frozen=True)
class SessionPage:
    """One session: its topic, and while it runs, the address of the frame.

    `origin` is the only other host that this page may contact; empty unless the session runs.
    """

    track: Track
    nomination: Nomination
    topic: Topic
    rendered_topic: RenderedText
    row: SessionRow
    limit: int
    seconds_left: float
    address: str
    origin: str
    is_own: bool
    is_practicing: bool
    may_practice: bool
    window: str


def session_page(nomination: Nomination, user: User) -> SessionPage:
    """The page of a session. The frame is for its assessor only."""
    track = nomination.team.track
    rules = rules_of(track)
    assert rules is not None
    now, limit = times.now(), rules.seconds_per_topic
    row, practice_end = _row(nomination, limit, now), nomination.practice_ends_at
    is_own = nomination.assessor_id == user.pk
    is_practicing = row.is_planned and practice_end is not None and now < practice_end
    end = practice_end if is_practicing else ends_at(nomination, limit)
    runs = row.is_running or is_practicing
    address = frame_address(nomination, PRACTICE if is_practicing else "") if runs and is_own else ""
    parts = urlsplit(address)
    return SessionPage(
        track=track,
        nomination=nomination,
        topic=nomination.topic,
        rendered_topic=render_topic(
            nomination.topic,
            [collection for collection in (track.collection, track.topic_collection) if collection],
            has_rules=track.protocol.parsed.cites_posts,
        ),
        row=row,
        limit=limit,
        seconds_left=max(0.0, (end - now).total_seconds()) if end and runs else 0.0,
        address=address,
        origin=f"{parts.scheme}://{parts.netloc}" if address else "",
        is_own=is_own,
        is_practicing=is_practicing,
        may_practice=row.is_planned and is_own and not has_tried(nomination),
        window=window_in_words(nomination.opens_at, nomination.closes_at, zone_of(track)),
    )


def has_tried(nomination: Nomination) -> bool:
    """Return whether the assessor of a session has had a practice or a session with the system of its team."""
    own = Nomination.objects.filter(team=nomination.team_id, assessor=nomination.assessor_id)
    return own.exclude(practice_ends_at=None, started_at=None).exists()


def frame_address(nomination: Nomination, word: str = "") -> str:
    """The address of the team's page for a session: `{topic}` is replaced by a word, or by the code of the topic."""
    interaction = getattr(nomination.team, "interaction", None)
    word = quote(word or nomination.topic.code, safe="")
    return interaction.address.replace("{topic}", word) if interaction else ""


def stored_data(track: Track) -> list[Interaction]:
    """The data of the sessions of each team that uploaded some, by the names of the teams. One query."""
    stored = Interaction.objects.filter(team__track=track).exclude(data="")
    return list(stored.select_related("team").order_by("team__name", "team"))


def sessions_with_seconds(track: Track) -> list[tuple[Nomination, float | None]]:
    """All nominations of a track by team and place, with the seconds of the sessions that are over. Two queries."""
    rules, now = rules_of(track), times.now()
    limit = 0 if rules is None else rules.seconds_per_topic
    rows = Nomination.objects.filter(team__track=track).select_related("team", "topic")
    return [(session, seconds_of(session, limit, now)) for session in rows.order_by("team__name", "place")]


def interactions_for(user: User, track: Track) -> list[SessionRow]:
    """The nominations and sessions of a track, of the teams that a user sees."""
    rules = rules_of(track)
    if rules is None:
        return []
    rows = Nomination.objects.filter(Q(team__in=visible_teams(user, track)))
    now = times.now()
    chosen = rows.select_related("team", "topic", "assessor").order_by("team__name", "place")
    return [_row(nomination, rules.seconds_per_topic, now) for nomination in chosen]
