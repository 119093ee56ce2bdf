"""The campaign of a track as a checklist for its organizers: what is done, what comes next, and what is wrong.

It is derived from the rows at each request, in a fixed number of queries. Nobody ticks anything.
"""

from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Exists, F, Func, IntegerField, Max, OuterRef, Q
from django.urls import reverse

from archives.models import Archive
from assay.protocols.schema import Protocol
from assessment.models import Batch, Judgment, TopicAssignment
from config.pages.interaction import interaction_items
from config.pages.items import NAMED, Item, named
from corpus.clusterings.selectors import latest_clustering
from corpus.formulas.selectors import stored_counts
from corpus.models import Collection
from pooling.interaction.progress import progress_of
from pooling.models import Pool, PoolEntry, PoolRun, Run
from pooling.requests.selectors import open_requests
from scoring.leaderboards.releases import hindrances
from scoring.models import Analysis, Leaderboard, Qrels
from tracks.deadlines.selectors import states
from tracks.models import Deadline, GuidelinesDraft, Track
from web.counting import counted


@dataclass(frozen=True)
class Checklist:
    """The points in groups with a heading; `following` is the first one that is required and not done."""

    groups: list[tuple[str, list[Item]]]
    following: Item | None
    n_done: int
    n_required: int


@dataclass(frozen=True)
class _Campaign:
    """What the points are derived from."""

    track: Track
    protocol: Protocol
    n: dict[str, int]
    pools: list[Pool]
    pooled: set[int]
    batches: list[Batch]
    unassigned: dict[int, int]
    qrels: Qrels | None
    board: Leaderboard | None
    teams: list[Any]
    facts: dict[str, Any] = field(default_factory=dict)


def checklist(track: Track) -> Checklist:
    """The checklist of a track, for organizers."""
    campaign = _campaign(track)
    groups = [
        ("Set up", _set_up(campaign)),
        ("Runs", _runs(campaign)),
        *_interaction(campaign),
        ("Judging", _judging(campaign)),
        ("Results", _results(campaign)),
    ]
    required = [item for _, items in groups for item in items if not item.is_optional]
    following = next((item for item in required if not item.is_done), None)
    return Checklist(groups, following, sum(item.is_done for item in required), len(required))


def _campaign(track: Track) -> _Campaign:
    submitted = Q(status=Run.Status.SUBMITTED)
    n_warnings = Func(F("report__warnings"), function="jsonb_array_length", output_field=IntegerField())
    runs = Run.objects.filter(track=track).annotate(n_warnings=n_warnings)
    n = runs.aggregate(
        runs=Count("pk", filter=submitted), warned=Count("pk", filter=submitted & Q(n_warnings__gt=0))
    )
    n["topics"] = track.topics.count()
    n["assessors"] = track.assessors.filter(machine=None, ended_at=None).count()
    pools = list(Pool.objects.filter(track=track).defer("statistics").order_by("-pk"))
    batches = list(Batch.objects.filter(pool__track=track).select_related("pool").defer("pool__statistics"))
    board = Leaderboard.objects.filter(track=track).defer("statistics").order_by("-pk").first()
    return _Campaign(
        track=track,
        protocol=track.protocol.parsed,
        n=n,
        pools=pools,
        pooled=set(PoolRun.objects.filter(pool__track=track).values_list("run", flat=True)),
        batches=batches,
        unassigned=_unassigned(track),
        qrels=Qrels.objects.filter(track=track, archived_at=None, machine=None).defer("report").first(),
        board=board,
        teams=_teams(track),
        facts=_facts(track, board),
    )


def _teams(track: Track) -> list[Any]:
    return list(
        track.teams.annotate(
            n_members=Count("members", distinct=True),
            n_runs=Count("runs", filter=Q(runs__status=Run.Status.SUBMITTED), distinct=True),
        ).order_by("name")
    )


def _unassigned(track: Track) -> dict[int, int]:
    """The number of topics that nobody judges, by pool with a main batch that is not closed."""
    assigned = TopicAssignment.objects.filter(
        batch__pool=OuterRef("pool"), topic=OuterRef("topic"), batch__kind=Batch.Kind.MAIN, is_withdrawn=False
    )
    planned = Batch.objects.filter(pool__track=track, kind=Batch.Kind.MAIN).exclude(
        status=Batch.Status.CLOSED
    )
    entries = PoolEntry.objects.filter(pool__in=planned.values("pool")).exclude(Exists(assigned))
    rows = entries.order_by().values("pool").annotate(n=Count("topic", distinct=True))
    return dict(rows.values_list("pool", "n"))


