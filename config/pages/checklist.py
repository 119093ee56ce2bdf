"""The campaign of a track as a checklist for its organizers: what is done, what comes next, and what is wrong.

It is derived from the rows at each request, in a fixed number of queries. Nobody ticks anything.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, Func, IntegerField, Max, OuterRef, Q
from django.urls import reverse

from assessment.batches.progress import progress_of_each
from assessment.models import Batch, Judgment, TopicAssignment
from config.pages.interaction import progress_of
from corpus.clusterings.selectors import latest_clustering
from corpus.collections.selectors import stored_formula_counts
from corpus.models import Collection
from participation.requests.selectors import open_requests
from pooling.models import Pool, PoolEntry, PoolRun, Run
from pooling.runs.selectors import has_obligations, owing_teams
from publishing.models import Archive
from scoring.leaderboards.releases import hindrances
from scoring.models import Analysis, Leaderboard, Qrels
from tracks.acceptance import is_accepting, states, until_closing
from tracks.leaks.selectors import is_outdated, latest_check
from tracks.models import CandidateFile, Deadline, GuidelinesDraft, Track
from tracks.rows.selectors import rows_of
from web.pages import counted

NAMED = 5  # names in a sentence
# Points of a track to which nothing is submitted would stay open forever.
OF_RUNS = {
    "Collection", "Teams", "Deadlines", "Open for runs", "Runs", "Close for runs", "Leaderboard",
    "Reliability of the numbers", "Release",
}  # fmt: skip
PLANS = {Batch.Kind.TRAINING: "assessment:new_training", Batch.Kind.DUAL: "assessment:new_dual"}


class Point(NamedTuple):
    """A point of the list. `problems` are whole sentences. `action` is the button if the point comes next; `is_form`
    says that the address takes a form without fields.
    """

    label: str
    state: str
    address: str
    is_done: bool
    problems: tuple[str, ...] = ()
    action: str = ""
    is_form: bool = False
    is_optional: bool = False


@dataclass(frozen=True)
class Checklist:
    """The points in groups with a heading; `following` is the first one that is required and not done."""

    groups: list[tuple[str, list[Point]]]
    following: Point | None
    n_done: int
    n_required: int


def checklist(track: Track) -> Checklist:
    """The checklist of a track, for organizers."""
    campaign = _Campaign(track)
    groups = [
        ("Set up", _set_up(campaign)),
        ("Runs", _runs(campaign)),
        ("Interaction", _interaction(campaign)),
        ("Judging", _judging(campaign)),
        ("Results", _results(campaign)),
    ]
    protocol = campaign.protocol
    left_out = set() if protocol.takes_runs else set(OF_RUNS)
    if not (protocol.judging.has_grades or protocol.qrels.sets):
        left_out.add("Qrels")
    if left_out:
        groups = [
            (heading, [point for point in points if point.label not in left_out])
            for heading, points in groups
        ]
    required = [point for _, points in groups for point in points if not point.is_optional]
    following = next((point for point in required if not point.is_done), None)
    shown = [(heading, points) for heading, points in groups if points]
    return Checklist(shown, following, sum(point.is_done for point in required), len(required))


class _Campaign:
    """The rows from which several points are derived."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.protocol = track.protocol.parsed

    def address(self, name: str) -> str:
        return reverse(name, args=[self.track.slug])

    @cached_property
    def runs(self) -> list[Run]:
        n_warnings = Func(F("report__warnings"), function="jsonb_array_length", output_field=IntegerField())
        submitted = Run.objects.filter(track=self.track, status=Run.Status.SUBMITTED)
        return list(submitted.only("tag", "kind", "track").annotate(n_warnings=n_warnings))

    @cached_property
    def teams(self) -> list[Any]:
        n_runs = Count("runs", filter=Q(runs__status=Run.Status.SUBMITTED), distinct=True)
        teams = self.track.teams.annotate(n_members=Count("members", distinct=True), n_runs=n_runs)
        return list(teams.order_by("name"))

    @cached_property
    def pools(self) -> list[Pool]:
        return list(Pool.objects.filter(track=self.track).defer("statistics").order_by("-pk"))

    @cached_property
    def qrels(self) -> Qrels | None:
        of_people = Qrels.objects.filter(track=self.track, archived_at=None, machine=None)
        return of_people.defer("report").first()

    @cached_property
    def judgments(self) -> dict[str, Any]:
        """The number of the judgments of people, and the time of the last one."""
        judged = Judgment.objects.filter(track=self.track, is_current=True)
        return judged.exclude(batch__kind=Batch.Kind.MACHINE).aggregate(n=Count("pk"), last=Max("created_at"))


