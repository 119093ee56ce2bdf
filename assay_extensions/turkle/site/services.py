"""Check an upload of projects of Turkle, and import it in one job: all with rows, people and judgments, or none.

A small upload is checked at once, a large one in a job. Each project becomes a track with a pool of its rows. A worker
without an account gets one; a link on the page *People* lets its user in. Decision: ADR 58.
"""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.core.files.base import ContentFile
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of_file
from assay.errors import BadFile, InputError, Refused
from assay.formats.moving import JUDGMENTS_FILE, ROWS_FILE
from assay_extensions.turkle.projects import MAX_PROBLEMS, Lab, unpacked
from assay_extensions.turkle.site.plan import PlannedProject, ProjectsPlan, plan_of, report_of
from assessment.errors import NotReady
from assessment.imports import services as import_services
from assessment.imports.services import FILLED, SMALL, queue
from assessment.models import ProjectImport
from jobs import services as jobs
from jobs.files import storage
from participation.people import services as people_services
from participation.people.services import Sender
from pooling.pools import services as pool_services
from tracks.assessors import services as assessor_services
from tracks.models import Track
from tracks.protocols import services as protocol_services
from tracks.rows.services import store_rows
from tracks.tracks import services as track_services
from web.pages import counted
from web.statements import analyze

CHECK, IMPORT = "assessment.projects.check", "assessment.projects.import"  # kinds of jobs
POOL = "Rows"  # its name in each track

Names = Mapping[str, Mapping[str, str]]  # by kind: titles, slugs and accounts

projects_refused = partial(Refused, code="projects-refused", title="The projects were not imported")


def start(*, uploads: Sequence["File[bytes]"], mapping: Names | None = None, by: User) -> ProjectImport:
    """Store the files of projects as one zip file, and check them. Nothing is imported yet.

    Raises:
        BadFile: Two files have the same name, they are too large, or a zip file is damaged.
    """
    files: dict[str, bytes] = {}
    for upload in uploads:
        name = (upload.name or "upload").rpartition("/")[2]
        if name in files:
            raise BadFile(f"Two files are named {name}. Put each project into a folder of a zip file.")
        files[name] = upload.read()
    with TemporaryFile() as file:
        _pack(files, file)
        size, digest = file.seek(0, 2), sha256_of_file(file)
        file.seek(0)
        with storage.storing() as store_file, transaction.atomic():
            stored = store_file("projects", File(file, name="projects.zip"))
            source = ProjectImport.objects.create(
                name=", ".join(files)[:255],
                file=stored,
                size=size,
                sha256=digest,
                mapping=dict(mapping or {}),
                created_by=by,
            )
            storage.claim(stored)
    _check_or_queue(source)
    return source


