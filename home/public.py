"""The page of a track for everybody who does not organize it: visitors, teams and assessors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.contrib.auth.models import AnonymousUser
from django.db.models import Max, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from accounts.access import AnyUser
from accounts.models import Event, User
from assay.protocols.description import facts, pooled_units
from assay.protocols.schema import Protocol, RunRules
from assay.tables.paper import escape
from assessment.models import Batch, Task, TopicAssignment
from corpus.collections.selectors import counts_in_words, documents_in
from home.landing import ListedTrack, listed_track
from participation.announcements.selectors import Listed, latest
from participation.requests.selectors import takes_requests
from pooling.models import Pool
from pooling.runs.selectors import TeamRunsPage, team_runs_pages
from scoring.leaderboards.summaries import BestRun, Summary, summaries_of
from scoring.models import Leaderboard
from scoring.selectors import seen_by
from tracks.agreements.selectors import has_accepted
from tracks.deadlines.timeline import Date, timeline
from tracks.downloads.selectors import NAMED_COUNTS, Offer, offers
from tracks.markdown import after_first_paragraph, plain_html
from tracks.models import Download, Track
from web.pages import counted, site_of
from web.statements import Prepared

# The usual titles of milestones for what the page knows to have happened
PLANNED_AS = {
    "Judged": ("judging",),
    "Results released": ("results", "results released", "release of results"),
}


@dataclass(frozen=True)
class PublicPage:
    """A track for a reader. `teams` are those of a participant, with their runs; `work` is what an assessor has.

    `same_task` is the result of another track with its protocol and collection, as long as this one has none.
    """

    track: Track
    protocol: Protocol
    listed: ListedTrack
    lead: SafeString
    about: SafeString
    contents: list[str]
    dates: list[Date]
    offers: list[Offer]
    may_fetch: bool
    facts: list[tuple[str, str]]
    kinds: list[str]
    news: list[Listed]
    result: Summary | None
    same_task: Summary | None
    organizers: list[str]
    citation: str
    teams: list[TeamRunsPage]
    work: "Work | None"
    takes_requests: bool
    is_preview: bool

    @property
    def n_topics(self) -> int:
        track: Any = self.listed.track
        return int(track.n_topics)

    @property
    def may_submit(self) -> bool:
        return any(team.is_accepting_runs and team.may_submit for team in self.teams)

    @property
    def own_teams(self) -> list[tuple[TeamRunsPage, BestRun | None]]:
        """The reader's teams with their places in the result."""
        best_runs = self.result.best_runs if self.result else {}
        return [(page, best_runs.get(page.team.name)) for page in self.teams]

    @property
    def counts(self) -> list[tuple[str, int, int | None]]:
        """Labels with numbers of what there is: teams and runs only if the track takes runs.

        The third is the number of those in the result, if some are not.
        """
        numbers = [(gettext_noop("Topics"), self.n_topics)]
        if self.protocol.takes_runs:
            numbers += [
                (gettext_noop("Teams"), self.listed.counts.teams),
                (gettext_noop("Runs"), self.listed.counts.runs),
            ]
        counts: list[tuple[str, int, int | None]] = [
            (label, n, scored if scored is not None and scored < n else None)
            for (label, n), scored in zip(numbers, self._scored, strict=False)
        ]
        if self.result is not None:
            counts.append((gettext_noop("Judged units"), self.result.board.qrels.n_judged, None))
        collection = self.track.collection
        if collection is not None and (n_documents := documents_in(collection)):
            counts.append((gettext_noop("Documents"), n_documents, None))
        return counts[:4]

    @property
    def _scored(self) -> Sequence[int | None]:
        """The numbers of topics, teams and runs in the result."""
        if self.result is None:
            return [None] * 3
        return self.result.board.qrels.n_topics, len(self.result.best_runs), self.result.n_runs

    @property
    def coming(self) -> str:
        return self.listed.coming if self.result is None else self.listed.state.note

    @property
    def has_math(self) -> bool:
        return any(
            "math-container" in html for html in (self.about, self.lead, *(item.html for item in self.news))
        )

    @property
    def is_visitor(self) -> bool:
        """Return whether the reader has no place in the track yet."""
        return not self.teams and self.work is None


