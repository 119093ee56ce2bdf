"""Bringing files into a collection: the request, and the job that does it.

A killed import goes on where its last committed chunk ended: each chunk's rows and `Import.position` are stored in
one transaction. A collection is shown once its first import is complete. A later import leaves it in sight, for each
of its rows is whole at every moment, and judging may be going on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Count, Sum

from corpus import jobs
from corpus.errors import Refused
from corpus.import_selectors import import_dir, in_words
from corpus.importers import copy
from corpus.importers.batch import Packed
from corpus.importers.dump import Chunk, Reader
from corpus.importers.pool import converted, n_processes
from corpus.importers.sources import DUMPS, BadFile, Unpacked, unpacked
from corpus.models import (
    Author,
    Collection,
    Comment,
    Document,
    DocumentLink,
    Import,
    Job,
    Tag,
    User,
    VoteCount,
)

KIND = "corpus.import_files"
ORDER = ("jsonl", *DUMPS)
UPLOAD = "upload:"  # a location in Django's storage; any other is a path on the worker's disk


class ImportRefused(Refused):
    """An import that cannot begin."""

    title = "This cannot be imported"


class Source(NamedTuple):
    """A file to import. `location` is `upload:` and its name in the storage, or a path."""

    location: str
    name: str


class Recognised(NamedTuple):
    source: Source
    form: str
    size: int


@transaction.atomic
def create_collection(
    *, slug: str, name: str = "", hosts: Iterable[str] = (), licence: str = "", description: str = ""
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
        "licence": licence,
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
            return import_upload(collection=target, file=upload, by=by)
        sources = sources_of([path] if path else [], within=import_dir())
        return start_import(collection=target, sources=sources, by=by)


def import_upload(*, collection: Collection, file: "File[bytes]", by: User | None) -> Job:
    """Keep an uploaded file until a worker has imported it, and queue that; keep nothing if it is refused.

    Raises
    ------
    ImportRefused, BadFile
        As `start_import`.
    """
    name = Path(file.name or "upload").name
    source = Source(UPLOAD + default_storage.save(f"imports/{name}", file), name)
    try:
        return start_import(collection=collection, sources=[source], by=by)
    except Refused:
        _discard([source.location])
        raise


def start_import(*, collection: Collection, sources: Sequence[Source], by: User | None) -> Job:
    """Record the files of an import and queue the job that reads them.

    Raises
    ------
    ImportRefused
        No file is of a known form, or an import into the collection is under way.
    BadFile
        The only file cannot be read.
    """
    files = _recognised(sources)
    with transaction.atomic():
        current = Collection.objects.select_for_update().get(pk=collection.pk)
        if unfinished_import(current) is not None:
            raise ImportRefused(f"An import into {current} is under way. Wait until it has ended.")
        if current.status != Collection.Status.READY:
            current.status = Collection.Status.IMPORTING
            current.save(update_fields=["status"])
        names = ", ".join(file.source.name for file in files)
        title = f"Import {names} into {current}"
        job = jobs.request(
            kind=KIND,
            title=title if len(title) <= 200 else f"Import {len(files)} files into {current}"[:200],
            arguments={"collection_id": current.pk},
            by=by,
            collection=current,
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
    return collection.jobs.filter(kind=KIND, state__in=states).first()


def interrupted_import(*, collection: Collection, sources: Iterable[Source]) -> Job | None:
    """The unfinished import of these very files into a collection, if there is one."""
    job = unfinished_import(collection)
    if job is None:
        return None
    locations = set(job.imports.values_list("location", flat=True))
    return job if locations <= {source.location for source in sources} else None


def _recognised(sources: Sequence[Source]) -> list[Recognised]:
    """The files that can be imported, in the order in which they must go in. Of several, others are left out."""
    files, refusals = [], []
    for source in sources:
        try:
            files.append(_recognise(source))
        except BadFile as refusal:
            refusals.append(refusal.message)
    if not files:
        wanted = "Give a dump's Posts.xml and its other files, or documents as one JSON object a line."
        raise ImportRefused(f"{' '.join(refusals[:5]) or 'There is no file.'} {wanted}")
    return sorted(files, key=lambda file: ORDER.index(file.form))


def _recognise(source: Source) -> Recognised:
    with _opened(source.location, source.name) as (content, file):
        form = Reader(content, source.name).form
        if form.name not in ORDER:
            raise BadFile(f"{source.name} holds <{form.name}>, which is not imported.")
        return Recognised(source, form.name, file.seek(0, 2))


@contextmanager
def _opened(location: str, name: str) -> "Iterator[tuple[BinaryIO | Unpacked, BinaryIO]]":
    """A file's content, unpacked, and the file itself."""
    try:
        if location.startswith(UPLOAD):
            file = cast("BinaryIO", default_storage.open(location.removeprefix(UPLOAD), "rb"))
        else:
            file = Path(location).open("rb")  # noqa: SIM115 - closed by the `with` below
    except OSError as error:
        raise BadFile(f"{name} cannot be opened: {error.strerror}.") from None
    with file:
        yield unpacked(file, name), file


