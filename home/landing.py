"""The first page for visitors, the list of tracks, and where a user's work is."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from html import unescape
from math import inf
from typing import Any, NamedTuple

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce, JSONObject
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from django.utils.translation import gettext_noop

from accounts.access import AnyUser
from accounts.models import Role, User
from assay.protocols.loader import shipped_slugs
from assay.protocols.measures import FAMILIES
from assessment.judging.selectors import DeskBatch, desk
from assessment.models import Batch
from corpus.models import Collection
from participation.models import Team
from participation.teams.selectors import RunCounts, own_teams_with_rights, run_counts, teams_with
from pooling.models import Run
from scoring.leaderboards.summaries import BestRun, Summary, best_runs_of, summaries_of
from scoring.models import Leaderboard
from scoring.selectors import public_leaderboards, seen_by
from tracks.assessors.selectors import is_assessor, judged_tracks, judges_anywhere
from tracks.checklist.points import PHASES, Phase
from tracks.checklist.selectors import Kind, Next, next_steps
from tracks.deadline_acceptance import next_closing
from tracks.markdown import after_first_paragraph, plain_html
from tracks.models import Deadline, Milestone, SitePage, Topic, Track
from tracks.pages.selectors import PageText, page_text
from tracks.tracks.selectors import tracks_for, tracks_seen_by
from web.statements import Prepared
from web.times import AOE, in_words, time_left, zone_of

MAX_STEPS = 6  # cards with the next step of a track
MAX_RESULTS = 4  # published leaderboards with bars on the first page
MIN_FILTERED = 10  # tracks from which a list can be searched


class State(NamedTuple):
    """The state of a track in a word of the whole site, the classes of its chip, and what else holds."""

    word: str
    style: str
    note: str = ""


def state_of(track: Track, *, has_results: bool, is_judging_main: bool, was_judging: bool) -> State:
    """The state of a track, the same on all pages. It `was_judging` if a main batch is closed.

    It only goes forward: from its first main batch on, a track is in the judging or judged, and never open for runs
    again, although it may still accept some. A training and second judgments change nothing.
    """
    is_open = track.status == Track.Status.OPEN
    if track.status == Track.Status.DRAFT or (is_open and not (is_judging_main or was_judging)):
        return State(track.get_status_display(), "good dot" if is_open else "")
    note = gettext_noop("Runs are still accepted.") if is_open else ""
    if has_results:
        return State(gettext_noop("results released"), "", note)
    if is_judging_main:
        return State(gettext_noop("judging"), "gold", note)
    return State(gettext_noop("judged") if was_judging else track.get_status_display(), "", note)


@dataclass
class ListedTrack:
    """A track with the user's place in it, and its latest published leaderboard.

    The track has the numbers and states of `_counted`.
    """

    track: Track
    role: Role | None = None
    is_assessor: bool = False
    teams: list[Team] = field(default_factory=list)
    board: Leaderboard | None = None
    step: Next | None = None  # for organizers
    task: DeskBatch | None = None  # for assessors: the open batch to continue
    is_first: bool = False  # of the user's tracks, the one to go on with
    result: Leaderboard | None = None  # for participants: the latest one that their teams read
    best_runs: dict[str, BestRun] = field(default_factory=dict)  # of all teams in `result`, by name

    @property
    def may_ask(self) -> bool:
        """Return whether the user can request to join."""
        return self.is_open and not self.has_role

    @property
    def is_open(self) -> bool:
        return self.track.status == Track.Status.OPEN

    @property
    def state(self) -> State:
        names = ("is_judging_main", "was_judging")
        judging = {name: getattr(self.track, name) for name in names}
        return state_of(self.track, has_results=self.board is not None, **judging)

    @cached_property
    def counts(self) -> RunCounts:
        track: Any = self.track
        kinds_by_team = [team["of"] for team in track.kinds_by_team]
        return run_counts(kinds_by_team, track.protocol.as_written.runs)

    @property
    def phases(self) -> list[tuple[str, str]]:
        """The phases of the campaign, each `past`, `now` or empty."""
        track: Any = self.track
        if self.board is not None:
            now = len(PHASES)
        elif track.is_judging_main or track.was_judging or track.status == Track.Status.CLOSED:
            now = PHASES.index(
                Phase.JUDGING if track.is_judging_main or not track.was_judging else Phase.RESULTS
            )
        else:
            now = PHASES.index(Phase.RUNS if self.is_open else Phase.SET_UP)
        takes_runs = track.protocol.as_written.takes_runs
        return [
            (phase.value, "past" if n < now else "now" if n == now else "")
            for n, phase in enumerate(PHASES)
            if takes_runs or phase != Phase.RUNS
        ]

    @property
    def step_has_deadline(self) -> bool:
        """Return whether the sentence of the next step names the next deadline."""
        closing = self.closing
        return bool(
            self.step
            and closing
            and closing.closes_at
            and in_words(closing.closes_at, closing.zone) in self.step.text
        )

    @property
    def coming(self) -> str:
        """The sentence about what comes next while a track is judged or closed; empty otherwise."""
        track: Any = self.track
        if self.state.note:
            both = gettext_noop("Assessors judge now. Runs are still accepted.")
            return both if track.is_judging and self.board is None else self.state.note
        if track.status != Track.Status.CLOSED:
            return ""
        if track.is_judging:
            return gettext_noop("Assessors judge now. The results follow when the organizers release them.")
        return gettext_noop("No more runs are accepted. The results follow when the organizers release them.")

    @cached_property
    def closing(self) -> Deadline | None:
        """The next deadline for runs."""
        return next_closing(self.track)

    @property
    def lead(self) -> str:
        """The first paragraph of the description, without its Markdown."""
        first, rest = after_first_paragraph(plain_html(self.track.description))
        return unescape(strip_tags(first or rest))

    @property
    def time_left(self) -> str:
        closes_at = self.closing and self.closing.closes_at
        return time_left((closes_at - timezone.now()).total_seconds()) if closes_at else ""

    @property
    def closes(self) -> float:
        """The time stamp of the next deadline; infinity without one."""
        closes_at = self.closing and self.closing.closes_at
        return closes_at.timestamp() if closes_at else inf

    @cached_property
    def milestone(self) -> Milestone | None:
        """The first milestone that is not over."""
        today = datetime.now(zone_of(AOE)).date()
        coming = (
            milestone
            for milestone in self.track.milestones.all()
            if (milestone.ends_on or milestone.starts_on) >= today
        )
        return next(coming, None)

    def has_words(self, words: str) -> bool:
        track = self.track
        text = f"{track.name} {track.slug} {track.description} {track.protocol.title}".casefold()
        return all(word in text for word in words.casefold().split())

    @property
    def places(self) -> list[tuple[Team, BestRun | None]]:
        """The user's teams with their best runs in the result."""
        return [(team, self.best_runs.get(team.name)) for team in self.teams]

    @property
    def has_role(self) -> bool:
        return self.is_assessor or bool(self.teams) or self.role is not None