def named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _choice(campaign: _Campaign) -> list[Point]:
    """The progress of choosing topics among candidates, if a draft has candidates."""
    track = campaign.track
    file = CandidateFile.objects.filter(track=track).first()
    if file is None or track.status != Track.Status.DRAFT:
        return []
    sample = track.candidate_samples.first()
    if sample is None:
        return [_choice_point(counted(file.n_candidates, "candidate"), campaign.address("tracks:candidates"))]
    both = Count("candidate__decisions", filter=Q(candidate__decisions__is_current=True))
    rows = sample.rows.annotate(n_decisions=both)
    n_done = rows.filter(n_decisions__gte=2).count()
    state = f"{sample}: both people have decided on {n_done:,} of {counted(rows.count(), 'candidate')}"
    return [_choice_point(state, sample.get_absolute_url())]


def _leaks(campaign: _Campaign) -> list[Point]:
    """The result of the latest check for leaks in the collection of the topics."""
    track, address = campaign.track, campaign.address("tracks:leaks")
    if track.collection is None:
        return []
    check = latest_check(track)
    if check is None:
        return [Point("Leaks", "not checked", address, False, action="Check for leaks", is_optional=True)]
    problems = (
        ["Topics or the collection changed after the check. Check again."] if is_outdated(check) else []
    )
    state = f"{counted(check.n_forbidden, 'leak')}, accepted" if check.reason else "none"
    is_open = bool(check.n_forbidden) and not check.reason
    if is_open:
        state = counted(check.n_forbidden, "leak")
        problems.insert(0, "The collection gives topics away, so the track cannot be opened.")
    return [
        Point(
            "Leaks",
            state,
            address,
            not is_open,
            tuple(problems),
            action="See the leaks",
            is_optional=not is_open,
        )
    ]


def _choice_point(state: str, address: str) -> Point:
    return Point("Choice of topics", state, address, False, action="Choose topics", is_optional=True)


def _set_up(campaign: _Campaign) -> list[Point]:
    track, address, judges = campaign.track, campaign.address, campaign.protocol.judging.judges
    n_topics = track.topics.count()
    topics = address("tracks:topics" if n_topics else "tracks:import_topics")
    has_draft = GuidelinesDraft.objects.filter(track=track).exclude(text="").exists()
    guidelines = track.guidelines or ("a draft that is not published" if has_draft else "none yet")
    n_people = track.assessors.filter(machine=None, user__guest_until=None, ended_at=None).count()
    few = (f"The protocol asks for {judges} assessors for each topic.",) if 0 < n_people < judges else ()
    closes = Deadline.objects.filter(track=track).exclude(closes_at=None).exists()
    teams, of_teams = campaign.teams, []
    if n_requests := open_requests(track).count():
        of_teams.append(f"{counted(n_requests, 'request')} to join to decide.")
    if empty := [team.name for team in teams if not team.n_members]:
        of_teams.append(f"Without members: {named(empty)}.")
    return [
        Point("Protocol", track.protocol.slug, reverse("tracks:protocol", args=[track.protocol.slug]), True),
        *_collection(campaign),
        *_rows(campaign),
        Point(
            "Topics",
            counted(n_topics, "topic") if n_topics else "none yet",
            topics,
            n_topics > 0,
            action="Import topics",
        ),
        *_choice(campaign),
        *_leaks(campaign),
        Point(
            "Guidelines",
            str(guidelines),
            address("tracks:guidelines" if track.guidelines else "tracks:edit_guidelines"),
            track.guidelines is not None,
            is_optional=True,
        ),
        Point(
            "Assessors",
            counted(n_people, "person,people") if n_people else "nobody yet",
            address("participation:people" if n_people or campaign.teams else "participation:add_people"),
            n_people >= judges,
            few,
            action="Add assessors",
        ),
        Point(
            "Teams",
            counted(len(teams), "team") if teams else "none yet",
            address("participation:people"),
            bool(teams),
            tuple(of_teams),
            action="Add teams",
        ),
        Point(
            "Deadlines",
            "set" if closes else "none: you close the track by hand",
            address("tracks:deadlines"),
            closes,
            is_optional=True,
        ),
    ]