def _facts(track: Track, board: Leaderboard | None) -> dict[str, Any]:
    judged = Judgment.objects.filter(track=track, is_current=True).exclude(batch__kind=Batch.Kind.MACHINE)
    return {
        "judgments": judged.aggregate(n=Count("pk"), last=Max("created_at")),
        "draft": GuidelinesDraft.objects.filter(track=track).exclude(text="").exists(),
        "closes": Deadline.objects.filter(track=track).exclude(closes_at=None).exists(),
        "unpooled": Run.objects.filter(track=track, status=Run.Status.SUBMITTED).values_list(
            "pk", "tag", "kind"
        ),
        "accepting": any(state.is_accepting for state in states(track)),
        "analyses": Analysis.objects.filter(leaderboard=board, status=Analysis.Status.READY).count()
        if board
        else 0,
        "archives": Archive.objects.filter(track=track, status=Archive.Status.READY).count(),
        "released": Leaderboard.objects.filter(track=track)
        .exclude(release=Leaderboard.Release.HIDDEN)
        .first(),
        "hindrances": hindrances(track),
        "requests": open_requests(track).count(),
    }


def _address(name: str, campaign: _Campaign) -> str:
    return reverse(name, args=[campaign.track.slug])


# Set up


def _set_up(campaign: _Campaign) -> list[Item]:
    track, n = campaign.track, campaign.n
    protocol = Item(
        "Protocol", track.protocol.slug, reverse("tracks:protocol", args=[track.protocol.slug]), True
    )
    topics = Item(
        "Topics",
        counted(n["topics"], "topic") if n["topics"] else "none yet",
        _address("tracks:topics" if n["topics"] else "tracks:import_topics", campaign),
        n["topics"] > 0,
        action="Import topics",
    )
    return [
        protocol,
        _collection(campaign),
        *_formulas(campaign),
        topics,
        _guidelines(campaign),
        _assessors(campaign),
        _team_item(campaign),
        _deadlines(campaign),
    ]


def _collection(campaign: _Campaign) -> Item:
    collection = campaign.track.collection
    if collection is None:
        problem = "Runs are checked without a collection: unknown documents are accepted."
        return Item("Collection", "none", _address("tracks:edit_track", campaign), True, (problem,))
    is_ready = collection.status == Collection.Status.READY
    problems = () if is_ready else (f"{collection} is {collection.get_status_display()}.",)
    return Item(
        "Collection",
        str(collection),
        reverse("corpus:collection_imports", args=[collection.slug]),
        is_ready,
        problems,
        action="Import files",
    )


def _formulas(campaign: _Campaign) -> list[Item]:
    """The clustering of formulas, if the protocol judges formulas that look alike as one."""
    collection = campaign.track.collection
    if campaign.protocol.unit != "visually-distinct-formula" or collection is None:
        return []
    counts = stored_counts(collection)
    n, with_id = counts.get("formulas", 0), counts.get("formulas with a visual id", 0)
    is_clustered = latest_clustering(collection, is_complete=True) is not None
    if is_clustered:
        state = "clustered"
    elif with_id:
        state = f"{with_id:,} of {n:,} have a visual id of the index"
    else:
        state = "not clustered: visual ids are assigned to the formulas of runs only"
    is_done = is_clustered or 0 < n == with_id
    address = reverse("corpus:formulas", args=[collection.slug])
    return [Item("Formulas", state, address, is_done, action="Cluster the formulas", is_optional=True)]


def _guidelines(campaign: _Campaign) -> Item:
    version = campaign.track.guidelines
    state = "a draft that is not published" if campaign.facts["draft"] else "none yet"
    address = _address("tracks:guidelines" if version else "tracks:edit_guidelines", campaign)
    return Item("Guidelines", str(version or state), address, version is not None, is_optional=True)


def _people(campaign: _Campaign) -> str:
    return _address("pooling:people", campaign)


def _assessors(campaign: _Campaign) -> Item:
    n, judges = campaign.n["assessors"], campaign.protocol.judging.judges
    few = f"The protocol asks for {judges} assessors for each topic."
    return Item(
        "Assessors",
        counted(n, "person,people") if n else "nobody yet",
        _people(campaign),
        n >= judges,
        (few,) if 0 < n < judges else (),
        action="Add assessors",
    )


