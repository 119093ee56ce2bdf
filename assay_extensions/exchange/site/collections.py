"""Test collections of tracks in the forms of other tools: what a track writes, and a track that is made of one."""

from collections.abc import Callable, Iterator
from html import escape
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from django.core.files import File
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from assay.archive.files import Writer
from assay.errors import InputError, Refused
from assay.formats.text import lines_of
from assay.html.sanitize import plain
from assay_extensions.exchange import parquet
from assay_extensions.exchange.content import SPLIT, Document, TestCollection, Topic, Zipped, json_lines
from assay_extensions.exchange.library import topic_of
from assay_extensions.exchange.registry import FORMS, form_of
from assay_extensions.exchange.site.fetching import check_dataset, fetch, file_name, short_name
from corpus.imports import services as import_services
from corpus.imports.jobs import import_files, record
from corpus.imports.recognition import Source, recognize
from corpus.locations import UPLOAD, claim_uploads
from corpus.models import Import
from jobs import services as jobs
from jobs.files import storage
from publishing.errors import archive_refused, load_refused
from publishing.models import Archive, LoadedArchive
from scoring.models import Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_columns
from tracks.models import Track
from tracks.topics import services as topic_services
from tracks.tracks import services as track_services

__all__ = [
    "check",
    "check_dataset",
    "check_upload",
    "fetch",
    "load",
    "short_name",
    "write",
]  # of CollectionForm
BATCH = 2_000
Report = Callable[[int, int | None, str], None]  # done, total, step


def check(*, track: Track, form: str) -> None:
    """Refuse a form that cannot hold what a track judges.

    Raises:
        Refused: The track has no collection or no qrels of documents, or the site lacks pyarrow.
    """
    protocol, title = track.protocol.parsed, FORMS[form].title.partition(":")[0]
    if track.collection_id is None:
        raise archive_refused(f"{track} has no collection, and {title} needs its documents.")
    if protocol.unit not in {"answer", "document"} or protocol.judged.has_votes:
        raise archive_refused(f"{title} holds grades of documents, which {track} does not judge.")
    if _versions(track).first() is None:
        raise archive_refused(f"{track} has no qrels yet. Freeze or import a version first.")
    if FORMS[form].is_parquet:
        _check_parquet(archive_refused)


def _check_parquet(refusal: Callable[[str], Refused]) -> None:
    try:
        parquet.check_installed()
    except InputError as error:
        raise refusal(f"{str(error)[0].upper()}{str(error)[1:]}.") from None


def _versions(track: Track) -> QuerySet[Qrels]:
    """The versions that count: of people or files, with all units, newest first."""
    versions = Qrels.objects.filter(track=track, archived_at=None, machine_name="")
    return versions.exclude(report__has_any_keys=["part_of", "set"]).order_by("-version")


def write(archive: Archive, file: BinaryIO, report: Report) -> dict[str, int]:
    """Write the documents, topics and newest qrels of a track into a ZIP file, and count them.

    Topics that have a split, such as train, have their qrels in a file of its name.
    """
    track = archive.track
    assert track.collection is not None
    total = sum(track.collection.counts.get(f"{kind}s", 0) for kind in ("question", "answer", "document"))
    qrels = _versions(track).first()
    assert qrels is not None
    topics = list(track.topics.order_by("code"))
    splits = {topic.code: topic.split or SPLIT for topic in topics}
    columns = qrels_columns(qrels)
    codes = columns.topics.tolist()
    collection = TestCollection(
        track.slug,
        [topic_of(topic) for topic in topics],
        {
            name: columns.keep_topics([code for code in codes if splits.get(code, SPLIT) == name])
            for name in sorted({splits.get(code, SPLIT) for code in codes})
        },
        lambda: _documents(track),
        title=track.name,
        license=archive.license,
        url=archive.url,
        authors=[line.strip() for line in lines_of(archive.authors) if line.strip()],
        notes=[f"The qrels are {qrels} of the track, SHA-256 `{qrels.sha256}`."],
    )
    writer = Writer(file, track.slug)
    counts = FORMS[archive.form].write(
        collection, writer.add, lambda n: report(n, total, "writing the documents")
    )
    writer.close()
    return {f"{noun}s".translate({ord(" "): "_", ord("-"): "_"}): n for noun, n in counts.items()}