def _rows(campaign: _Campaign) -> list[Point]:
    """The rows that a form shows, if the protocol judges rows."""
    if campaign.protocol.judging.form is None:
        return []
    n = rows_of(campaign.track).count()
    address = campaign.address("tracks:rows" if n else "tracks:import_topics")
    return [Point("Rows", counted(n, "row") if n else "none yet", address, n > 0, action="Import rows")]


def _nuggets(campaign: _Campaign) -> list[Point]:
    """The frozen lists of nuggets, if answers are judged by them: a topic without one is pooled without nuggets."""
    if not campaign.protocol.is_of_answers:
        return []
    topics, frozen = campaign.track.topics, Q(nugget_versions__isnull=False)
    n_topics, n_frozen = topics.count(), topics.filter(frozen).distinct().count()
    n_written = topics.filter(nuggets__isnull=False).distinct().count()
    return [
        Point(
            "Nuggets",
            f"lists of {n_frozen} of {counted(n_topics, 'topic')} frozen, {n_written} begun",
            campaign.address("assessment:nuggets"),
            n_topics > 0 and n_frozen == n_topics,
            action="Write and freeze nuggets" if n_written < n_topics else "Freeze nuggets",
            is_optional=any(pool.status == Pool.Status.READY for pool in campaign.pools),
        )
    ]


def _collection(campaign: _Campaign) -> list[Point]:
    """The collection, and the clustering of its formulas if the protocol judges formulas that look alike as one."""
    collection = campaign.track.collection
    if collection is None:
        problem = "Runs are checked without a collection: unknown documents are accepted."
        return [Point("Collection", "none", campaign.address("tracks:edit_track"), True, (problem,))]
    is_ready = collection.status == Collection.Status.READY
    problems = () if is_ready else (f"{collection} is {collection.get_status_display()}.",)
    imports = reverse("corpus:collection_imports", args=[collection.slug])
    is_importing = collection.status == Collection.Status.IMPORTING
    action = "Wait for the import" if is_importing else "Import files"
    point = Point("Collection", str(collection), imports, is_ready, problems, action=action)
    if campaign.protocol.unit != "visually-distinct-formula":
        return [point]
    counts = stored_formula_counts(collection)
    n, with_id = counts.get("formulas", 0), counts.get("formulas with a visual id", 0)
    state, is_done = "not clustered: visual ids are assigned to the formulas of runs only", False
    if latest_clustering(collection, is_complete=True) is not None:
        state, is_done = "clustered", True
    elif with_id:
        state, is_done = f"{with_id:,} of {n:,} have a visual id of the index", n == with_id
    formulas = reverse("corpus:formulas", args=[collection.slug])
    return [
        point,
        Point("Formulas", state, formulas, is_done, action="Cluster the formulas", is_optional=True),
    ]


