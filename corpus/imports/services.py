"""Start imports: create the collection, recognize the files, request the job (`corpus.imports.jobs`)."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from django.core.files import File
from django.db import transaction

from accounts.models import User
from assay.errors import BadFile
from assay.formats.documents.dump import Reader
from assay.formats.documents.sources import DUMPS
from assay.formats.formulas.indexes import FORMS, Index, Representation
from corpus.clusterings.selectors import unfinished_clustering
from corpus.formulas.selectors import last_ids
from corpus.imports.files import UPLOAD, ImportRefused, claim_uploads, open_file
from corpus.imports.jobs import KIND
from corpus.imports.selectors import import_dir, unfinished_import
from corpus.models import Collection, Import
from files import services as file_services
from jobs import services as jobs
from jobs.models import Job

ORDER = ("jsonl", *DUMPS, *FORMS)  # in which files are imported: comments, links and votes need posts


class Source(NamedTuple):
    """A file to import. `location` is a path, or `upload:` with a name in Django's storage."""

    location: str
    name: str


class Recognized(NamedTuple):
    source: Source
    form: str
    size: int


@transaction.atomic
def create_collection(
    *,
    slug: str,
    name: str = "",
    hosts: Iterable[str] = (),
    license: str = "",  # noqa: A002 - the name of the field
    description: str = "",
) -> Collection:
    """Create an empty collection.

    Raises
    ------
    ImportRefused
        There is a collection with this slug.
    """
    fields = {
        "name": name or slug,
        "hosts": [host_of(host) for host in hosts],
        "license": license,
        "description": description,
    }
    collection, is_new = Collection.objects.get_or_create(slug=slug, defaults=fields)
    if not is_new:
        raise ImportRefused(
            f"There is already a collection {slug}. Import into it, or choose another short name."
        )
    return collection


def host_of(text: str) -> str:
    """The host of a URL, or the host itself, in lower case as in links."""
    return text.strip().lower().partition("://")[2].partition("/")[0] or text.strip().lower().strip("/")


def sources_of(paths: Iterable[Path], *, within: Path | None = None) -> list[Source]:
    """The files at some paths; a folder means the files in it. Links that lead out of `within` are left out.

    Raises
    ------
    ImportRefused
        There is no such file or folder.
    """
    existing: list[Path] = []
    for path in paths:
        if path.is_dir():
            existing += [file for file in sorted(path.iterdir()) if file.is_file()]
        elif path.is_file():
            existing.append(path)
        else:
            raise ImportRefused(f"There is no file or folder {path}.")
    files = [(file.resolve(), file.name) for file in existing]
    return [Source(str(file), name) for file, name in files if within is None or file.is_relative_to(within)]


def import_upload_or_path(
    *,
    collection: Collection | None,
    new: Mapping[str, Any],
    upload: "File[bytes] | None",
    path: Path | None,
    by: User | None,
    representation: Representation | None = None,
) -> Job:
    """Import an upload, or a path in the import folder, into a collection or into a new one.

    If the import is refused, the new collection is not created, and the uploaded file is deleted.

    Raises
    ------
    ImportRefused, BadFile, NotStored
        As `create_collection` and `start_import`; the storage is full or does not answer.
    """
    with ExitStack() as stack:
        if upload is None:
            sources = sources_of([path] if path else [], within=import_dir())
        else:
            store = stack.enter_context(file_services.storing())
            sources = [Source(UPLOAD + store("imports", upload), Path(upload.name or "upload").name)]
        stack.enter_context(transaction.atomic())
        target = collection or create_collection(**new)
        return start_import(collection=target, sources=sources, by=by, representation=representation)


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

    Raises
    ------
    ImportRefused
        No file has a known format, a version differs, or the collection is being imported or clustered.
    BadFile
        The only file cannot be read.
    """
    files = [_with_options(file, representation, version) for file in _recognize_all(sources)]
    with transaction.atomic():
        current = Collection.objects.select_for_update().get(pk=collection.pk)
        if unfinished_import(current) is not None:
            raise ImportRefused(f"An import into {current} is running. Wait until it is finished.")
        if unfinished_clustering(current) is not None:
            raise ImportRefused(
                f"The formulas of {current} are being clustered. Wait until this is finished."
            )
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
        claim_uploads(file.source.location for file in files)
    return job


def _recognize_all(sources: Sequence[Source]) -> list[Recognized]:
    """The files that can be imported, in the order of import. Other files are ignored, unless there are only such."""
    files, refusals = [], []
    for source in sources:
        try:
            files.append(_recognize(source))
        except BadFile as refusal:
            refusals.append(refusal.message)
    if not files:
        accepted = "Import the files of a dump (Posts.xml and others), lines of JSON, or formula indexes."
        raise ImportRefused(f"{' '.join(refusals[:5]) or 'There is no file.'} {accepted}")
    return sorted(files, key=lambda file: ORDER.index(file.form))


def _recognize(source: Source) -> Recognized:
    with open_file(source.location, source.name) as (content, file):
        form = Reader(content, source.name).form
        if form.name not in ORDER:
            raise BadFile(f"{source.name} contains <{form.name}>, which cannot be imported.")
        return Recognized(source, form.name, file.seek(0, 2))


def _with_options(file: Recognized, representation: Representation | None, version: int) -> Recognized:
    """A formula index with the representation of the options. Its version must be the one that its columns show."""
    index = Index.of(file.form)
    if index is None:
        return file
    if version and version != index.version:
        raise ImportRefused(
            f"{file.source.name} is not a formula index of version {version}: its columns are "
            f"{', '.join(index.header)}, as in version {index.version}."
        )
    index = index._replace(representation=representation or index.representation)
    return file._replace(form=index.form)