def _documents(track: Track) -> Iterator[Document]:
    assert track.collection is not None
    fields = ("docno", "title", "body")
    rows = track.collection.documents.order_by("pk").values_list(*fields).iterator(chunk_size=BATCH)
    return (Document(docno, plain(title), plain(body)) for docno, title, body in rows)


# --- A track from a test collection


def check_upload(file: BinaryIO, name: str) -> None:
    """Refuse an upload that is not a test collection.

    Raises:
        BadFile: It is not one.
        Refused: It is parquet, and the site lacks pyarrow.
    """
    form = form_of(Zipped(file, name))
    if form.is_parquet:
        _check_parquet(load_refused)


def load(
    progress: jobs.Progress, loaded: LoadedArchive, stored: Callable[[LoadedArchive, Track], None]
) -> dict[str, str]:
    """Import the documents into a new collection; then store the track with topics and qrels, as a draft.

    Everything that can be refused is tried first, before a document is stored. A job that was killed goes on with the
    documents where it was. `stored` is called in the transaction that stores the track.

    Raises:
        Refused: A file has an error, a grade is not in the protocol, or a short name is taken.
    """
    with loaded.file.open("rb") as file:
        source = Zipped(cast("BinaryIO", file), file_name(loaded))
        collection = form_of(source).read(source)
        slug = loaded.slug or collection.name.lower()
        files = Import.objects.filter(job_id=progress.job_id)
        if not files.exists():
            with transaction.atomic():
                _store(loaded, collection, slug)
                transaction.set_rollback(True)
            _record(progress, loaded, collection, slug)
        target = files.select_related("collection").get().collection
        assert target is not None
        import_files(progress, collection_id=target.pk)
        with progress.storing():
            track = _store(loaded, collection, slug, collection_id=target.pk)
            stored(loaded, track)
    return {"track": track.slug}


def _record(progress: jobs.Progress, loaded: LoadedArchive, collection: TestCollection, slug: str) -> None:
    """Store the documents as JSON lines, and the new collection that they are imported into."""
    documents = collection.documents()
    rows = ({"docno": row.docno, "title": row.title, "text": row.text} for row in documents)
    with TemporaryFile() as lines, storage.storing() as store:
        for n, piece in enumerate(json_lines(rows)):
            lines.write(piece)
            progress.update(n * BATCH, None, "reading the documents")
        lines.seek(0)
        location = UPLOAD + store("imports", File(lines, name="documents.jsonl"))
        recognized = recognize([Source(location, "documents.jsonl")], None)
        with progress.storing():
            new = import_services.create_collection(slug=slug, name=loaded.name.removesuffix(".zip")[:200])
            record(progress.job_id, new.pk, recognized)
            claim_uploads([location])


def _store(
    loaded: LoadedArchive, collection: TestCollection, slug: str, *, collection_id: int | None = None
) -> Track:
    assert loaded.protocol is not None
    by: User = loaded.created_by
    track = Track(slug=slug, name=collection.name, protocol=loaded.protocol, collection_id=collection_id)
    track_services.create(track=track, by=by)
    data = b"".join(json_lines(map(_row, collection.topics)))
    topic_services.import_topics(track=track, data=data, name="topics.jsonl")
    for split, columns in collection.qrels.items():
        qrels_services.import_file(
            track=track, columns=columns, file_name=f"qrels/{split}", by=by, name=split
        )
    return track


def _row(topic: Topic) -> dict[str, str]:
    fields = {
        "code": topic.code,
        "title": topic.title,
        "text": topic.text,
        "narrative": escape(topic.narrative),
    }
    return {name: value for name, value in fields.items() if value}