def _runs(campaign: _Campaign) -> list[Point]:
    track, runs, teams = campaign.track, campaign.runs, campaign.teams
    is_draft = track.status == Track.Status.DRAFT
    is_over = not is_draft and not is_accepting(until_closing(track, states(track)))
    is_closed = track.status == Track.Status.CLOSED or is_over
    silent = [team.name for team in teams if not team.n_runs]
    problems = []
    if n_warned := sum(run.n_warnings > 0 for run in runs):  # type: ignore[attr-defined]
        problems.append(f"{counted(n_warned, 'run')} with warnings.")
    if silent and runs:
        problems.append(f"Without a run: {named(silent)}.")
    submitted = f"{counted(len(runs), 'run')} of {counted(len(teams) - len(silent), 'team')}"
    return [
        Point(
            "Open for runs",
            track.get_status_display(),
            campaign.address("tracks:open_track"),
            not is_draft,
            action="Open for runs",
            is_form=True,
        ),
        Point(
            "Runs",
            submitted if runs else "none yet",
            campaign.address("pooling:runs"),
            bool(runs),
            tuple(problems),
            action="See the runs",
        ),
        *_owed(campaign),
        Point(
            "Close for runs",
            "closed" if is_closed else "runs can still come in",
            campaign.address("tracks:close_track"),
            is_closed,
            action="Close for runs",
            is_form=not is_draft,
        ),
        *_nuggets(campaign),
        _pool(campaign),
    ]


def _owed(campaign: _Campaign) -> list[Point]:
    """The runs and documents that each team owes, if the protocol asks for some."""
    if not has_obligations(campaign.protocol.runs):
        return []
    owing, n_teams = owing_teams(campaign.track), len(campaign.teams)
    missing = tuple(f"{each.team.name}: {each.missing}." for each in owing[:NAMED])
    more = (f"And {counted(len(owing) - NAMED, 'more team')}.",) if len(owing) > NAMED else ()
    return [
        Point(
            "Runs and documents of each team" if campaign.protocol.runs.documents else "Runs of each team",
            f"{n_teams - len(owing)} of {counted(n_teams, 'team')} complete",
            campaign.address("pooling:runs"),
            n_teams > 0 and not owing,
            (*missing, *more),
            is_optional=True,
        )
    ]


def _pool(campaign: _Campaign) -> Point:
    pools = campaign.pools
    ready = [pool.name for pool in pools if pool.status == Pool.Status.READY]
    is_building = any(pool.status == Pool.Status.BUILDING for pool in pools)
    problems = []
    if pools and pools[0].status == Pool.Status.FAILED:
        problems.append(f"The pool {pools[0]} failed. Its page states why.")
    pooled = set(PoolRun.objects.filter(pool__track=campaign.track).values_list("run", flat=True))
    depths = campaign.protocol.runs.depths
    late = [run.tag for run in campaign.runs if run.pk not in pooled and depths.get(run.kind)]
    if ready and late:
        problems.append(f"In no pool: {named(late)}. Top up the pool to judge them.")
    state = ", ".join(ready[:NAMED]) or ("being built" if is_building else "none yet")
    address = campaign.address("pooling:pools" if pools else "pooling:new_pool")
    action = "Wait for the pool" if is_building else "Build a pool"
    return Point("Pool", state, address, bool(ready), tuple(problems), action=action)


