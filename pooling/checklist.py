"""The points of runs, pools and the interaction in the checklist of a campaign."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Exists, F, Func, IntegerField, OuterRef, QuerySet, Subquery

from accounts.models import Event
from participation.checklist import competing, teams_of
from participation.teams.selectors import RunCounts, run_counts
from pooling.interaction import progress_of
from pooling.models import Pool, PoolRun, Run
from pooling.runs.selectors import has_obligations, kinds_by_team, owing_teams
from tracks.checklist.points import NAMED, Campaign, Phase, Point, Problem, listed, named, numbers, points
from tracks.deadline_acceptance import acceptances_at, is_accepting, until_closing
from tracks.models import Deadline, Track
from tracks.tracks.selectors import says_before
from web import times
from web.confirmation import Check
from web.links import address_of
from web.pages import counted


@numbers
def _numbers() -> dict[str, Any]:
    closings = Event.objects.filter(track_id=OuterRef("pk"), action="track.closed").order_by("-id")
    return {"closed_at": Subquery(closings.values("at")[:1])}


@listed
def runs_of(track: Any) -> QuerySet[Run]:
    """The submitted runs, each with its number of warnings and whether it is in a pool."""
    n_warnings = Func(F("report__warnings"), function="jsonb_array_length", output_field=IntegerField())
    submitted = Run.objects.filter(track=track, status=Run.Status.SUBMITTED).order_by("tag")
    pools = Pool.objects.exclude(status=Pool.Status.FAILED)
    pooled = Exists(PoolRun.objects.filter(run=OuterRef("pk"), pool__in=pools))
    return submitted.only("tag", "kind", "team").annotate(n_warnings=n_warnings, is_pooled=pooled)


@listed
def pools_of(track: Any) -> QuerySet[Pool]:
    """The pools, newest first."""
    pools = Pool.objects.filter(track=track).order_by("-pk")
    return pools.only("track", "name", "protocol", "status", "tops_up", "sha256")


@listed
def deadlines_of(track: Any) -> QuerySet[Deadline]:
    return Deadline.objects.filter(track=track)


@dataclass(frozen=True)
class Closing:
    """The end of the runs: `ends` is when they end by themselves, in words, and `left` the time until then.

    Both are empty if the track is closed by hand.
    """

    is_open: bool
    ends: str
    left: str
    is_last_day: bool


def closing_of(campaign: Campaign) -> Closing:
    """The closing of a track, by the clock of the database."""
    track, deadlines = campaign.track, {deadline.kind: deadline for deadline in campaign.rows(deadlines_of)}
    of_kinds = until_closing(track, acceptances_at(track, deadlines, campaign.numbers["now"]))
    accepting = [acceptance for acceptance in of_kinds if acceptance.is_accepting]
    timed = {acceptance.ends_at: acceptance.zone for acceptance in accepting if acceptance.ends_at}
    is_timed = bool(accepting) and all(acceptance.ends_at for acceptance in accepting)
    ends = times.in_words(max(timed), timed[max(timed)]) if is_timed else ""
    left = max(timed) - campaign.numbers["now"] if is_timed else timedelta()
    time_left = times.time_left(left.total_seconds()) if is_timed else ""
    return Closing(is_accepting(accepting), ends, time_left, is_timed and left < timedelta(days=1))


@says_before("closing")
def checks_of_closing(track: Track) -> Iterator[Check]:
    """Say before the closing which runs there are, and which teams have none."""
    runs, teams = list(runs_of(track)), list(teams_of(track))
    address = address_of("pooling:runs", track.slug)
    submitting = {run.team_id for run in runs}
    if runs:
        yield Check("ok", str(run_counts(kinds_by_team(runs, teams), track.protocol.parsed.runs)))
    else:
        yield Check("look", "No runs", "A pool is built from runs.", address, "Runs")
    if runs and (silent := [team.name for team in teams if team.pk not in submitting]):
        yield Check("look", f"{counted(len(silent), 'team')} without a run", named(silent), address, "Runs")
    if warned := [run.tag for run in runs if run.n_warnings]:
        yield Check("look", f"{counted(len(warned), 'run')} with warnings", named(warned), address, "Runs")


@points(Phase.RUNS, 20)
def runs_point(campaign: Campaign) -> Iterator[Point]:
    if not campaign.protocol.takes_runs:
        return
    runs, teams, problems = campaign.rows(runs_of), campaign.once(competing), []
    address, is_open = campaign.address("pooling:runs"), campaign.once(closing_of).is_open
    silent = [team.name for team in teams if not team.kinds]
    if silent and runs and is_open:  # nobody can mend it afterwards
        problems.append(Problem(f"Without a run: {named(silent)}."))
    yield Point(
        "Runs",
        str(campaign.once(counts_of)) if runs else "none yet",
        address,
        bool(runs) and (campaign.once(counts_of).runs > 0 or not is_open),
        tuple(problems),
        action="Submit runs",
        is_possible=is_open,
        waits=_until("Teams can submit runs", campaign) if is_open else "",
        detail=progress_of_runs(campaign) if is_open else "",
        meanwhile=(*announce_opening(campaign), *set_deadline(campaign)),
    )
    if has_obligations(campaign.protocol.runs):
        yield _owed(campaign, len(campaign.rows(teams_of)))


def progress_of_runs(campaign: Campaign) -> str:
    """Return how many teams have submitted, when the runs close, and what comes then, as sentences."""
    counts, closing = campaign.once(counts_of), campaign.once(closing_of)
    verb = "has" if 1 in (counts.submitting, counts.teams) else "have"
    teams = f"{counts.submitting:,} of {counted(counts.teams, 'team')} {verb} submitted."
    end = "No deadline is set: set one, or close by hand."
    if closing.ends:
        end = f"Runs close in {closing.left}."
    return f"{teams} {end}" + ("" if campaign.rows(pools_of) else " Then you build the pool.")


def set_deadline(campaign: Campaign) -> tuple[tuple[str, str], ...]:
    """The offer to set a deadline for the runs, until there is one, or a pool."""
    is_past = campaign.once(closing_of).ends or campaign.rows(pools_of)
    return () if is_past else (("Set a deadline", campaign.address("tracks:deadlines")),)


def announce_opening(campaign: Campaign) -> tuple[tuple[str, str], ...]:
    """The offer to announce the opening, until there is an announcement, or a pool, which batches and qrels need."""
    address = f"{campaign.address('participation:new_announcement')}?about=opening"
    is_past = campaign.numbers["announced_at"] or campaign.rows(pools_of)
    return () if is_past else (("Announce the opening…", address),)


def _announce_closing(campaign: Campaign) -> tuple[tuple[str, str], ...]:
    """The offer to announce the closing, until there is a later announcement."""
    announced_at, closed_at = campaign.numbers["announced_at"], campaign.numbers["closed_at"]
    if not campaign.protocol.takes_runs or (announced_at and (closed_at is None or announced_at > closed_at)):
        return ()
    address = f"{campaign.address('participation:new_announcement')}?about=closing"
    return (("Announce the closing…", address),)


def counts_of(campaign: Campaign) -> RunCounts:
    kinds = kinds_by_team(campaign.rows(runs_of), campaign.rows(teams_of))
    return run_counts(kinds, campaign.protocol.runs)


def _until(sentence: str, campaign: Campaign) -> str:
    """A sentence with the instant until which runs are accepted, if the track closes by itself."""
    ends = campaign.once(closing_of).ends
    return f"{sentence} until {ends}." if ends else f"{sentence}."


def _owed(campaign: Campaign, n_teams: int) -> Point:
    """The runs and documents that each team owes."""
    owing, address = owing_teams(campaign.track), campaign.address("pooling:runs")
    missing = [Problem(f"{owed.team.name}: {owed.missing}.") for owed in owing[:NAMED]]
    if len(owing) > NAMED:
        missing.append(Problem(f"{counted(len(owing) - NAMED, 'more team')}."))
    return Point(
        "Runs and documents of each team" if campaign.protocol.runs.documents else "Runs of each team",
        f"{n_teams - len(owing)} of {counted(n_teams, 'team')} complete",
        address,
        n_teams > 0 and not owing,
        tuple(missing),
        is_optional=True,
    )


@points(Phase.RUNS, 50)
def pool_point(campaign: Campaign) -> Iterator[Point]:
    pools, problems = campaign.rows(pools_of), []
    ready = [pool.name for pool in pools if pool.status == Pool.Status.READY]
    building = [pool.name for pool in pools if pool.status == Pool.Status.BUILDING]
    if pools and pools[0].status == Pool.Status.FAILED:
        failed = pools[0]
        text, action = f"The pool {failed} failed. Its page states why.", "" if ready else "See why it failed"
        problems.append(Problem(text, failed.get_absolute_url(), action))
    depths = campaign.protocol.runs.depths
    late = [run.tag for run in campaign.rows(runs_of) if not run.is_pooled and depths.get(run.kind)]
    if ready and late:
        newest = next(pool for pool in pools if pool.status == Pool.Status.READY)
        address = f"{campaign.address('pooling:new_pool')}?tops_up={newest.pk}"
        problems.append(Problem(f"In no pool: {named(late)}. Build another pool to judge them.", address))
    takes_runs = campaign.protocol.takes_runs
    is_closed = campaign.track.status == Track.Status.CLOSED or not campaign.once(closing_of).is_open
    is_waiting, counts = bool(building and not ready), campaign.once(counts_of)
    closed = ""
    if takes_runs:
        closed = f"Runs are closed: {counts.submitting:,} of {counted(counts.teams, 'team')} submitted. "
    yield Point(
        "Pool",
        ", ".join(ready[:NAMED]) or ("being built" if building else "none yet"),
        campaign.address("pooling:pools" if pools else "pooling:new_pool"),
        bool(ready),
        tuple(problems),
        action="Build pool",
        detail=""
        if is_waiting
        else f"{closed}The pool has the units to judge: what the runs rank highest for each topic.",
        is_possible=not takes_runs or (is_closed and bool(campaign.rows(runs_of))),
        waits=f"The pool {named(building)} is being built." if is_waiting else "",
        meanwhile=_announce_closing(campaign),
    )


@points(Phase.RUNS, 60)
def interaction(campaign: Campaign) -> Iterator[Point]:
    """The points of the interaction, if the protocol has one.

    They are required as soon as a team nominates topics, because a team may leave the interaction out.
    """
    progress = progress_of(campaign.track)
    if progress is None:
        return
    n_topics, n_waiting, n_held = progress.n_nominated, progress.n_waiting, progress.n_held
    n_teams, n = len(progress.nominating), len(progress.interacted)
    submitting = {run.team_id for run in campaign.rows(runs_of)}
    silent = [
        team.name
        for team in campaign.rows(teams_of)
        if team.pk in submitting and team.name not in progress.nominating
    ]
    address = campaign.address("participation:interaction")
    required: dict[str, Any] = {"is_optional": not n_topics, "needed_by": Phase.RESULTS}
    yield Point(
        "Nominations",
        f"{counted(n_topics, 'topic')} of {counted(n_teams, 'team')}" if n_topics else "none yet",
        address,
        n_topics > 0,
        (Problem(f"Without nominations: {named(silent)}."),) if silent and n_topics else (),
        action="See the nominations",
        **required,
    )
    no_page = f"Planned, without the page of the system: {named(progress.without_page)}."
    yield Point(
        "Sessions",
        f"{n_held} held, {n_waiting} planned" if n_held or n_waiting else "none planned",
        address,
        n_held > 0 and not n_waiting,
        (Problem(no_page),) if progress.without_page else (),
        action="Plan sessions",
        waits=f"{counted(n_waiting, 'planned session')} to be held." if n_waiting else "",
        **required,
    )
    for label, missing, action in (
        ("Data of the sessions", progress.without_data, "See the data"),
        ("Runs after the interaction", progress.without_run, "See the teams"),
    ):
        yield Point(
            label,
            f"{n - len(missing)} of {counted(n, 'team')} with sessions" if n else "after the sessions",
            address,
            n > 0 and not missing,
            (Problem(f"Missing: {named(missing)}."),) if missing else (),
            action=action,
            is_possible=n > 0,
            **required,
        )
