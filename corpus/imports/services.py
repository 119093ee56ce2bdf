"""Asking for an import: the collection, the files, and what each of them is. `corpus.imports.jobs` does it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from accounts.models import User
from assay.errors import Refused
from assay.formats.documents.dump import Reader
from assay.formats.documents.sources import DUMPS, BadFile
from assay.formats.formulas.indexes import FORMS, Index, Representation
from corpus.clusterings.selectors import unfinished_clustering
from corpus.formulas.selectors import last_ids
from corpus.imports.files import UPLOAD, ImportRefused, discard, opened
from corpus.imports.jobs import KIND
from corpus.imports.selectors import import_dir
from corpus.models import Collection, Import
from jobs import services as jobs
from jobs.models import Job

ORDER = ("jsonl", *DUMPS, *FORMS)


class Source(NamedTuple):
    """A file to import. `location` is `upload:` and its name in the storage, or a path."""

    location: str
    name: str


class Recognized(NamedTuple):
    source: Source
    form: str
    size: int


@transaction.atomic
def create_collection(
    *, slug: str, name: str = "", hosts: Iterable[str] = (), license: str = "", description: str = ""
) -> Collection:
    """An empty collection.

    Raises
    ------
    ImportRefused
        Its slug is taken.
    """
    fields = {
        "name": name or slug,
        "hosts": [host_of(host) for host in hosts],
        "license": license,
        "description": description,
    }
    collection, is_new = Collection.objects.get_or_create(slug=slug, defaults=fields)
    if not is_new:
        raise ImportRefused(f"There is a collection {slug} already. Import into it, or choose another slug.")
    return collection


def host_of(text: str) -> str:
    """A host as links write it, from a host or an address."""
    return text.strip().lower().partition("://")[2].partition("/")[0] or text.strip().lower().strip("/")


def sources_of(paths: Iterable[Path], *, within: Path | None = None) -> list[Source]:
    """The files that some paths name; a folder stands for the files in it. A link that leads out is left out.

    Raises
    ------
    ImportRefused
        There is no such file or folder.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [file for file in sorted(path.iterdir()) if file.is_file()]
        elif path.is_file():
            found.append(path)
        else:
            raise ImportRefused(f"There is no file or folder {path}.")
    files = [(file.resolve(), file.name) for file in found]
    return [Source(str(file), name) for file, name in files if within is None or file.is_relative_to(within)]


def import_for(
    *,
    collection: Collection | None,
    new: Mapping[str, Any],
    upload: "File[bytes] | None",
    path: Path | None,
    by: User | None,
    representation: Representation | None = None,
) -> Job:
    """Import an upload, or what stands in the import folder, into a collection, or into a new one.

    If the import is refused, the new collection is not made either.

    Raises
    ------
    ImportRefused, BadFile
        As `create_collection` and `start_import`.
    """
    with transaction.atomic():
        target = collection or create_collection(**new)
        if upload is not None:
            return import_upload(collection=target, file=upload, by=by, representation=representation)
        sources = sources_of([path] if path else [], within=import_dir())
        return start_import(collection=target, sources=sources, by=by, representation=representation)


def import_upload(
    *,
    collection: Collection,
    file: "File[bytes]",
    by: User | None,
    representation: Representation | None = None,
) -> Job:
    """Keep an uploaded file until a worker has imported it, and queue that; keep nothing if it is refused.

    Raises
    ------
    ImportRefused, BadFile
        As `start_import`.
    """
    name = Path(file.name or "upload").name
    source = Source(UPLOAD + default_storage.save(f"imports/{name}", file), name)
    try:
        return start_import(collection=collection, sources=[source], by=by, representation=representation)
    except Refused:
        discard([source.location])
        raise


def start_import(
    *,
    collection: Collection,
    sources: Sequence[Source],
    by: User | None,
    representation: Representation | None = None,
    version: int = 0,
) -> Job:
    """Record the files of an import and queue the job that reads them.

    `representation` and `version` say of formula indexes what else their content tells.

    Raises
    ------
    ImportRefused
        No file is of a known form, or an import into the collection or a clustering of it is under way.
    BadFile
        The only file cannot be read.
    """
    files = [_as_said(file, representation, version) for file in _recognized(sources)]
    with transaction.atomic():
        current = Collection.objects.select_for_update().get(pk=collection.pk)
        if unfinished_import(current) is not None:
            raise ImportRefused(f"An import into {current} is under way. Wait until it has ended.")
        if unfinished_clustering(current) is not None:
            raise ImportRefused(f"The formulas of {current} are being clustered. Wait until they are.")
        if current.status != Collection.Status.READY:
            current.status = Collection.Status.IMPORTING
            current.save(update_fields=["status"])
        names = ", ".join(file.source.name for file in files)
        title = f"Import {names} into {current}"
        job = jobs.request(
            kind=KIND,
            title=title if len(title) <= 200 else f"Import {len(files)} files into {current}"[:200],
            arguments={"collection_id": current.pk, "last_ids": last_ids()},
            by=by,
            subject=current,
        )
        for file in files:
            Import.objects.create(
                collection=current,
                job=job,
                format=file.form,
                name=file.source.name,
                location=file.source.location,
                size=file.size,
            )
    return job


def unfinished_import(collection: Collection) -> Job | None:
    """The import into a collection that is waiting or under way."""
    states = [Job.State.QUEUED, Job.State.RUNNING]
    return Job.objects.filter(imports__collection=collection, kind=KIND, state__in=states).first()


def interrupted_import(*, collection: Collection, sources: Iterable[Source]) -> Job | None:
    """The unfinished import of these very files into a collection, if there is one."""
    job = unfinished_import(collection)
    if job is None:
        return None
    locations = set(job.imports.values_list("location", flat=True))
    return job if locations <= {source.location for source in sources} else None


def _recognized(sources: Sequence[Source]) -> list[Recognized]:
    """The files that can be imported, in the order in which they must go in. Of several, others are left out."""
    files, refusals = [], []
    for source in sources:
        try:
            files.append(_recognize(source))
        except BadFile as refusal:
            refusals.append(refusal.message)
    if not files:
        wanted = "Give a dump's Posts.xml and its other files, documents as one JSON object a line, or formula indexes."
        raise ImportRefused(f"{' '.join(refusals[:5]) or 'There is no file.'} {wanted}")
    return sorted(files, key=lambda file: ORDER.index(file.form))


def _recognize(source: Source) -> Recognized:
    with opened(source.location, source.name) as (content, file):
        form = Reader(content, source.name).form
        if form.name not in ORDER:
            raise BadFile(f"{source.name} holds <{form.name}>, which is not imported.")
        return Recognized(source, form.name, file.seek(0, 2))


def _as_said(file: Recognized, representation: Representation | None, version: int) -> Recognized:
    """A formula index as what it is said to be. Its columns show its version, so that is only held against them."""
    index = Index.of(file.form)
    if index is None:
        return file
    if version and version != index.version:
        raise ImportRefused(
            f"{file.source.name} is no formula index of version {version}: its columns are "
            f"{', '.join(index.header)}, as in version {index.version}."
        )
    said = index._replace(representation=representation or index.representation)
    return file._replace(form=said.form)