class TrackGroup(NamedTuple):
    """Tracks of a list that have something in common."""

    key: str
    heading: str
    tracks: list[ListedTrack]


@dataclass(frozen=True)
class TracksPage:
    """The tracks that the user may see, by the user's place and by state."""

    groups: list[TrackGroup]
    words: str  # that were searched for
    is_filtered: bool  # whether the list is long enough to be searched
    has_contact: bool  # for administrators: whether the page Contact says who runs the site
    needs_collection: bool  # nothing is set up yet, and a collection comes before the first track
    has_first: bool  # a track of the user goes on, or waits for a step


def _place_of_card(row: ListedTrack) -> tuple[bool, bool, bool]:
    """Sort tracks that go on before drafts, and both before those with results; then those that wait for a step."""
    is_draft = row.track.status == Track.Status.DRAFT
    return row.board is not None, is_draft, not (row.step and row.step.address)


def tracks_page(user: AnyUser, words: str = "") -> TracksPage:
    """The tracks with all of some words in their name, description or protocol. Four queries for a visitor.

    Participants see the places of their teams, which takes two queries.

    Organizers see the next step of a few tracks, first of those without results. Its query is one for all.
    """
    everything = listed_tracks(user)
    is_filtered = len(everything) >= MIN_FILTERED
    words = words.strip() if is_filtered else ""
    listed = [row for row in everything if row.has_words(words)]
    rest = [row for row in listed if not row.has_role]
    add_tasks(user, listed)
    add_places(user, listed)
    organized = [
        row for row in listed if row.role and not row.role.is_chair and not row.track.protocol.missing
    ]
    organized = sorted(organized, key=lambda row: row.board is not None)[:MAX_STEPS]
    for row, step in zip(organized, next_steps([row.track for row in organized]), strict=True):
        row.step = None if step.kind == Kind.DONE else step
    waiting = [row for row in organized if row.step and (row.step.address or row.board is None)]
    first = min(waiting, key=_place_of_card, default=None)
    if first:
        first.is_first = True
    by_status = {
        status: [row for row in rest if row.track.status == status] for status in Track.Status.values
    }
    groups = [
        TrackGroup("yours", gettext_noop("Your tracks"), [row for row in listed if row.has_role]),
        *open_groups(by_status[Track.Status.OPEN]),
        TrackGroup("closed", gettext_noop("Closed"), by_status[Track.Status.CLOSED]),
        TrackGroup("drafts", gettext_noop("Drafts"), by_status[Track.Status.DRAFT]),
    ]
    asks = isinstance(user, User) and user.is_administrator
    has_contact = not asks or page_text(SitePage.Name.CONTACT).number > 0
    creates = isinstance(user, User) and user.may_create and not everything
    needs_collection = creates and not Collection.objects.exists()
    return TracksPage(
        [group for group in groups if group.tracks],
        words,
        is_filtered,
        has_contact,
        needs_collection,
        has_first=first is not None,
    )