@dataclass(frozen=True)
class WayIn:
    """The facts in `_how_to_take_part.html`, for a page that shows nothing else of a track."""

    protocol: Protocol
    n_topics: int
    contents: list[str]
    kinds: list[str]


def way_in(track: Track) -> WayIn:
    """The way of a newcomer into a track. One query."""
    protocol = track.protocol.parsed
    return WayIn(protocol, track.topics.count(), _contents(track), _kinds(protocol.runs))


@dataclass(frozen=True)
class Work:
    """The topics that an assessor has in open batches, and the judgments that they submitted."""

    n_topics: int
    n_judged: int


def public_page(request: HttpRequest, track: Track) -> PublicPage:
    """The page for a reader; for somebody who oversees the track, the page of a visitor, also of a draft."""
    user: AnyUser = request.user
    is_preview = isinstance(user, User) and user.oversees(track.pk)
    if is_preview:
        user = AnonymousUser()
    board = _shown(_BOARD, user, track)
    is_public = board is None or board.release == Leaderboard.Release.PUBLIC
    listed = listed_track(user, track, board if is_public else _shown(_BOARD, AnonymousUser(), track))
    description = plain_html(track.description)
    lead, rest = after_first_paragraph(description)
    result, organizers = _summary(user, board), _organizers(track)
    happened = _happened(listed, result)
    now = timezone.now()
    dates = timeline(listed.track, now, has_results=result is not None, happened=happened)
    dates = [date for date in dates if not _is_outdated(date, happened, now)]
    return PublicPage(
        track=track,
        protocol=track.protocol.parsed,
        listed=listed,
        lead=SafeString(lead.removeprefix("<p>").removesuffix("</p>")),
        about=SafeString(description if rest.strip() else ""),
        contents=_contents(track),
        dates=dates,
        offers=[*offers(user, track), *_offered_qrels(result)],
        may_fetch=has_accepted(user, track),
        facts=_facts(track),
        kinds=_kinds(track.protocol.parsed.runs),
        news=latest(user, track),
        result=result,
        same_task=_summary(user, _shown(_SAME_TASK, user, track)) if result is None else None,
        organizers=organizers,
        citation=_citation(track, organizers, dates, f"{site_of(request)}{track.get_absolute_url()}"),
        teams=team_runs_pages(cast("User", user), track, listed.teams) if listed.teams else [],
        work=_work(user, track) if listed.is_assessor else None,
        takes_requests=takes_requests(track),
        is_preview=is_preview,
    )


def _contents(track: Track) -> list[str]:
    return counts_in_words(track.collection.counts)[:NAMED_COUNTS] if track.collection else []


def _facts(track: Track) -> list[tuple[str, str]]:
    """The facts that tell in short what the task is. One query, two if the pool has an older protocol."""
    pool = _JUDGED_POOL.first(track=track.pk)
    protocol = track.protocol if pool is None or pool.protocol_id == track.protocol_id else pool.protocol
    rules = protocol.parsed
    texts, depths = dict(facts(rules)), pool.depth if pool else rules.runs.depths
    short = {
        "Pool" if pool else "Usual pool": pooled_units(rules.pool, rules.runs, depths),
        "Grades": texts.get("Grades", ""),
        "Measures": ", ".join(rules.scoring.measures),
    }
    return [(heading, text) for heading, text in short.items() if text]


_JUDGED_POOL = Prepared(
    lambda track: (
        Pool.objects.filter(track=track, tops_up=None, batches__kind=Batch.Kind.MAIN)
        .exclude(depth={})
        .only("depth", "protocol_id")
        .order_by("-pk")
    )
)


def _kinds(rules: RunRules) -> list[str]:
    """The kinds of runs that teams submit, each with its limit."""
    return [
        f"{kind.name} (at most {kind.max_per_team})" if kind.max_per_team else kind.name
        for kind in rules.kinds
        if kind.submitted_by == "teams"
    ]


def _boards(user: object, condition: Q) -> QuerySet[Leaderboard]:
    """The latest leaderboard of some tracks that was released to the reader."""
    boards = seen_by(user).exclude(release=Leaderboard.Release.HIDDEN)
    boards = boards.filter(condition, status=Leaderboard.Status.READY)
    return boards.defer("statistics", "qrels__report").order_by("-pk")[:1]


