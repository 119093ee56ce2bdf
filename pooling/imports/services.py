"""Import all runs of a manifest: check an archive, then submit each of its runs, with its own answer.

A run that is refused does not keep the others out: hundreds of runs of a campaign should not wait for one. A manifest
with errors imports nothing.
"""

from typing import Any

from django.core.files import File
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from assay.digests import sha256_of_file
from assay.errors import Refused
from assay.formats.archives import Archive
from audit import services as audit
from files import services as file_services
from jobs import services as jobs
from pooling.imports import content
from pooling.imports.errors import ImportRefused
from pooling.models import Run, RunImport, Team
from pooling.runs import services as run_services
from pooling.runs.errors import RunRefused, SameBytes
from pooling.runs.services import Declaration
from pooling.teams import services as team_services
from pooling.teams.selectors import team_named
from tracks.deadlines import selectors as deadlines
from tracks.models import Track

CHECK, SUBMIT = "pooling.check_import", "pooling.import_runs"  # kinds of jobs
SMALL = 32 << 20  # bytes of an archive that is checked at once
MAX_ERRORS = 5  # of the report of a run, kept with the import

Answer = dict[str, Any]


def start(*, track: Track, upload: "File[bytes]", by: User) -> RunImport:
    """Store an archive and check its manifest; a large one in a job. No run is submitted yet.

    Raises
    ------
    Unreadable, ImportRefused, NotStored
        The file is no archive, or has no manifest; the storage does not take it.
    """
    with file_services.storing() as store:
        n_bytes = upload.seek(0, 2)
        upload.seek(0)
        sha256 = sha256_of_file(upload.file)  # type: ignore[arg-type]
        upload.seek(0)
        name = store("run-imports", upload)
        with transaction.atomic():
            source = RunImport.objects.create(
                track=track,
                name=(upload.name or "runs").rpartition("/")[2][:255],
                file=name,
                n_bytes=n_bytes,
                sha256=sha256,
                created_by=by,
            )
            file_services.claim(name)
            if n_bytes > SMALL:
                _queue(source, CHECK, f"Check the runs of {source.name}")
    if n_bytes > SMALL:
        return source
    try:
        check(source)
    except Refused:
        discard(source=source)
        raise
    return source


def _queue(source: RunImport, kind: str, title: str) -> None:
    source.job = jobs.request(
        kind=kind,
        title=title[:200],
        arguments={"import_id": source.pk},
        by=source.created_by,
        subject=source.track,
    )
    source.save(update_fields=["job"])


def check(source: RunImport) -> None:
    """Store what an import would do."""
    source.plan = content.plan_of(source)
    RunImport.objects.filter(pk=source.pk, requested_at=None).update(plan=source.plan)


@jobs.handler(CHECK)
def check_in_job(progress: jobs.Progress, *, import_id: int) -> dict[str, Any]:
    """Check a large archive."""
    source = RunImport.objects.select_related("track__protocol").get(pk=import_id)
    progress.update(0, None, "reading the archive")
    plan = content.plan_of(source)
    with progress.storing():
        RunImport.objects.filter(pk=import_id, requested_at=None).update(plan=plan)
    return {}


@transaction.atomic
def request(*, source: RunImport, by: User) -> RunImport:
    """Queue the job that submits the runs of a checked archive.

    Raises
    ------
    ImportRefused
        The archive was not checked, has errors or was imported before, or the track accepts no runs.
    """
    source = _lock(source)
    if not source.is_ready:
        raise ImportRefused(f"{source.name} was imported before, or its manifest has errors.")
    states = deadlines.states(source.track)
    if not deadlines.is_accepting(states):
        raise ImportRefused(f"{source.track} does not accept runs: {deadlines.why_closed(states)}.")
    source.requested_at, source.created_by = timezone.now(), by
    source.save(update_fields=["requested_at", "created_by"])
    _queue(source, SUBMIT, f"Import the runs of {source.name}")
    details = {"runs": len(source.plan["rows"]), "sha256": source.sha256}
    audit.record(action="runs.imported", subject=source, track=source.track, details=details, by=by)
    return source


def _lock(source: RunImport) -> RunImport:
    imports = RunImport.objects.select_for_update(of=("self",)).select_related(
        "track__protocol", "created_by"
    )
    return imports.get(pk=source.pk)


@transaction.atomic
def discard(*, source: RunImport) -> None:
    """Delete an archive that was not imported.

    Raises
    ------
    ImportRefused
        Its runs are being submitted, or were.
    """
    source = _lock(source)
    if source.requested_at is not None:
        raise ImportRefused(f"The runs of {source.name} are being submitted, or were.")
    file_services.discard([str(source.file)])
    source.delete()


@jobs.handler(SUBMIT)
def submit_all(progress: jobs.Progress, *, import_id: int) -> dict[str, Any]:
    """Submit the runs of an archive, in the order of its manifest. Repeated, it goes on after the last answer.

    A run that was stored by an attempt that was killed before it kept the answer is recognized by its bytes.
    """
    source = RunImport.objects.select_related("track__protocol", "created_by").get(pk=import_id)
    rows = source.plan["rows"]
    if source.done_at is None:
        with content.opened(source) as archive:
            for n, row in enumerate(rows):
                progress.update(n, len(rows), f"{row['team']}: {row['tag']}")
                if str(n) not in source.results:
                    source.results[str(n)] = _submit(source, archive, row)
                    with progress.storing():
                        source.save(update_fields=["results"])
        with progress.storing():
            file_services.discard([str(source.file)])
            source.file.name, source.done_at = "", timezone.now()
            source.save(update_fields=["file", "done_at"])
    n_accepted = sum(answer["state"] == "accepted" for answer in source.results.values())
    return {"import": source.pk, "accepted": n_accepted, "refused": len(rows) - n_accepted}


def _submit(source: RunImport, archive: Archive, row: dict[str, Any]) -> Answer:
    """Submit one run; a team is created when its first run is good."""
    track, by = source.track, source.created_by
    declared = Declaration(
        kind=row["kind"],
        tag=row["tag"],
        pooled_as=row["pooled_as"],
        is_manual=row["made"] == "manual",
        uses=row["uses"] or Run.Uses.BOTH,
        description=row["description"],
    )
    file_name = row["file"].rpartition("/")[2]
    try:
        with archive.open(row["file"]) as file:
            team = team_named(track, row["team"])
            if team is None:
                _check_file(track, file, file_name)
                team = _team(track, row["team"])
            run = run_services.submit(
                track=track, team=team, by=by, file=file, file_name=file_name, declared=declared
            )
    except SameBytes as refusal:
        return {"state": "present", "run": refusal.earlier.pk, "message": refusal.message}
    except RunRefused as refusal:
        errors = [str(error) for error in refusal.checked.report.errors[:MAX_ERRORS]]
        return {"state": "refused", "message": refusal.message, "errors": errors}
    except Refused as refusal:
        return {"state": "refused", "message": refusal.message}
    return {"state": "accepted", "run": run.pk, "message": ""}


def _check_file(track: Track, file: Any, file_name: str) -> None:
    checked = run_services.check(track=track, file=file, file_name=file_name)
    if checked.columns is None:
        raise RunRefused(checked)


def _team(track: Track, name: str) -> Team:
    """The team with a name, which is created if there is none."""
    try:
        return team_services.create(track=track, name=name)
    except Refused:
        team = team_named(track, name)  # somebody created it at the same time
        if team is None:
            raise
        return team