def _pack(files: Mapping[str, bytes], file: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, data in unpacked(files):
                archive.writestr(name, data)
    except InputError as error:
        raise BadFile(f"{error}.") from None


def _files(source: ProjectImport) -> dict[str, bytes]:
    with source.file.open("rb") as file:
        return dict(unpacked({source.name: cast("BinaryIO", file).read()}))


def remap(*, source: ProjectImport, mapping: Names) -> None:
    """Change titles, short names and accounts, and check the upload again."""
    with transaction.atomic():
        current = _lock(source)
        current.mapping = {kind: dict(words) for kind, words in mapping.items()}
        current.save(update_fields=["mapping"])
    _check_or_queue(current)


def _check_or_queue(source: ProjectImport) -> None:
    if source.size <= SMALL:
        check(source)
    else:
        queue(source, CHECK, f"Check the projects of {source.name}", subject=source)


def check(source: ProjectImport) -> None:
    """Store what an import would make now."""
    source.report = report_of(plan_of(_files(source), source.mapping))
    ProjectImport.objects.filter(pk=source.pk, imported_at=None).update(report=source.report)


def request_import(*, source: ProjectImport) -> None:
    """Queue the job that imports checked projects.

    Raises:
        Refused: The latest check found problems.
    """
    with transaction.atomic():
        current = _lock(source)
        if not current.is_ready:
            problems = current.report.get("problems", [])
            raise projects_refused(
                f"The upload has problems, so nothing can be imported: {'; '.join(problems[:3])}."
            )
        title = f"Import the projects of {current.name}"
        queue(current, IMPORT, title, subject=current, keeps_report=True)


def _lock(source: ProjectImport) -> ProjectImport:
    locked = ProjectImport.objects.select_for_update(of=("self",)).select_related("created_by", "job")
    current = locked.get(pk=source.pk)
    if current.imported_at is not None:
        raise projects_refused("These projects were imported already.", code="already-imported")
    if current.job is not None and not current.job.is_finished:
        raise projects_refused("A job works on these projects. Wait until it has finished.", code="running")
    return current


@transaction.atomic
def discard(*, source: ProjectImport) -> None:
    """Delete an upload that was not imported."""
    current = _lock(source)
    storage.discard([str(current.file)])
    current.delete()


@jobs.handler(CHECK, words=lambda _: "The files are checked.")
def check_in_job(progress: jobs.Progress, *, import_id: int) -> dict[str, Any]:
    """Check a large upload."""
    source = ProjectImport.objects.get(pk=import_id)
    progress.update(0, None, "reading the files")
    report = report_of(plan_of(_files(source), source.mapping, progress.update))
    with progress.storing():
        ProjectImport.objects.filter(pk=import_id, imported_at=None).update(report=report)
    return {}


@jobs.handler(IMPORT, words=lambda result: f"{counted(result['projects'], 'project')} imported.")
def import_in_job(progress: jobs.Progress, *, import_id: int) -> dict[str, Any]:
    """Import projects. One transaction stores all of them; the job's row is locked at its end only.

    So the progress is seen, and the job can be canceled, until then.

    Raises:
        Refused: Something here changed since the check.
    """
    source = ProjectImport.objects.select_related("created_by").get(pk=import_id)
    if source.imported_at is not None:  # an earlier attempt stored it, but did not finish the job
        return {"projects": len(source.report["projects"])}
    progress.update(0, None, "reading the files")
    plan = plan_of(_files(source), source.mapping, progress.update)
    labs = [(project, project.lab) for project in plan.projects if project.lab is not None]
    if plan.problems:
        raise projects_refused("\n".join(plan.problems))
    report = report_of(plan)
    with storage.storing() as store_file:
        tables = [store_file("topics", ContentFile(lab.rows_csv)) for _, lab in labs]
        try:
            with transaction.atomic():
                inner = _Inner(progress, sum(len(lab.rows) + len(lab.judgments) for _, lab in labs))
                for (project, lab), table in zip(labs, tables, strict=True):
                    inner.title = project.title
                    _store(project, lab, table, plan, inner, source.created_by)
                with progress.storing():
                    _finish(source, report)
        except IntegrityError as error:
            raise projects_refused(
                "Somebody made a track or an account of this name. Check again."
            ) from error
    analyze(*FILLED)
    return {"projects": len(labs)}


def _finish(source: ProjectImport, report: dict[str, Any]) -> None:
    current = ProjectImport.objects.select_for_update(of=("self",)).get(pk=source.pk)
    storage.discard([str(current.file)])
    current.file.name, current.report, current.imported_at = "", report, timezone.now()
    current.save(update_fields=["file", "report", "imported_at"])
    details = {"tracks": [project["slug"] for project in report["projects"]], "sha256": current.sha256}
    audit.record(action="projects.imported", subject=current.name, details=details, by=source.created_by)


class _Inner(jobs.Progress):
    """The progress of the transaction of a job, and of a job inside of it. It writes nothing itself."""

    def __init__(self, outer: jobs.Progress, total: int) -> None:
        super().__init__(outer.job_id, outer.attempt)
        self.outer, self.total, self.n_stored, self.title = outer, total, 0, ""

    def step(self, n: int, step: str) -> None:
        """Report rows or judgments of the current project, besides those of `n_stored`."""
        self.outer.report(self.n_stored + n, self.total, f"tasks and judgments; {step} {self.title}")

    def update(self, done: int, total: int | None = None, message: str = "") -> None:
        self.step(0, "pooling")

    @contextmanager
    def storing(self, *, is_part: bool = False) -> Iterator[Any]:
        yield None


def _store(
    project: PlannedProject, lab: Lab, table: str, plan: ProjectsPlan, progress: _Inner, by: User
) -> None:
    """Store a project as a track with its rows, assessors, pool and judgments."""
    progress.step(0, "storing")
    protocol = protocol_services.store(text=lab.text, by=by)
    track = track_services.create(
        track=Track(slug=project.slug, name=project.title, protocol=protocol), by=by
    )
    store_rows(
        track=track_services.lock(track.pk), rows=lab.rows, data=lab.rows_csv, name=ROWS_FILE, file=table
    )
    for worker in project.workers:
        name = plan.accounts[worker]
        user = plan.users.get(name)
        if user is None:  # without a password: its user sets one with the link
            user = plan.users[name] = User.objects.create_user(username=name)
            people_services.invite_account(track=track, user=user, sender=Sender(by=by))
        assessor_services.add(track=track, user=user)
    pool = pool_services.request(track=track, name=POOL, seed=pool_services.new_seed(), depth={}, by=by)
    # The job of the pool finds it built.
    progress.n_stored += len(lab.rows)
    pool_services.build(progress, pool_id=pool.pk)
    if lab.judgments_csv:
        try:
            import_services.import_file(
                track=track,
                name=JUDGMENTS_FILE,
                file=BytesIO(lab.judgments_csv),
                assessors={worker: plan.accounts[worker] for worker in project.workers},
                by=by,
                report=progress.step,
            )
        except NotReady as error:
            place_of = {row.line: place for row, place in zip(lab.judgments, lab.places, strict=True)}
            lines = [
                f"{place_of[complaint.line]}: {complaint.message}"
                for complaint in error.complaints[:MAX_PROBLEMS]
            ]
            raise projects_refused("\n".join(lines) or error.message) from error
    progress.n_stored += len(lab.judgments)
