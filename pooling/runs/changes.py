"""Changes of submitted runs: the description, the order of a team's runs, and disqualification."""

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.formats.models import PATH as MODELS
from assay.formats.models import WrongModels, stated_models
from assay.protocols.questions import WrongAnswer
from assay.protocols.run_answers import Stated, answers_of_run
from jobs import services as jobs
from participation.teams.selectors import may_submit_for
from pooling.errors import change_refused
from pooling.models import Run, RunChange
from pooling.runs.services import metadata_in
from tracks import deadline_acceptance
from tracks.models import Track
from tracks.tracks import services as track_services

RECOUNT = "pooling.recount"  # kind of the job in which pools count their statistics again
STATUS_AFTER = {
    RunChange.Kind.DISQUALIFIED: Run.Status.DISQUALIFIED,
    RunChange.Kind.REINSTATED: Run.Status.SUBMITTED,
}


def _lock(run: Run) -> tuple[Track, Run]:
    """The track and the run, both locked."""
    track = track_services.lock(run.track_id)
    runs = Run.objects.select_for_update(of=("self",)).select_related("team").defer("report")
    return track, runs.get(pk=run.pk)


def _check_team(run: Run, by: User, track: Track, states: list[deadline_acceptance.Acceptance]) -> None:
    """Refuse who is not in the team, and its members once the deadline has passed."""
    if not may_submit_for(by, run.team):
        raise change_refused(f"{by.named} is not a member of {run.team} with the right to submit runs.")
    if not by.organizes(run.track_id) and not deadline_acceptance.is_accepting(states):
        raise change_refused(
            f"Runs of {track} can no longer be changed: {deadline_acceptance.why_closed(states)}."
        )


@transaction.atomic
def describe(
    *,
    run: Run,
    by: User,
    description: str | None = None,
    answers: str | None = None,
    models_used: str | None = None,
    metadata: BinaryIO | None = None,
) -> Run:
    """Change what is stated about a run; what it was is kept. Its team can do so until the deadline.

    `answers` and `models_used` are as in a submission; None: they stay. So is `metadata`, a file of ir_metadata: its
    models replace those of the run, unless others are stated now.

    Raises:
        Refused: The user may not change it now, or what is stated is not accepted.
    """
    track, run = _lock(run)
    _check_team(run, by, track, [deadline_acceptance.acceptance_of(track, run.kind)])
    if run.status == Run.Status.WITHDRAWN:
        raise change_refused(f"{run.tag} is withdrawn. Its description can no longer be changed.")
    fields = metadata_in(metadata) if metadata is not None else {}
    event: dict[str, Any] = {"subject": run, "track": track, "details": {"team": run.team.name}, "by": by}
    if fields:
        run.report["metadata"] = run.report.get("metadata", {}) | dict(fields)
        run.save(update_fields=["report"])
        audit.record(action="run.metadata-added", **event)
    if description is not None and description.strip() != run.description.strip():
        RunChange.objects.create(run=run, kind=RunChange.Kind.DESCRIBED, text=run.description, by=by)
        audit.record(action="run.described", **event)
        run.description = description.strip()
    models = _models(run, models_used, fields)
    if models != run.models_used:
        RunChange.objects.create(run=run, kind=RunChange.Kind.MODELS, text=run.models_used, by=by)
        audit.record(action="run.models-changed", **event)
        run.models_used = models
    if answers is not None or fields:
        new = _answers(run, track, answers)
        if new != run.answers:
            earlier = "\n".join(f"{label}: {answer}" for label, answer in run.answers_in_words)
            RunChange.objects.create(run=run, kind=RunChange.Kind.ANSWERED, text=earlier, by=by)
            audit.record(action="run.answered", **event)
            run.answers = new
    run.save(update_fields=["description", "models_used", "answers"])
    return run


def _models(run: Run, stated: str | None, fields: Mapping[str, str]) -> str:
    """The models of a run after a change."""
    try:
        if stated is not None and (new := stated_models(stated)) != run.models_used:
            return new
        return stated_models("", fields.get(MODELS, "")) or run.models_used
    except WrongModels as error:
        raise change_refused(str(error)) from None


def _answers(run: Run, track: Track, text: str | None) -> dict[str, Any]:
    """The answers of a run after a change; None: those that it has."""
    header = {path: Stated(value) for path, value in run.report.get("metadata", {}).items()}
    given = json.dumps(run.answers) if text is None else text
    try:
        return answers_of_run(track.protocol.parsed.runs, given, header)
    except WrongAnswer as error:
        raise change_refused(str(error)) from None