def _interaction(campaign: _Campaign) -> list[Point]:
    """The points of the interaction, if the protocol has one.

    They are required as soon as a team nominates topics, because a team may leave the interaction out.
    """
    progress = progress_of(campaign.track)
    if progress is None:
        return []
    n_topics, n_waiting, n_held = progress.n_nominated, progress.n_waiting, progress.n_held
    n_teams, n = len(progress.nominating), len(progress.interacted)
    silent = [team.name for team in campaign.teams if team.n_runs and team.name not in progress.nominating]
    no_page = f"Planned, without the page of the system: {named(progress.without_page)}."
    points = [
        Point(
            "Nominations",
            f"{counted(n_topics, 'topic')} of {counted(n_teams, 'team')}" if n_topics else "none yet",
            "",
            n_topics > 0,
            (f"Without nominations: {named(silent)}.",) if silent and n_topics else (),
            action="See the nominations",
        ),
        Point(
            "Sessions",
            f"{n_held} held, {n_waiting} planned" if n_held or n_waiting else "none planned",
            "",
            n_held > 0 and not n_waiting,
            (no_page,) if progress.without_page else (),
            action="Wait for the sessions" if n_waiting else "Plan sessions",
        ),
    ]
    for label, missing, action in (
        ("Data of the sessions", progress.without_data, "See the data"),
        ("Runs after the interaction", progress.without_run, "See the teams"),
    ):
        state = f"{n - len(missing)} of {counted(n, 'team')} with sessions" if n else "after the sessions"
        problems = (f"Missing: {named(missing)}.",) if missing else ()
        points.append(Point(label, state, "", n > 0 and not missing, problems, action=action))
    address = campaign.address("participation:interaction")
    return [point._replace(address=address, is_optional=not n_topics) for point in points]


def _judging(campaign: _Campaign) -> list[Point]:
    track, qrels, n = campaign.track, campaign.qrels, campaign.judgments["n"]
    # A known-item task needs no judgments, and imported qrels replace them.
    is_imported = qrels is not None and qrels.source == Qrels.Source.IMPORTED
    needs_none = is_imported or campaign.protocol.pool.strategy == "known-item"
    batches = list(Batch.objects.filter(pool__track=track).select_related("pool").defer("pool__statistics"))
    is_double = any(batch.kind in {Batch.Kind.TRAINING, Batch.Kind.DUAL} for batch in batches)
    agreement = f"{counted(n, 'judgment')}" + ("" if is_double else "; no unit is judged twice on purpose")
    kinds = (
        (Batch.Kind.TRAINING, "Training", True),
        (Batch.Kind.MAIN, "Main judging", needs_none),
        (Batch.Kind.DUAL, "Second judgments", True),
        (Batch.Kind.ADJUDICATION, "Adjudication", True),
    )
    points = []
    for kind, label, is_optional in kinds:
        of_kind = [batch for batch in batches if batch.kind == kind]
        is_open = any(batch.status == Batch.Status.OPEN for batch in of_kind)  # then somebody judges
        point = _batches(campaign, of_kind, kind)
        points.append(point._replace(label=label, is_optional=is_optional and not is_open))
    address = campaign.address("assessment:agreement")
    return [*points, Point("Agreement", agreement, address, is_double and n > 0, is_optional=True)]


def _batches(campaign: _Campaign, batches: list[Batch], kind: Batch.Kind) -> Point:
    """The batches of a kind."""
    open_batches = [batch for batch in batches if batch.status == Batch.Status.OPEN]
    n_open = len(open_batches)
    drafts = [batch.name for batch in batches if batch.status == Batch.Status.DRAFT]
    problems = [f"Not opened yet: {named(drafts)}."] if drafts else []
    if kind == Batch.Kind.MAIN and (left := _n_unassigned(campaign.track)):
        problems.append(f"{counted(left, 'topic')} without an assessor.")
    state = f"{counted(len(batches), 'batch,batches')}, {n_open} open" if batches else "no batch"
    first = next((batch for batch in batches if batch.status != Batch.Status.CLOSED), None)
    address = first.get_absolute_url() if first else campaign.address("assessment:judging")
    pool = next((pool for pool in campaign.pools if pool.status == Pool.Status.READY), None)
    if not batches and kind == Batch.Kind.MAIN and pool:
        address = campaign.address("assessment:new_batch")
    elif not batches and kind in PLANS and pool:
        address = reverse(PLANS[kind], args=[pool.pk])
    action = "Create a batch" if not batches else "Plan and open the batch" if drafts else "Watch the judging"
    progress = progress_of_each(open_batches).values() if open_batches and not drafts else ()
    if first and progress and all(0 < each.total <= each.judged for each in progress):
        state, action = f"{state}, all judged", f"Close “{first.name}”"
    is_done = bool(batches) and not n_open and not drafts
    return Point("", state, address, is_done, tuple(problems), action=action)


