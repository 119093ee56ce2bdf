"""Start imports: create the collection, recognize the files, request the job (`corpus.imports.jobs`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.formats.documents.indexes import Representation
from corpus.clusterings.selectors import unfinished_clustering
from corpus.collections.selectors import unfinished_import
from corpus.formulas.selectors import last_ids
from corpus.imports.archives import unpacked
from corpus.imports.jobs import record
from corpus.imports.recognition import Source, import_refused, recognize, sources_in_folder
from corpus.imports.selectors import is_folder_here
from corpus.locations import UPLOAD, claim_uploads, discard_uploads, place_of
from corpus.models import Collection, Import
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job
from jobs.selectors import IMPORT_FOLDER
from web.pages import counted

NAMED = 20  # files of an import in the audit log and on its page


@transaction.atomic
def create_collection(
    *,
    slug: str,
    name: str = "",
    hosts: Iterable[str] = (),
    license: str = "",  # noqa: A002 - the name of the field
    description: str = "",
    by: User | None = None,
) -> Collection:
    """Create an empty collection. Who creates it may change it; a command names nobody.

    Raises:
        Refused: There is a collection with this slug.
    """
    fields = {
        "name": name or slug,
        "hosts": [host_of(host) for host in hosts],
        "license": license,
        "description": description,
        "imported_by": by,
    }
    collection, is_new = Collection.objects.get_or_create(slug=slug, defaults=fields)
    if not is_new:
        raise import_refused(
            f"There is already a collection {slug}. Import into it, or choose another short name.",
            field="slug",
        )
    audit.record(action="collection.created", subject=collection)
    return collection


def host_of(text: str) -> str:
    """The host of a URL, or the host itself, in lower case as in links."""
    return text.strip().lower().partition("://")[2].partition("/")[0] or text.strip().lower().strip("/")


def import_upload_or_path(
    *,
    collection: Collection | None,
    new: Mapping[str, Any],
    uploads: "Sequence[File[bytes]]" = (),
    path: str | None = None,
    by: User | None,
    representation: Representation | None = None,
    on_stored: Callable[[Job], None] = lambda job: None,
) -> Job:
    """Import uploads, or a path in the import folder, into a collection or into a new one.

    Several files of a dump, or an archive of them, are one import. If it is refused, the new collection is not created,
    and the uploaded files are deleted. `on_stored` is called in the transaction that requests the job.

    Raises:
        BadFile, Refused: As `create_collection` and `start_import`; the storage is full or does not
            answer.
    """
    with ExitStack() as stack:
        if not uploads and not is_folder_here():
            stack.enter_context(transaction.atomic())
            target = collection or create_collection(**new, by=by)
            job = start_import_elsewhere(
                collection=target, path=path or "", by=by, representation=representation
            )
            on_stored(job)
            return job
        sources = sources_in_folder(path) if path and not uploads else []
        store = stack.enter_context(storage.storing())
        for upload in uploads:
            with unpacked(upload) as files:
                sources += [
                    Source(UPLOAD + store("imports", file), Path(file.name or "upload").name)
                    for file in files
                ]
        stack.enter_context(transaction.atomic())
        target = collection or create_collection(**new, by=by)
        job = start_import(collection=target, sources=sources, by=by, representation=representation)
        on_stored(job)
        return job


def start_import(
    *,
    collection: Collection,
    sources: Sequence[Source],
    by: User | None,
    representation: Representation | None = None,
    version: int = 0,
) -> Job:
    """Record the files of an import and queue the job that reads them.

    `representation` and `version` are those of formula indexes; by default they are detected from the content.

    Raises:
        Refused: No file has a known format, a version differs, or the collection is being imported or clustered.
        BadFile: The only file cannot be read.
    """
    files = recognize(sources, representation, version)
    ignored = [source for source in sources if source not in {file.source for file in files}]
    with transaction.atomic():
        current = _lock_idle(collection)
        names = ", ".join(file.source.name for file in files)
        title = f"Import {names} into {current}"
        job = jobs.request(
            kind=Import.JOB,
            title=title if len(title) <= 200 else f"Import {counted(len(files), 'file')} into {current}",
            arguments={
                "collection_id": current.pk,
                "last_ids": last_ids(),
                "ignored": [source.name for source in ignored][:NAMED],
            },
            by=by,
            subject=current,
            place=place_of(file.source.location for file in files),
        )
        record(job.pk, current.pk, files)
        claim_uploads(file.source.location for file in files)
        claim_uploads(source.location for source in ignored)
        discard_uploads(source.location for source in ignored)
        details = {"files": [file.source.name for file in files][:NAMED], "n files": len(files)}
        audit.record(action="import.requested", subject=current, details=details, by=by)
    return job


@transaction.atomic
def start_import_elsewhere(
    *, collection: Collection, path: str, by: User | None, representation: Representation | None = None
) -> Job:
    """Queue an import from the import folder, which only some workers see. The job finds the files.

    Raises:
        Refused: The collection is being imported or clustered.
    """
    current = _lock_idle(collection)
    arguments = {"collection_id": current.pk, "last_ids": last_ids(), "path": path}
    audit.record(action="import.requested", subject=current, details={"path": path}, by=by)
    return jobs.request(
        kind=Import.JOB,
        title=f"Import {path} into {current}",
        arguments=arguments | {"representation": representation},
        by=by,
        subject=current,
        place=IMPORT_FOLDER,
    )


ImportCheck = Callable[..., None]  # (collection): refuses to import into it
_import_checks: list[ImportCheck] = []


def checks_import(check_with: ImportCheck) -> ImportCheck:
    """Register a function that refuses an import into a collection for a reason of an app above this one."""
    _import_checks.append(check_with)
    return check_with


def _lock_idle(collection: Collection) -> Collection:
    """Lock a collection, which becomes one that is being imported."""
    current = Collection.objects.select_for_update().get(pk=collection.pk)
    for check_with in _import_checks:
        check_with(collection=current)
    if unfinished_import(current) is not None:
        raise import_refused(f"An import into {current} is running. Wait until it is finished.")
    if unfinished_clustering(current) is not None:
        raise import_refused(f"The formulas of {current} are being clustered. Wait until this is finished.")
    if current.status != Collection.Status.READY:
        current.status = Collection.Status.IMPORTING
        current.save(update_fields=["status"])
    return current
