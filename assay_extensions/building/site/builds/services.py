"""Request builds of collections, start them again with other options, and delete those that made nothing."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import transaction
from django.db.models import ProtectedError

from accounts.audit import services as audit
from accounts.models import User
from assay.formulas.conversion import Converter
from assay_extensions.building.settings import NotBuilt, Settings
from assay_extensions.building.site.builds.jobs import refusing
from corpus.imports import services as imports
from corpus.locations import FOLDER, UPLOAD, claim_uploads, discard_uploads, place_of
from corpus.models import Build
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job


def request(
    *,
    new: Mapping[str, Any],
    settings: Settings,
    converter: str,
    removed: Sequence[str] = (),
    uploads: "Sequence[File[bytes]]" = (),
    path: str = "",
    by: User | None,
) -> Build:
    """Create a collection, and queue the job that builds it from uploads or from a path in the import folder.

    Raises:
        Refused: There is a collection with this short name.
        NotBuilt: The converter is not installed.
        Refused: The storage is full or does not answer.
    """
    _check_converter(converter)
    with ExitStack() as stack:
        store = stack.enter_context(storage.storing())
        sources = [[UPLOAD + store("builds", file), Path(file.name or "upload").name] for file in uploads]
        sources += [[FOLDER + path, Path(path).name]] if path and not uploads else []
        stack.enter_context(transaction.atomic())
        collection = imports.create_collection(**new, by=by)
        claim_uploads(location for location, _ in sources)
        build = Build.objects.create(
            collection=collection,
            sources=sources,
            settings=settings.as_json(),
            converter=converter,
            removed=list(removed),
        )
        place = place_of(location for location, _ in sources)
        title = f"Build {collection}"
        jobs.request_for(build, "build_id", kind=Build.JOB, title=title, by=by, subject=build, place=place)
        details = {"files": [name for _, name in sources], "settings": build.settings}
        audit.record(action="build.requested", subject=collection, details=details, by=by)
    return build


def _check_converter(name: str) -> None:
    if name:
        with refusing():
            Converter.named(name)


@transaction.atomic
def change(
    *, build: Build, settings: Settings, converter: str, removed: Sequence[str] = (), by: User | None
) -> Build:
    """Start a failed build of the same source again with other options. What it made with the earlier ones is deleted.

    Raises:
        NotBuilt: The build has not failed, or the converter is not installed.
    """
    _check_converter(converter)
    current = _locked(build)
    if current.job is None or current.job.state != Job.State.FAILED:
        raise NotBuilt(f"Only a failed build can be started again with other options; see the {current}.")
    current.settings, current.converter, current.removed = settings.as_json(), converter, list(removed)
    current.save(update_fields=["settings", "converter", "removed"])
    jobs.retry(job=current.job)
    details = {"settings": current.settings, "converter": converter}
    audit.record(action="build.changed", subject=current.collection, details=details, by=by)
    return current


@transaction.atomic
def delete(*, build: Build, by: User | None) -> None:
    """Delete a build that has ended, its uploads and files, and its empty collection, whose short name is free again.

    Celery beat deletes its working folder.

    Raises:
        NotBuilt: The build or its import runs, or the collection has documents or is used.
    """
    current = _locked(build)
    collection, build_jobs = current.collection, [job for job in (current.job, current.import_job) if job]
    if any(not job.is_finished for job in build_jobs):
        raise NotBuilt(f"The {current} is not finished. Cancel its job first.")
    if collection.documents.exists() or collection.formulas.exists():
        raise NotBuilt(
            f"{collection} has documents, which tracks may use. Only a build without them is deleted."
        )
    if current.import_job is None:
        discard_uploads(location for location, _ in current.sources)
    storage.discard(str(file.file.name) for file in current.files.all())
    current.files.all().delete()
    details = {"collection": collection.slug, "settings": current.settings}
    try:
        current.delete()
        collection.imports.all().delete()
        collection.delete()
    except ProtectedError as error:
        raise NotBuilt(f"{collection} is used by a track. Choose another collection there first.") from error
    Job.objects.filter(pk__in=[job.pk for job in build_jobs]).update(subject_path="")
    audit.record(action="build.deleted", subject=str(collection), details=details, by=by)


def _locked(build: Build) -> Build:
    rows = Build.objects.select_related("collection", "job", "import_job")
    return rows.select_for_update(of=["self"]).get(pk=build.pk)