def _team_item(campaign: _Campaign) -> Item:
    teams = campaign.teams
    empty = [team.name for team in teams if not team.n_members]
    problems = (f"Without members: {named(empty)}.",) if empty else ()
    if n_requests := campaign.facts["requests"]:
        problems = (f"{counted(n_requests, 'request')} to join to decide.", *problems)
    state = counted(len(teams), "team") if teams else "none yet"
    return Item("Teams", state, _people(campaign), bool(teams), problems, action="Add teams")


def _deadlines(campaign: _Campaign) -> Item:
    closes = campaign.facts["closes"]
    state = "set" if closes else "none: you close the track by hand"
    return Item("Deadlines", state, _address("tracks:deadlines", campaign), closes, is_optional=True)


# Runs


def _runs(campaign: _Campaign) -> list[Item]:
    is_draft = campaign.track.status == Track.Status.DRAFT
    is_closed = campaign.track.status == Track.Status.CLOSED or not (is_draft or campaign.facts["accepting"])
    opened = Item(
        "Open for runs",
        campaign.track.get_status_display(),
        _address("tracks:open_track", campaign),
        not is_draft,
        action="Open for runs",
        is_form=True,
    )
    closed = Item(
        "Close for runs",
        "closed" if is_closed else "runs can still come in",
        _address("tracks:close_track", campaign),
        is_closed,
        action="Close for runs",
        is_form=not is_draft,
    )
    return [opened, _run_item(campaign), closed, _pool(campaign)]


def _run_item(campaign: _Campaign) -> Item:
    n, silent = campaign.n, [team.name for team in campaign.teams if not team.n_runs]
    problems = []
    if n["warned"]:
        problems.append(f"{counted(n['warned'], 'run')} with warnings.")
    if silent and n["runs"]:
        problems.append(f"Without a run: {named(silent)}.")
    state = (
        f"{counted(n['runs'], 'run')} of {counted(len(campaign.teams) - len(silent), 'team')}"
        if n["runs"]
        else "none yet"
    )
    return Item(
        "Runs",
        state,
        _address("pooling:runs", campaign),
        n["runs"] > 0,
        tuple(problems),
        action="See the runs",
    )


def _pool(campaign: _Campaign) -> Item:
    ready = [pool for pool in campaign.pools if pool.status == Pool.Status.READY]
    building = sum(pool.status == Pool.Status.BUILDING for pool in campaign.pools)
    problems = []
    if campaign.pools and campaign.pools[0].status == Pool.Status.FAILED:
        problems.append(f"The pool {campaign.pools[0]} failed. Its page states why.")
    kinds = {kind for kind, depth in campaign.protocol.runs.depths.items() if depth}
    late = [
        tag for pk, tag, kind in campaign.facts["unpooled"] if pk not in campaign.pooled and kind in kinds
    ]
    if ready and late:
        problems.append(f"In no pool: {named(late)}. Top up the pool to judge them.")
    state = ", ".join(pool.name for pool in ready[:NAMED]) or ("being built" if building else "none yet")
    address = _address("pooling:pools" if campaign.pools else "pooling:new_pool", campaign)
    return Item("Pool", state, address, bool(ready), tuple(problems), action="Build a pool")


# Interaction


def _interaction(campaign: _Campaign) -> list[tuple[str, list[Item]]]:
    """The group of the interaction, if the protocol has one."""
    progress = progress_of(campaign.track)
    if progress is None:
        return []
    submitting = [team.name for team in campaign.teams if team.n_runs]
    return [
        ("Interaction", interaction_items(progress, submitting, _address("pooling:interaction", campaign)))
    ]


# Judging


def _judging(campaign: _Campaign) -> list[Item]:
    return [
        _batch_item(campaign, Batch.Kind.TRAINING, "Training", is_optional=True),
        _batch_item(campaign, Batch.Kind.MAIN, "Main judging", is_optional=_needs_no_judgments(campaign)),
        _batch_item(campaign, Batch.Kind.DUAL, "Second judgments", is_optional=True),
        _batch_item(campaign, Batch.Kind.ADJUDICATION, "Adjudication", is_optional=True),
        _agreement(campaign),
    ]


def _needs_no_judgments(campaign: _Campaign) -> bool:
    """A known-item task needs none, and imported qrels replace them."""
    is_imported = campaign.qrels is not None and campaign.qrels.source == Qrels.Source.IMPORTED
    return is_imported or campaign.protocol.pool.strategy == "known-item"