_BOARD = Prepared(lambda user, track: _boards(user, Q(track=track)))
_SAME_TASK = Prepared(
    lambda user, track: _boards(
        user, Q(track__collection__tracks=track, track__protocol__tracks=track) & ~Q(track=track)
    )
)


def _shown(boards: Prepared[Leaderboard], user: AnyUser, track: Track) -> Leaderboard | None:
    return boards.first(user=user.pk, track=track.pk)


def _summary(user: AnyUser, board: Leaderboard | None) -> Summary | None:
    return summaries_of(user, [board])[0] if board else None


def _offered_qrels(result: Summary | None) -> list[Offer]:
    """The qrels of a released leaderboard, which its readers may see."""
    if result is None:
        return []
    board, qrels = result.board, result.board.qrels
    description = f"{counted(qrels.n_judged, 'unit')}, {counted(qrels.n_topics, 'topic')}"
    audiences = Download.Audience
    audience = audiences.EVERYONE if board.release == Leaderboard.Release.PUBLIC else audiences.TEAMS
    return [Offer("", description, None, audience.label, "Qrels", qrels.get_absolute_url())]


_CLOSINGS = Prepared(lambda track: Event.objects.filter(track_id=track, action="track.closed").only("at")[:1])


def _happened(listed: ListedTrack, result: Summary | None) -> dict[str, datetime]:
    """The instants at which the track was closed by hand, its judging ended, and its results were released."""
    track, moments = listed.track, dict[str, datetime | None]()
    if track.status == Track.Status.CLOSED:
        if not track.is_closed_by_deadline:
            closed = _CLOSINGS.first(track=track.pk)
            moments[gettext("Runs closed")] = closed.at if closed else None
        if not track.is_judging:  # type: ignore[attr-defined]
            main = Batch.objects.filter(pool__track=track, kind=Batch.Kind.MAIN, status=Batch.Status.CLOSED)
            if result is not None:  # a later batch is not in the results
                main = main.filter(closed_at__lte=result.board.released_at)
            judged = moments[gettext("Judged")] = main.aggregate(at=Max("closed_at"))["at"]
            closed_at = moments.get(gettext("Runs closed"))
            if judged and closed_at and closed_at > judged:  # runs were pooled while the track was open
                del moments[gettext("Runs closed")]
    if result is not None:
        moments[gettext("Results released")] = result.board.released_at
    return {title: moment for title, moment in moments.items() if moment}


def _is_outdated(date: Date, happened: Mapping[str, datetime], now: datetime) -> bool:
    """Return whether a planned date is that of something that happened before it."""
    title = date.title.casefold()
    return date.ends > now and any(
        gettext(event) in happened and title in titles for event, titles in PLANNED_AS.items()
    )


_ORGANIZERS = Prepared(
    lambda track: (
        User.objects.filter(organizer_of__track=track, organizer_of__is_chair=False, is_active=True)
        .only("last_name", "first_name")
        .order_by("last_name", "first_name")
    )
)


def _organizers(track: Track) -> list[str]:
    """The names of the organizers who have entered one; a login is no name."""
    return [name for user in _ORGANIZERS(track=track.pk) if (name := user.get_full_name())]


def _work(user: AnyUser, track: Track) -> Work:
    assigned = TopicAssignment.objects.filter(assessor=user.pk, is_withdrawn=False, batch__pool__track=track)
    judged = Task.objects.filter(assessor=user.pk, batch__pool__track=track, status=Task.Status.SUBMITTED)
    return Work(assigned.filter(batch__status=Batch.Status.OPEN).count(), judged.count())


def _citation(track: Track, organizers: list[str], dates: list[Date], address: str) -> str:
    """An entry of BibTeX for the track, in the year of its last date."""
    fields = {
        "title": f"{{{escape(track.name)}}}",
        "author": " and ".join(map(escape, organizers)),
        "year": str(max([track.created_at, *(date.moment for date in dates)]).year),
        "howpublished": rf"\url{{{address}}}",
        "note": escape(f"Track of an evaluation campaign, protocol {track.protocol.slug}"),
    }
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@misc{{{track.slug},\n{''.join(lines)}}}"
