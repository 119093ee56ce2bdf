"""Changes of submitted runs: the description, the order of a team's runs, and disqualification."""

from typing import Any

from django.db import transaction

from accounts.models import User
from audit import services as audit
from jobs import services as jobs
from pooling.models import Pool, Run, RunChange
from pooling.pools import recounts
from pooling.runs.errors import ChangeRefused
from pooling.teams.selectors import may_submit_for
from tracks.deadlines import selectors as deadlines
from tracks.models import Track
from tracks.tracks import services as track_services

RECOUNT = "pooling.recount"  # kind of the job that counts the statistics of pools again
STATUS_AFTER = {
    RunChange.Kind.DISQUALIFIED: Run.Status.DISQUALIFIED,
    RunChange.Kind.REINSTATED: Run.Status.SUBMITTED,
}


def _lock(run: Run) -> tuple[Track, Run]:
    """The track and the run, both locked."""
    track = track_services.lock(run.track_id)
    runs = Run.objects.select_for_update(of=("self",)).select_related("team").defer("report")
    return track, runs.get(pk=run.pk)


def _check_member(run: Run, by: User) -> None:
    if not may_submit_for(by, run.team):
        raise ChangeRefused(f"{by} is not a member of {run.team} with the right to submit runs.")


def _check_in_time(track: Track, states: list[deadlines.State], by: User) -> None:
    if not by.is_organizer and not deadlines.is_accepting(states):
        raise ChangeRefused(f"Runs of {track} can no longer be changed: {deadlines.why_closed(states)}.")


@transaction.atomic
def describe(*, run: Run, description: str, by: User) -> Run:
    """Change the description of a run; the earlier one is kept. Teams can do so until the deadline.

    Raises
    ------
    ChangeRefused
        The deadline has passed, the run is withdrawn, or the user is not a member of its team.
    """
    track, run = _lock(run)
    _check_member(run, by)
    _check_in_time(track, [deadlines.state(track, run.kind)], by)
    if run.status == Run.Status.WITHDRAWN:
        raise ChangeRefused(f"{run.tag} is withdrawn. Its description can no longer be changed.")
    if description.strip() != run.description.strip():
        RunChange.objects.create(run=run, kind=RunChange.Kind.DESCRIBED, text=run.description, by=by)
        run.description = description.strip()
        run.save(update_fields=["description"])
        audit.record(action="run.described", subject=run, track=track, details={"team": run.team.name}, by=by)
    return run


@transaction.atomic
def move(*, run: Run, is_up: bool, by: User) -> None:
    """Exchange a run with the one before or after it in the order of its team's submitted runs.

    Raises
    ------
    ChangeRefused
        The deadline has passed, or the user is not a member of the team.
    """
    track, run = _lock(run)
    _check_member(run, by)
    _check_in_time(track, deadlines.states(track), by)
    runs = list(run.team.runs.filter(status=Run.Status.SUBMITTED).order_by("priority", "pk").only("pk"))
    place = next((n for n, each in enumerate(runs) if each.pk == run.pk), None)
    if place is None:
        raise ChangeRefused(f"{run.tag} is {run.get_status_display()}, so it has no place among the runs.")
    runs.insert(max(0, place - 1) if is_up else place + 1, runs.pop(place))
    for n, each in enumerate(runs, 1):
        each.priority = n
    Run.objects.bulk_update(runs, ["priority"])


@transaction.atomic
def disqualify(*, run: Run, reason: str, by: User) -> Run:
    """Leave a run out of new pools and leaderboards, and of the statistics of existing pools.

    Nothing is deleted: existing leaderboards keep the run and mark it, and its units stay judged.

    Raises
    ------
    ChangeRefused
        The user is not an organizer, gives no reason, the track still accepts such runs, or the run is not submitted.
    """
    track, run = _lock(run)
    _check_reason(reason, by)
    if deadlines.state(track, run.kind).is_accepting:
        raise ChangeRefused(
            f"{track} still accepts {run.kind} runs. Close it first, or withdraw {run.tag}: "
            "the team can then submit another run."
        )
    if run.status != Run.Status.SUBMITTED:
        raise ChangeRefused(
            f"{run.tag} is {run.get_status_display()}; only a submitted run can be disqualified."
        )
    return _set_status(run, kind=RunChange.Kind.DISQUALIFIED, reason=reason, by=by)


@transaction.atomic
def reinstate(*, run: Run, reason: str, by: User) -> Run:
    """Reverse a disqualification: new pools and leaderboards contain the run again.

    Raises
    ------
    ChangeRefused
        The user is not an organizer, there is no reason, or the run is not disqualified.
    """
    _, run = _lock(run)
    _check_reason(reason, by)
    if run.status != Run.Status.DISQUALIFIED:
        raise ChangeRefused(f"{run.tag} is {run.get_status_display()}, not disqualified.")
    return _set_status(run, kind=RunChange.Kind.REINSTATED, reason=reason, by=by)


def _check_reason(reason: str, by: User) -> None:
    if not by.is_organizer:
        raise ChangeRefused("Only organizers disqualify a run or reverse that.")
    if not reason.strip():
        raise ChangeRefused("Give a reason. The team sees it.")


def _set_status(run: Run, *, kind: RunChange.Kind, reason: str, by: User) -> Run:
    run.status = STATUS_AFTER[kind]
    run.save(update_fields=["status"])
    RunChange.objects.create(run=run, kind=kind, text=reason.strip(), by=by)
    details = {"team": run.team.name, "reason": reason.strip()}
    audit.record(action=f"run.{kind}", subject=run, track=run.track, details=details, by=by)
    if run.pool_runs.exists():
        title = f"Count the pools again that contain {run.tag}"[:200]
        jobs.request(kind=RECOUNT, title=title, arguments={"run_id": run.pk}, by=by, subject=run.track)
    return run


@jobs.handler(RECOUNT)
def recount(progress: jobs.Progress, *, run_id: int) -> dict[str, Any]:
    """Count the statistics of the pools that contain a run again, without their disqualified runs.

    The lock of a pool makes it wait for a pool that is just being stored. Safe to repeat.
    """
    ids = list(Pool.objects.filter(pool_runs__run=run_id).order_by("pk").values_list("pk", flat=True))
    for n, pool_id in enumerate(ids):
        progress.update(n, len(ids), "counting")
        with progress.storing():
            pool = Pool.objects.select_for_update(of=("self",)).get(pk=pool_id)
            pool.recount = recounts.recount_of(pool)
            pool.save(update_fields=["recount"])
    return {"pools": len(ids)}