def _batch_item(campaign: _Campaign, kind: Batch.Kind, label: str, *, is_optional: bool) -> Item:
    batches = [batch for batch in campaign.batches if batch.kind == kind]
    n_open = sum(batch.status == Batch.Status.OPEN for batch in batches)
    drafts = [batch.name for batch in batches if batch.status == Batch.Status.DRAFT]
    problems = [f"Not opened yet: {named(drafts)}."] if drafts else []
    if kind == Batch.Kind.MAIN and (left := sum(campaign.unassigned.values())):
        problems.append(f"{counted(left, 'topic')} without an assessor.")
    state = f"{counted(len(batches), 'batch,batches')}, {n_open} open" if batches else "no batch"
    done = bool(batches) and not n_open and not drafts
    first = next((batch for batch in batches if batch.status != Batch.Status.CLOSED), None)
    address = first.get_absolute_url() if first else _address("assessment:judging", campaign)
    if not batches:
        pool = next((each for each in campaign.pools if each.status == Pool.Status.READY), None)
        is_main = kind == Batch.Kind.MAIN and pool is not None
        address = reverse("assessment:new_batch", args=[campaign.track.slug]) if is_main else address
    action = "Create a batch" if not batches else "Plan and open the batch" if drafts else "Watch the judging"
    return Item(label, state, address, done, tuple(problems), action=action, is_optional=is_optional)


def _agreement(campaign: _Campaign) -> Item:
    n = campaign.facts["judgments"]["n"]
    is_double = any(batch.kind in {Batch.Kind.TRAINING, Batch.Kind.DUAL} for batch in campaign.batches)
    state = f"{counted(n, 'judgment')}" + ("" if is_double else "; no unit is judged twice on purpose")
    address = _address("assessment:agreement", campaign)
    return Item("Agreement", state, address, is_double and n > 0, is_optional=True)


# Results


def _results(campaign: _Campaign) -> list[Item]:
    board = campaign.board
    boards = _address("scoring:leaderboards", campaign)
    n_analyses = campaign.facts["analyses"]
    reports = reverse("scoring:reports", args=[board.pk]) if board else boards
    state = counted(n_analyses, "analysis,analyses") if n_analyses else "none yet"
    analyses = Item("Reliability of the numbers", state, reports, n_analyses > 0, is_optional=True)
    n_archives = campaign.facts["archives"]
    state = counted(n_archives, "archive") if n_archives else "none yet"
    archive = Item(
        "Archive", state, _address("archives:archives", campaign), n_archives > 0, is_optional=True
    )
    return [_qrels(campaign), _leaderboard(campaign, boards), analyses, _release(campaign, boards), archive]


def _qrels(campaign: _Campaign) -> Item:
    qrels, last = campaign.qrels, campaign.facts["judgments"]["last"]
    address = _address("scoring:freeze" if qrels is None else "scoring:qrels_list", campaign)
    problems: tuple[str, ...] = ()
    if qrels is not None and qrels.source == Qrels.Source.FROZEN and last and last > qrels.created_at:
        problems = (f"Judgments came after {qrels}. Freeze the qrels again if they must count.",)
    return Item(
        "Qrels", str(qrels or "none yet"), address, qrels is not None, problems, action="Freeze qrels"
    )


def _leaderboard(campaign: _Campaign, boards: str) -> Item:
    board, qrels = campaign.board, campaign.qrels
    if board is None:
        address = qrels.get_absolute_url() if qrels else boards
        return Item("Leaderboard", "none yet", address, False, action="Score the runs")
    problems = []
    if board.status == Leaderboard.Status.FAILED:
        problems.append("Scoring failed. The page of the leaderboard states why.")
    if qrels is not None and board.qrels_id != qrels.pk:
        problems.append(f"It was not scored against the newest qrels, {qrels}.")
    is_ready = board.status == Leaderboard.Status.READY
    state = board.get_status_display()
    return Item(
        "Leaderboard",
        state,
        board.get_absolute_url(),
        is_ready,
        tuple(problems),
        action="See the leaderboard",
    )


def _release(campaign: _Campaign, boards: str) -> Item:
    released, board = campaign.facts["released"], campaign.board
    if released is not None:
        problems = tuple(campaign.facts["hindrances"])
        return Item(
            "Release", f"to {released.get_release_display()}", released.get_absolute_url(), True, problems
        )
    address = f"{reverse('scoring:release', args=[board.pk])}?level=public" if board else boards
    return Item("Release", "not released yet", address, False, action="Check and release the leaderboard")