def _import_failed(*, collection_id: int) -> None:
    """A first import that fails leaves its collection out of sight."""
    importing = Collection.objects.filter(pk=collection_id, status=Collection.Status.IMPORTING)
    importing.update(status=Collection.Status.INCOMPLETE)


@jobs.handler(KIND, failed=_import_failed)
def import_files(progress: jobs.Progress, *, collection_id: int) -> dict[str, Any]:
    """Import the files of a job, each from where its last committed chunk ended."""
    files = list(Import.objects.filter(job_id=progress.job_id).order_by("id"))
    total = sum(file.size for file in files)
    _begin(progress, files, collection_id)
    done = 0
    for file in files:
        if not file.is_complete:
            _import_file(progress, file, done, total)
        done += file.size
    progress.update(total, total, "counting")
    return _finish(progress, collection_id)


def _begin(progress: jobs.Progress, files: Sequence[Import], collection_id: int) -> None:
    """Votes are counted from nothing, unless some of this job's are in already.

    Raises
    ------
    ImportRefused
        The job is an old one that is tried again, and another import has come between.
    """
    if Import.objects.filter(collection_id=collection_id, job_id__gt=progress.job_id).exists():
        raise ImportRefused("Another import into this collection has been made since; start a new one.")
    votes = [file for file in files if file.format == "votes"]
    if votes and not any(file.position for file in votes):
        with progress.storing():
            copy.begin_votes(cast("copy.Cursor", connection.cursor()), collection_id)


def _import_file(progress: jobs.Progress, file: Import, done: int, total: int) -> None:
    with _opened(file.location, file.name) as (content, raw):
        if raw.seek(0, 2) != file.size:
            raise BadFile(f"{file.name} has changed since its import was asked for; start another import.")
        raw.seek(0)
        reader = Reader(content, file.name, position=file.position)
        workers = n_processes(file.size)
        is_new = file.collection is not None and file.collection.status == Collection.Status.IMPORTING
        for chunk, batch in converted(reader, form=file.format, name=file.name, n_processes=workers):
            _store(progress, file, chunk, batch, is_new)
            progress.update(
                done + min(raw.tell(), file.size), total, f"bytes read; {file.name}: {_said(file.counts)}"
            )
        with progress.storing():
            file.sha256, file.is_complete = reader.sha256, True
            file.save(update_fields=["sha256", "is_complete"])


def _store(progress: jobs.Progress, file: Import, chunk: Chunk, batch: Packed, is_new: bool) -> None:
    """A chunk's rows and the place behind it, in one transaction."""
    with progress.storing():
        cursor = cast("copy.Cursor", connection.cursor())
        counts, skipped = copy.store(cursor, batch.tables, cast("int", file.collection_id), is_new=is_new)
        file.position = chunk.end
        file.counts = dict(Counter(file.counts) + Counter(batch.counts) + Counter(counts))
        file.skipped = dict(Counter(file.skipped) + Counter(batch.skipped) + Counter(skipped))
        file.save(update_fields=["position", "counts", "skipped"])


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(in_words(dict(counts))) or "nothing yet"


def _finish(progress: jobs.Progress, collection_id: int) -> dict[str, Any]:
    """Settle what needs all files, and let readers in."""
    with progress.storing():
        files = Import.objects.filter(job_id=progress.job_id)
        cursor = cast("copy.Cursor", connection.cursor())
        n_orphans = copy.settle_answers(cursor, collection_id)
        if any(file.format == "votes" for file in files):
            copy.finish_votes(cursor, collection_id)
        collection = Collection.objects.select_for_update().get(pk=collection_id)
        collection.counts = counts = counts_of(collection)
        has_documents = any(counts[f"{kind}s"] for kind in Document.Kind.values)
        collection.status = Collection.Status.READY if has_documents else Collection.Status.EMPTY
        collection.save(update_fields=["counts", "status"])
        transaction.on_commit(partial(_discard, [file.location for file in files]))
        skipped: Counter[str] = sum((Counter(file.skipped) for file in files), Counter())
        return {"counts": counts, "skipped": dict(skipped), "answers_without_question": n_orphans}


def counts_of(collection: Collection) -> dict[str, int]:
    """How many rows of each sort a collection has."""
    documents = Document.objects.filter(collection=collection)
    kinds = Counter(dict(documents.values_list("kind").annotate(n=Count("pk"))))
    return {
        **{f"{kind}s": kinds[kind] for kind in Document.Kind.values},
        "comments": Comment.objects.filter(document__collection=collection).count(),
        "links": DocumentLink.objects.filter(source__collection=collection).count(),
        "users": Author.objects.filter(collection=collection).count(),
        "tags": Tag.objects.filter(collection=collection).count(),
        "votes": VoteCount.objects.filter(document__collection=collection).aggregate(n=Sum("n"))["n"] or 0,
    }


def _discard(locations: Iterable[str]) -> None:
    """Uploaded files have done their part."""
    for location in locations:
        if location.startswith(UPLOAD):
            default_storage.delete(location.removeprefix(UPLOAD))
