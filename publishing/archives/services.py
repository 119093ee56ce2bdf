"""Make the archive of a track in a job, and make a track from an archive in another."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pkgutil import resolve_name
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.db import IntegrityError, transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.archive.contents import Contents, Reader
from assay.archive.parts import COLLECTION_FORMS
from assay.archive.verify import Finding, verify
from assay.digests import sha256_of_file
from assay.extensions import ExtensionMissing
from assessment.imports.services import FILLED
from corpus.models import Collection
from jobs import services as jobs
from jobs.files import storage
from publishing.archives import gathering, loading
from publishing.errors import archive_refused, load_refused
from publishing.models import ARCHIVE, DATASET, Archive, LoadedArchive
from tracks.downloads import services as downloads
from tracks.models import Download, StoredProtocol, Track
from tracks.tracks import services as track_services
from web.pages import counted
from web.statements import analyze
from web.times import in_words

MAKE, LOAD = "archives.make", "archives.load"  # kinds of jobs
# Of PostgreSQL: rows of an archive can be there twice or break a check. Any other violation is a fault of ours.
CONTRADICTIONS = {"23505", "23514"}


def _forms() -> Any:
    """The module for test collections in the forms of other tools.

    Raises:
        ExtensionMissing: The site has no such form.
    """
    form = next(iter(COLLECTION_FORMS.values()), None)
    if form is None:
        raise ExtensionMissing(
            "Test collections of other tools need the extension exchange, which this site does not have."
        )
    return resolve_name(form.module)


@transaction.atomic
def request(
    *,
    track: Track,
    by: User,
    form: str = ARCHIVE,
    has_names: bool = False,
    has_comments: bool = False,
    parts: Sequence[str] = (),
    authors: str = "",
    license: str = "",  # noqa: A002  # the field's name
    url: str = "",
    doi: str = "",
) -> Archive:
    """Queue the job that makes an archive of a track as it is when the job runs.

    Raises:
        Refused: The track is a draft, or an archive of it is being made; or the form cannot hold what is asked.
    """
    track = track_services.lock(track.pk)
    if form != ARCHIVE:
        _forms().check(track=track, form=form)
        if has_names or has_comments or parts:
            raise archive_refused(
                "Only Assay's own archive has judgments, with names and comments of assessors, and files of extensions."
            )
    if track.status == Track.Status.DRAFT and track.protocol.parsed.runs.kinds:
        raise archive_refused(
            f"{track} is a draft. There is something to archive once it was opened for runs."
        )
    if track.archives.filter(status=Archive.Status.BUILDING).exists():
        raise archive_refused(f"An archive of {track} is being made already. Wait until that has finished.")
    archive = Archive.objects.create(
        track=track,
        form=form,
        has_names=has_names,
        has_comments=has_comments,
        parts=list(parts),
        authors=authors,
        license=license,
        url=url,
        doi=doi,
        created_by=by,
    )
    jobs.request_for(archive, "archive_id", kind=MAKE, title=f"Archive {track}", by=by, subject=track)
    details = {"form": form, "names": has_names, "comments": has_comments}
    details |= {"parts": list(parts)} if parts else {}
    audit.record(action="archive.requested", subject=str(archive), track=track, details=details, by=by)
    return archive


def _making_retried(*, archive_id: int) -> None:
    archive = Archive.objects.select_related("track").get(pk=archive_id)
    track_services.lock(archive.track_id)
    if archive.track.archives.filter(status=Archive.Status.BUILDING).exists():
        raise archive_refused(
            f"Another archive of {archive.track} is being made. Wait until that has finished."
        )
    Archive.objects.filter(pk=archive_id, status=Archive.Status.FAILED).update(status=Archive.Status.BUILDING)


@jobs.handler(
    MAKE,
    failed=jobs.changing_status(Archive, "archive_id", Archive.Status.BUILDING, Archive.Status.FAILED),
    retried=_making_retried,
    words=lambda _: "The archive is ready.",
)
def make(progress: jobs.Progress, *, archive_id: int) -> dict[str, Any]:
    """Make an archive. The file is stored and its row updated at the end, so there is never a part of an archive."""
    archive = Archive.objects.select_related("track__protocol", "track__collection", "created_by").get(
        pk=archive_id
    )
    if archive.status == Archive.Status.READY:  # an earlier attempt stored it, but did not finish the job
        return {"archive": archive.pk}
    with TemporaryFile() as file:
        counts = _written(archive, file, progress)
        size, digest = file.seek(0, 2), sha256_of_file(file)
        file.seek(0)
        with storage.storing() as store:
            name = store("archives", File(file, name="archive.zip"))
            with progress.storing():
                archive.file.name, archive.size, archive.sha256 = name, size, digest
                archive.status = Archive.Status.READY
                archive.counts = counts
                archive.save(update_fields=["file", "size", "sha256", "status", "counts"])
                storage.claim(name)
    return {"archive": archive.pk}


def _written(archive: Archive, file: BinaryIO, progress: jobs.Progress) -> dict[str, int]:
    """Write an archive of any form, and count what is in it."""
    if archive.form != ARCHIVE:
        counts: dict[str, int] = _forms().write(archive, file, progress.update)
        return counts
    index = gathering.write(archive, file, progress.update)
    return {
        "runs": len(index.runs),
        "judgments": index.n_judgments,
        "qrels": len(index.qrels),
        "leaderboards": len(index.leaderboards),
    }


def offer(*, archive: Archive, by: User) -> Download:
    """Attach a copy of an archive to the downloads of its track. It is not released yet.

    Raises:
        Refused: It is attached already, or the track hides the names that the archive has.
    """
    until = archive.track.names_hidden_until
    if until and archive.track.names_are_hidden and archive.form == ARCHIVE:
        raise archive_refused(
            f"{archive} has the names of teams and runs, and {archive.track} hides them until "
            f"{in_words(until, 'UTC')}. Offer it after that, or change the time among the dates of the track."
        )
    with archive.file.open() as file:
        return downloads.attach_file(
            track=archive.track,
            kind=Download.Kind.OTHER,
            file=cast("BinaryIO", file),
            name=str(archive),
            description=f"Archive of {archive.track}, {archive.created_at:%Y-%m-%d}."[:1000],
            by=by,
        )


@transaction.atomic
def delete(*, archive: Archive) -> None:
    """Delete an archive and its file. It can be made again, but it will show the track as it is then.

    Raises:
        Refused: It is being made.
    """
    current = Archive.objects.select_for_update(of=("self",)).select_related("track").get(pk=archive.pk)
    if current.status == Archive.Status.BUILDING:
        raise archive_refused(f"{current} is being made. It can be deleted when that has ended.")
    if current.file:
        storage.discard([str(current.file)])
    audit.record(action="archive.deleted", subject=str(current), track=current.track)
    current.delete()


def load_upload(
    *,
    upload: "File[bytes]",
    by: User,
    slug: str = "",
    protocol: StoredProtocol | None = None,
    on_stored: Callable[[LoadedArchive], None] = lambda loaded: None,
) -> LoadedArchive:
    """Store an uploaded archive, and queue the job that verifies it and makes a track from it.

    With a `protocol`, it is a test collection in the form of another tool, and the job also makes a collection of its
    documents. `on_stored` is called in the transaction that queues the job.

    Raises:
        BadFile: The file is not an archive of a track, or with a protocol not a test collection.
        Refused: The storage does not take the file.
    """
    name = (upload.name or "archive.zip").rpartition("/")[2][-255:]
    if protocol is None:
        Reader(cast("BinaryIO", upload), name)
    else:
        _forms().check_upload(cast("BinaryIO", upload), name)
    digest = sha256_of_file(cast("BinaryIO", upload))
    upload.seek(0)
    with storage.storing() as store, transaction.atomic():
        stored = store("archives", upload)
        loaded = LoadedArchive.objects.create(
            name=name,
            file=stored,
            size=upload.size,
            sha256=digest,
            slug=slug,
            protocol=protocol,
            created_by=by,
        )
        _queue(loaded)
        storage.claim(stored)
        on_stored(loaded)
    return loaded


@transaction.atomic
def fetch(*, dataset: str, protocol: StoredProtocol, by: User, slug: str = "") -> LoadedArchive:
    """Queue the job that fetches a data set with ir_datasets and makes a track and a collection from it.

    Raises:
        Refused: The site may not fetch it.
    """
    _forms().check_dataset(dataset)
    loaded = LoadedArchive.objects.create(
        name=f"{DATASET}{dataset}",
        size=0,
        slug=slug or _forms().short_name(dataset),
        protocol=protocol,
        created_by=by,
    )
    _queue(loaded)
    return loaded


def _queue(loaded: LoadedArchive) -> None:
    by = loaded.created_by
    jobs.request_for(loaded, "loaded_id", kind=LOAD, title=f"Load {loaded.name}", by=by, subject=loaded)


LOADING, FAILED = LoadedArchive.Status.LOADING, LoadedArchive.Status.FAILED


def _loading_failed(*, loaded_id: int) -> None:
    jobs.changing_status(LoadedArchive, "loaded_id", LOADING, FAILED)(loaded_id=loaded_id)
    job = LoadedArchive.objects.values_list("job", flat=True).get(pk=loaded_id)
    importing = Collection.objects.filter(imports__job=job, status=Collection.Status.IMPORTING)
    importing.update(status=Collection.Status.INCOMPLETE)


@jobs.handler(
    LOAD,
    failed=_loading_failed,
    retried=jobs.changing_status(LoadedArchive, "loaded_id", FAILED, LOADING),
    words=lambda _: "The archive is loaded.",
)
def load(progress: jobs.Progress, *, loaded_id: int) -> dict[str, Any]:
    """Verify an archive, and store it as a track. One transaction stores all rows.

    That can take longer than the time after which a silent job counts as lost, so the job's row is locked at the end
    of the transaction only.

    Raises:
        Refused: A part of the archive is wrong, or something here prevents it.
    """
    loaded = LoadedArchive.objects.select_related("created_by", "track", "protocol").get(pk=loaded_id)
    if loaded.track is not None:  # an earlier attempt stored it, but did not finish the job
        return {"track": loaded.track.slug}
    if not loaded.file:
        _forms().fetch(progress, loaded)
    if loaded.protocol is not None:
        result: dict[str, Any] = _forms().load(progress, loaded, _stored)
        return result
    with loaded.file.open("rb") as file:
        reader = Reader(cast("BinaryIO", file), loaded.name)
        findings = _verified(reader, progress)
        LoadedArchive.objects.filter(pk=loaded.pk).update(findings=[asdict(finding) for finding in findings])
        wrong = [finding for finding in findings if not finding.is_right]
        if wrong:
            raise load_refused(
                f"Wrong: {len(wrong)} of {counted(len(findings), 'part')}. "
                f"The first, {wrong[0].part}: {wrong[0].problem}."
            )
        contents = Contents(reader)
        progress.update(0, None, "storing the runs")
        with storage.storing() as store:
            files = loading.store_files(contents, store)
            progress.update(0, None, "storing the rows: all of them, or none")
            with transaction.atomic():
                try:
                    track = loading.store_track(contents, files, slug=loaded.slug, by=loaded.created_by)
                except IntegrityError as error:
                    if getattr(error.__cause__, "pgcode", "") not in CONTRADICTIONS:
                        raise
                    raise load_refused(f"The archive contradicts itself: {error}".rstrip()) from error
                with progress.storing():
                    _stored(loaded, track, files.formulas)
    analyze(*FILLED)
    return {"track": track.slug}


def _stored(loaded: LoadedArchive, track: Track, formulas: str = "") -> None:
    """Note, in the transaction that stores a track, which archive it comes from. The file is deleted.

    `formulas` is the stored name of `formulas.tsv`: the track has no collection that an archive could take them from.
    """
    current = LoadedArchive.objects.select_for_update(of=("self",)).get(pk=loaded.pk)
    storage.discard([str(current.file)])
    if formulas:
        storage.claim(formulas)
    current.file.name, current.formulas.name, current.track = "", formulas, track
    current.status = LoadedArchive.Status.LOADED
    current.save(update_fields=["file", "formulas", "track", "status"])
    details = {"file": current.name, "sha256": current.sha256}
    audit.record(action="archive.loaded", subject=track, track=track, details=details, by=loaded.created_by)


def _verified(reader: Reader, progress: jobs.Progress) -> list[Finding]:
    done, findings = 0, []

    def advance(n: int) -> None:
        nonlocal done
        done += n
        progress.update(done, reader.n_bytes, "checking the files")

    for finding in verify(reader, advance=advance):
        findings.append(finding)
        progress.update(done, reader.n_bytes, f"checked: {finding.part}")
    return findings