@transaction.atomic
def move(*, run: Run, is_up: bool, by: User) -> None:
    """Exchange a run with the one before or after it in the order of its team's submitted runs."""
    track, run = _lock(run)
    _check_team(
        run, by, track, deadline_acceptance.until_closing(track, deadline_acceptance.acceptances(track))
    )
    runs = list(run.team.runs.filter(status=Run.Status.SUBMITTED).order_by("priority", "pk").only("pk"))
    place = next((n for n, submitted in enumerate(runs) if submitted.pk == run.pk), None)
    if place is None:
        raise change_refused(f"{run.tag} is {run.get_status_display()}, so it has no place among the runs.")
    runs.insert(max(0, place - 1) if is_up else place + 1, runs.pop(place))
    for n, submitted in enumerate(runs, 1):
        submitted.priority = n
    Run.objects.bulk_update(runs, ["priority"])


@transaction.atomic
def disqualify(*, run: Run, reason: str, by: User) -> Run:
    """Leave a run out of new pools and leaderboards, and of the statistics of existing pools.

    Nothing is deleted: existing leaderboards keep the run and mark it, and its units stay judged."""
    _, run = _lock(run)
    _check_reason(run, reason, by)
    check_disqualification(run)
    return _set_status(run, kind=RunChange.Kind.DISQUALIFIED, reason=reason, by=by)


def check_disqualification(run: Run) -> None:
    """Refuse while runs of its kind are accepted, or if the run is not submitted."""
    if deadline_acceptance.acceptance_of(run.track, run.kind).is_accepting:
        raise change_refused(
            f"{run.track} still accepts {run.kind} runs. Close it first, or withdraw {run.tag}: "
            "the team can then submit another run."
        )
    if run.status != Run.Status.SUBMITTED:
        raise change_refused(
            f"{run.tag} is {run.get_status_display()}; only a submitted run can be disqualified."
        )


@transaction.atomic
def withdraw_for_team(*, run: Run, reason: str, by: User) -> Run:
    """Withdraw a run after its deadline, because its team asks for it. It is not disqualified.

    Existing leaderboards keep the run and mark it; new pools and leaderboards leave it out.
    """
    track, run = _lock(run)
    _check_reason(run, reason, by)
    if deadline_acceptance.acceptance_of(track, run.kind).is_accepting:
        raise change_refused(
            f"{track} still accepts {run.kind} runs, so {run.team} can withdraw {run.tag} itself."
        )
    check_withdrawal_for_team(run=run)
    run.status, run.withdrawn_by, run.withdrawn_at = Run.Status.WITHDRAWN, by, timezone.now()
    run.save(update_fields=["status", "withdrawn_by", "withdrawn_at"])
    RunChange.objects.create(run=run, kind=RunChange.Kind.WITHDRAWN, text=reason.strip(), by=by)
    details = {"team": run.team.name, "reason": reason.strip(), "after the deadline": True}
    audit.record(action="run.withdrawn", subject=run, track=track, details=details, by=by)
    return run


def check_withdrawal_for_team(*, run: Run) -> None:
    """Refuse if the run is not submitted."""
    if run.status != Run.Status.SUBMITTED:
        raise change_refused(
            f"{run.tag} is {run.get_status_display()}; only a submitted run can be withdrawn."
        )


@transaction.atomic
def reinstate(*, run: Run, reason: str, by: User) -> Run:
    """Reverse a disqualification: new pools and leaderboards contain the run again."""
    _, run = _lock(run)
    _check_reason(run, reason, by)
    check_reinstatement(run)
    return _set_status(run, kind=RunChange.Kind.REINSTATED, reason=reason, by=by)


def check_reinstatement(run: Run) -> None:
    """Refuse if the run is not disqualified."""
    if run.status != Run.Status.DISQUALIFIED:
        raise change_refused(f"{run.tag} is {run.get_status_display()}, not disqualified.")


def _check_reason(run: Run, reason: str, by: User) -> None:
    if not by.organizes(run.track_id):
        raise change_refused("Only organizers change the state of a run after its deadline.")
    if not reason.strip():
        raise change_refused("Give a reason. The team sees it.")


def _set_status(run: Run, *, kind: RunChange.Kind, reason: str, by: User) -> Run:
    run.status = STATUS_AFTER[kind]
    run.save(update_fields=["status"])
    RunChange.objects.create(run=run, kind=kind, text=reason.strip(), by=by)
    details = {"team": run.team.name, "reason": reason.strip()}
    audit.record(action=f"run.{kind}", subject=run, track=run.track, details=details, by=by)
    if run.pool_runs.exists():
        title = f"Count the pools again that contain {run.tag}"
        jobs.request(kind=RECOUNT, title=title, arguments={"run_id": run.pk}, by=by, subject=run.track)
    return run
