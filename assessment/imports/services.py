"""Check a file of judgments against a track, and import it: all of it, or nothing.

A small file is checked and imported at once, a large one in a job.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of_file
from assay.errors import BadFile, Refused
from assay.formats.compression import Limits, unpack
from assay.formats.judgments.reader import JudgmentsError, header_of_judgments, open_judgments
from assay.formats.judgments.rows import JudgmentStream
from assay.formats.text import notes_kept
from assessment.batches.services import lock_for_managing
from assessment.errors import NotReady
from assessment.imports.campaign import Campaign
from assessment.imports.plan import ImportPlan, Report, plan_part, report_of, silent
from assessment.imports.staging import parts, stage
from assessment.imports.store import make_batches, store
from assessment.models import Batch, JudgmentImport, ProjectImport
from jobs import services as jobs
from jobs.files import storage
from pooling.models import Pool
from tracks.models import Track
from tracks.tracks import services as track_services
from web.pages import counted
from web.statements import analyze

CHECK, IMPORT = "assessment.imports.check", "assessment.imports.import"  # kinds of jobs
SMALL = 2 << 20  # bytes of a file that needs no job
# Without statistics, counting the judged units of a desk reads every judgment of a topic for each of its assessors
FILLED = ("assessment_task", "assessment_judgment", "assessment_topicassignment")
Reader = Callable[[JudgmentImport, BinaryIO], JudgmentStream | None]
_readers: list[Reader] = []


def reads_judgments(function: Reader) -> Reader:
    """Register a function that reads the judgments of another form of files, and returns None for other files."""
    _readers.append(function)
    return function


def start(
    *,
    track: Track,
    upload: "File[bytes]",
    pool: Pool | None = None,
    batch: str = "",
    kind: str = Batch.Kind.MAIN,
    mapping: Mapping[str, Mapping[str, str]] | None = None,
    by: User,
) -> JudgmentImport:
    """Store a file of judgments and check it. Nothing is imported yet."""
    digest = sha256_of_file(cast("BinaryIO", upload))
    upload.seek(0)
    with storage.storing() as store_file:
        name = store_file("judgments", upload)
        with transaction.atomic():
            source = JudgmentImport.objects.create(
                track=track,
                name=(upload.name or "judgments").rpartition("/")[2][:255],
                file=name,
                size=upload.size,
                sha256=digest,
                pool=pool,
                batch=batch or "Imported",
                kind=kind,
                mapping=dict(mapping or {}),
                created_by=by,
            )
            storage.claim(name)
    try:
        _check_or_queue(source)
    except Refused:
        discard(source=source)
        raise
    return source


@transaction.atomic
def import_file(
    *,
    track: Track,
    name: str,
    file: BinaryIO,
    assessors: Mapping[str, str],
    by: User,
    report: Report = silent,
) -> JudgmentImport:
    """Import judgments from an open file at once. `assessors` are the usernames by the names of the file.

    `report` is called with the number of judgments that are stored.

    Raises:
        NotReady: Lines cannot be imported.
    """
    source = JudgmentImport.objects.create(
        track=track,
        name=name,
        size=file.seek(0, 2),
        sha256=sha256_of_file(file),
        batch="Imported",
        mapping={"assessors": dict(assessors)},
        created_by=by,
    )
    _import(source, file, report)
    source.refresh_from_db()
    return source


def remap(
    *,
    source: JudgmentImport,
    mapping: Mapping[str, Mapping[str, str]],
    pool: Pool | None,
    batch: str,
    kind: str,
) -> None:
    """Change what words of the file mean here, and to which pool and batch it belongs, and check it again."""
    with transaction.atomic():
        current = _lock(source)
        current.mapping = {of_kind: dict(words) for of_kind, words in mapping.items()}
        current.pool, current.batch, current.kind = pool, batch, kind
        current.save(update_fields=["mapping", "pool", "batch", "kind"])
    _check_or_queue(current)


def _check_or_queue(source: JudgmentImport) -> None:
    if source.size <= SMALL:
        check(source)
    else:
        queue(source, CHECK, f"Check the judgments of {source.name}", subject=source.track)


def queue(
    source: JudgmentImport | ProjectImport,
    kind: str,
    title: str,
    *,
    subject: jobs.Subject,
    keeps_report: bool = False,
) -> None:
    """Queue the job that checks or imports an upload. The report of its latest check goes, unless it is kept."""
    with transaction.atomic():
        arguments = {"import_id": source.pk}
        source.job = jobs.request(
            kind=kind, title=title, arguments=arguments, by=source.created_by, subject=subject
        )
        if not keeps_report:
            source.report = {}
        source.save(update_fields=["job", "report"])


def check(source: JudgmentImport) -> None:
    """Store what an import would do now."""
    report = _report(source)
    JudgmentImport.objects.filter(pk=source.pk, imported_at=None).update(report=report)
    source.report = report


def _report(source: JudgmentImport, report: Report = silent) -> dict[str, Any]:
    with _content(source) as file, notes_kept() as notes:
        header, form = header_of_judgments(file), ""
        try:
            with transaction.atomic():
                stream = _opened(source, file)
                form = stream.form
                staged = stage(stream, has_ids=False, report=report)
                plan = ImportPlan(report, keeps_stored=source.keeps_stored)
                campaign = Campaign(source.track)
                for part in parts():
                    plan_part(plan, source, part, campaign, is_numbered=staged.is_numbered)
        except JudgmentsError as error:
            complaints = [[complaint.line, complaint.message] for complaint in error.complaints]
            complained = {"complaints": complaints, "n_complaints": error.n_complaints}
            return {"header": header, "form": form, "notes": notes} | complained
    result = report_of(plan, staged, source, campaign)
    return {"header": header, "form": form, "columns": staged.columns, "notes": notes} | result


@contextmanager
def _content(source: JudgmentImport) -> Iterator[BinaryIO]:
    """The text of the stored file, in a temporary file."""
    with source.file.open("rb") as stored, TemporaryFile() as file:
        for block in unpack(cast("BinaryIO", stored), Limits(), name=source.name):
            file.write(block)
        yield file


def _opened(source: JudgmentImport, file: BinaryIO) -> JudgmentStream:
    for read in _readers:
        if (stream := read(source, file)) is not None:
            return stream
    columns: dict[str, str] = source.mapping.get("columns", {})
    stream = open_judgments(file, source.name, columns=columns)
    if stream.form == "qrels":
        raise BadFile(
            f"{source.name} contains qrels, which name no assessors. Import them on the page of the qrels."
        )
    return stream


def request_import(*, source: JudgmentImport, keeps_stored: bool = False) -> None:
    """Import the judgments of a checked file, or queue the job that does.

    With `keeps_stored`, the judgments that are here are kept where the file has others, and the rest is imported.
    """
    with transaction.atomic():
        current = _lock(source)
        if keeps_stored and current.has_only_conflicts:
            current.mapping["conflicts"] = {"kept": "stored"}
            current.save(update_fields=["mapping"])
            source.mapping = current.mapping
        elif not current.is_ready:
            raise NotReady(current.report.get("n_complaints", 0))
        if source.size > SMALL:
            queue(source, IMPORT, f"Import the judgments of {source.name}", subject=source.track)
            return
    with _content(source) as file, transaction.atomic():
        _import(source, file)
    analyze(*FILLED)


def _lock(source: JudgmentImport) -> JudgmentImport:
    locked = JudgmentImport.objects.select_for_update(of=("self",)).select_related("track", "created_by")
    current = locked.get(pk=source.pk)
    if current.imported_at is not None:
        raise Refused(
            "These judgments were imported already. Judgments are never deleted or changed.",
            code="already-imported",
            title="Imported already",
        )
    return current


def _import(source: JudgmentImport, file: BinaryIO, report: Report = silent) -> None:
    """Store the judgments of a file under the locks of the track and its batches, if they can all come in.

    A refusal rolls back what was stored of the parts before.
    """
    staged = stage(_opened(source, file), has_ids=True, report=report)
    current = _lock(source)
    track_services.lock(current.track_id)
    for pk in Batch.objects.filter(pool__track=current.track_id).order_by("pk").values_list("pk", flat=True):
        lock_for_managing(pk)
    plan = ImportPlan(report, keeps_stored=current.keeps_stored)
    campaign, now = Campaign(current.track), timezone.now()
    make_batches(current, campaign)
    for part in parts():
        planned = plan_part(plan, current, part, campaign, is_numbered=staged.is_numbered)
        if not plan.complaints:
            store(plan, current, planned, campaign, now)
    if plan.complaints or not plan.n_new:
        raise NotReady(sum(plan.n_by_kind.values()), sorted(plan.complaints))
    if current.file:
        storage.discard([str(current.file)])
    current.file.name = ""
    current.report = current.report | report_of(plan, staged, current, campaign)
    current.n_imported, current.imported_at = plan.n_new, timezone.now()
    current.save(update_fields=["file", "report", "n_imported", "imported_at"])
    details = {"judgments": plan.n_new, "batch": current.batch, "sha256": current.sha256}
    by = current.created_by
    audit.record(
        action="judgments.imported", subject=current.name, track=current.track, details=details, by=by
    )


@transaction.atomic
def discard(*, source: JudgmentImport) -> None:
    """Delete a file that was not imported."""
    current = _lock(source)
    storage.discard([str(current.file)])
    current.delete()


@jobs.handler(CHECK, words=lambda _: "The file is checked.")
def check_in_job(progress: jobs.Progress, *, import_id: int) -> dict[str, Any]:
    """Check a large file."""
    source = JudgmentImport.objects.select_related("track").get(pk=import_id)
    report = _report(source, lambda n, step: progress.report(n, None, f"judgments; {step}"))
    with progress.storing():
        JudgmentImport.objects.filter(pk=import_id, imported_at=None).update(report=report)
    return {}


@jobs.handler(IMPORT, words=lambda result: f"{counted(result['n'], 'judgment')} imported.")
def import_in_job(progress: jobs.Progress, *, import_id: int) -> dict[str, Any]:
    """Import a large file. A worker that was lost after it had stored the judgments leaves nothing to do."""
    source = JudgmentImport.objects.get(pk=import_id)
    if source.imported_at is not None:
        return {"n": source.n_imported}
    with _content(source) as file, transaction.atomic():
        _import(source, file, lambda n, step: progress.report(n, None, f"judgments; {step} all, or none"))
        with progress.storing():
            pass  # a job that was lost or canceled stores nothing
    analyze(*FILLED)
    source.refresh_from_db()
    return {"n": source.n_imported}