def add_tasks(user: AnyUser, rows: list[ListedTrack]) -> None:
    """Add the batch that an assessor continues to each track."""
    judged = {row.track.pk: row for row in rows if row.is_assessor and row.track.is_judging}  # type: ignore[attr-defined]
    if isinstance(user, User) and judged:
        for item in reversed(desk(user)):
            row = judged.get(item.batch.pool.track_id)
            if row and not item.is_done:
                row.task = item


def add_places(user: AnyUser, rows: list[ListedTrack]) -> None:
    """Add the best runs of the latest result that a participant reads to each track. Two queries, or none."""
    own = {row.track.pk: row for row in rows if row.teams and not row.track.protocol.missing}
    if not own:
        return
    boards = seen_by(user.pk).exclude(release=Leaderboard.Release.HIDDEN).defer("statistics", "qrels__report")
    ready = boards.filter(track__in=own, status=Leaderboard.Status.READY).order_by("pk")
    latest = {board.track_id: board for board in ready}
    for (pk, board), best_runs in zip(latest.items(), best_runs_of(latest.values()), strict=True):
        own[pk].result, own[pk].best_runs = board, best_runs


def open_groups(rows: list[ListedTrack]) -> list[TrackGroup]:
    """Open tracks: those before their judging, and those that still accept runs."""
    late = [row for row in rows if row.state.note]
    groups = [
        TrackGroup("open", gettext_noop("Open for runs"), [row for row in rows if row not in late]),
        TrackGroup("late", gettext_noop("Open for late runs"), late),
    ]
    return [group for group in groups if group.tracks]


@dataclass(frozen=True)
class LandingPage:
    """The offer of the site, and who runs it. `others` are neither open nor published."""

    open: list[ListedTrack]  # those that only take late runs at the end
    results: list[Summary]
    others: list[ListedTrack]
    contact: PageText
    n_protocols: int
    n_measures: int

    @property
    def is_empty(self) -> bool:
        """Return whether there is no campaign to show."""
        return not (self.open or self.results or self.others)


def landing_page(user: AnyUser) -> LandingPage:
    """The first page of a visitor, without results that need a missing extension. Seven queries."""
    listed = listed_tracks(user)
    published = [row.board for row in listed if row.board is not None and not row.track.protocol.missing]
    published.sort(key=lambda board: -board.pk)
    return LandingPage(
        open=sorted((row for row in listed if row.is_open), key=lambda row: bool(row.state.note)),
        results=summaries_of(user, published[:MAX_RESULTS]),
        others=[row for row in listed if not row.is_open and row.board not in published[:MAX_RESULTS]],
        contact=page_text(SitePage.Name.CONTACT),
        n_protocols=len(shipped_slugs()),
        n_measures=len(FAMILIES),
    )