def _n_unassigned(track: Track) -> int:
    """The number of topics that nobody judges, in pools with a main batch that is not closed."""
    main = Q(kind=Batch.Kind.MAIN)
    planned = Batch.objects.filter(main, pool__track=track).exclude(status=Batch.Status.CLOSED)
    assigned = TopicAssignment.objects.filter(
        batch__pool=OuterRef("pool"), topic=OuterRef("topic"), batch__kind=Batch.Kind.MAIN, is_withdrawn=False
    )
    entries = PoolEntry.objects.filter(pool__in=planned.values("pool")).exclude(Exists(assigned))
    return entries.order_by().values("pool", "topic").distinct().count()


def _results(campaign: _Campaign) -> list[Point]:
    track, qrels = campaign.track, campaign.qrels
    of_track = Leaderboard.objects.filter(track=track)
    board = of_track.defer("statistics").order_by("-pk").first()
    boards = campaign.address("scoring:leaderboards")
    n_analyses = (
        Analysis.objects.filter(leaderboard=board, status=Analysis.Status.READY).count() if board else 0
    )
    n_archives = Archive.objects.filter(track=track, status=Archive.Status.READY).count()
    last = campaign.judgments["last"]
    problems = []
    if qrels is not None and qrels.source == Qrels.Source.FROZEN and last and last > qrels.created_at:
        problems.append(f"Judgments came after {qrels}. Freeze the qrels again if they must count.")
    released = of_track.exclude(release=Leaderboard.Release.HIDDEN).select_related("qrels").first()
    if released is not None:
        state, why_not = f"to {released.get_release_display()}", tuple(hindrances(released))
        release = Point("Release", state, released.get_absolute_url(), True, why_not)
    else:
        address = f"{reverse('scoring:release', args=[board.pk])}?level=public" if board else boards
        action = "Check and release the leaderboard"
        release = Point("Release", "not released yet", address, False, action=action)
    return [
        Point(
            "Qrels",
            str(qrels or "none yet"),
            campaign.address("scoring:freeze" if qrels is None else "scoring:qrels_list"),
            qrels is not None,
            tuple(problems),
            action="Freeze qrels",
        ),
        _leaderboard(board, qrels, boards),
        Point(
            "Reliability of the numbers",
            counted(n_analyses, "analysis,analyses") if n_analyses else "none yet",
            reverse("scoring:reports", args=[board.pk]) if board else boards,
            n_analyses > 0,
            is_optional=True,
        ),
        release,
        Point(
            "Archive",
            counted(n_archives, "archive") if n_archives else "none yet",
            campaign.address("publishing:archives"),
            n_archives > 0,
            is_optional=True,
        ),
    ]


def _leaderboard(board: Leaderboard | None, qrels: Qrels | None, boards: str) -> Point:
    if board is None:
        address = qrels.get_absolute_url() if qrels else boards
        return Point("Leaderboard", "none yet", address, False, action="Score the runs")
    problems = []
    if board.status == Leaderboard.Status.FAILED:
        problems.append("Scoring failed. The page of the leaderboard states why.")
    if qrels is not None and board.qrels_id != qrels.pk:
        problems.append(f"It was not scored against the newest qrels, {qrels}.")
    is_ready = board.status == Leaderboard.Status.READY
    state, action = board.get_status_display(), "See the leaderboard"
    return Point("Leaderboard", state, board.get_absolute_url(), is_ready, tuple(problems), action=action)