_LISTED = Prepared(lambda user: _counted(tracks_seen_by(user)))
_ALL = Prepared(lambda: _counted(Track.objects.select_related("protocol", "collection")))
_PUBLISHED = Prepared(public_leaderboards)


def listed_tracks(user: AnyUser) -> list[ListedTrack]:
    """The tracks that a user sees: open ones by their next deadline, judged ones, drafts, and those with results.

    Tracks of the same state and deadline begin with the newest. Four queries for a visitor, six for a user.
    """
    sees_all = isinstance(user, User) and user.is_administrator
    tracks = _ALL() if sees_all else _LISTED(user=user.pk)
    prefetch_related_objects(tracks, "deadlines", "milestones")
    listed = {track.pk: ListedTrack(track) for track in tracks}
    for board in _PUBLISHED():
        if board.track_id in listed:
            board.track = listed[board.track_id].track
            listed[board.track_id].board = board
    if isinstance(user, User):
        judged = judged_tracks(user)
        for pk, row in listed.items():
            row.role, row.is_assessor = user.roles.get(pk), pk in judged
        for team in own_teams_with_rights(user, [row.track for row in listed.values()]):
            listed[team.track_id].teams.append(team)
    order = {Track.Status.OPEN: 0, Track.Status.CLOSED: 1, Track.Status.DRAFT: 2}
    return sorted(
        listed.values(),
        key=lambda row: (
            row.board is not None,
            order[Track.Status(row.track.status)],
            row.closes,
            -row.track.pk,
        ),
    )


_COUNTS = Prepared(lambda pk: _counted(Track.objects.filter(pk=pk)).only("pk"))


def listed_track(user: AnyUser, track: Track, board: Leaderboard | None) -> ListedTrack:
    """A track with its latest public leaderboard, as a user sees it. It checks no permission."""
    prefetch_related_objects([track], "deadlines", "milestones")
    [counts] = _COUNTS(pk=track.pk)
    vars(track).update((name, value) for name, value in vars(counts).items() if not name.startswith("_"))
    listed = ListedTrack(track, board=board)
    if isinstance(user, User):
        listed.role, listed.is_assessor = user.roles.get(track.pk), is_assessor(user, track)
        listed.teams = own_teams_with_rights(user, [track])
        add_tasks(user, [listed])
    return listed


def _counted(tracks: QuerySet[Track]) -> QuerySet[Track]:
    """Tracks with what their cards count, in the same query."""
    kinds = ArrayAgg("runs__kind", filter=Q(runs__status=Run.Status.SUBMITTED), default=[])
    batches = Batch.objects.filter(pool__track=OuterRef("pk")).exclude(kind=Batch.Kind.MACHINE)
    main = batches.filter(kind=Batch.Kind.MAIN)
    return tracks.annotate(
        n_topics=_number_of(Topic.objects.all()),
        kinds_by_team=ArraySubquery(
            Team.objects.filter(track=OuterRef("pk")).order_by().values(kinds=JSONObject(of=kinds))
        ),
        is_judging=Exists(batches.filter(status=Batch.Status.OPEN)),
        is_judging_main=Exists(main.filter(status=Batch.Status.OPEN)),
        was_judging=Exists(main.filter(status=Batch.Status.CLOSED)),
    )


def _number_of(rows: QuerySet[Topic]) -> Coalesce:
    of_track = rows.filter(track=OuterRef("pk")).order_by().values("track")
    return Coalesce(Subquery(of_track.annotate(n=Count("pk")).values("n")), 0)


def start_of(user: User) -> str:
    """The page after the login: of an assessor the tasks, of a participant the track, of others all tracks."""
    if user.roles or user.is_administrator:
        return reverse("home")
    if judges_anywhere(user):
        return reverse("assessment:mine")
    tracks = {team.track.slug for team in teams_with(user, tracks_for(user))}
    return reverse("tracks:track", args=[*tracks]) if len(tracks) == 1 else reverse("home")
