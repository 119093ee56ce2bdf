"""The job that imports files into a collection.

The rows of each chunk and `Import.position` are stored in one transaction, so a killed import continues after its last
committed chunk. The last transaction stores only numbers that were counted before it: while it runs, the job has no
heartbeat. Readers see a collection when its first import is complete. It stays visible during later imports,
because each row is complete at all times and assessors may be judging.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from django.db import connection

from assay.errors import BadFile
from assay.formats.documents.batch import Packed
from assay.formats.documents.dump import Chunk, Reader
from assay.formats.documents.indexes import Index, Representation
from corpus import staging
from corpus.articles import reading as articles
from corpus.articles.services import import_articles
from corpus.collections.selectors import counts_in_words, counts_of, stored_formula_counts
from corpus.conversion import converted, processes_for
from corpus.formulas.selectors import formula_counts
from corpus.formulas.storing import FormulaStore, drop_visual_index_if_empty, ensure_visual_index
from corpus.images import reading as images
from corpus.images.services import import_images
from corpus.imports.recognition import Recognized, import_refused, recognize, sources_in_folder
from corpus.locations import discard_uploads, open_file
from corpus.models import Collection, Document, Import
from jobs import services as jobs
from web.statements import analyze


def _import_failed(*, collection_id: int, **_: object) -> None:
    """Keep a collection hidden if its first import fails."""
    ensure_visual_index()
    importing = Collection.objects.filter(pk=collection_id, status=Collection.Status.IMPORTING)
    importing.update(status=Collection.Status.INCOMPLETE)


@jobs.handler(Import.JOB, failed=_import_failed, words=lambda _: "The files are imported.")
def import_files(
    progress: jobs.Progress,
    *,
    collection_id: int,
    last_ids: Mapping[str, int] | None = None,
    path: str = "",
    representation: Representation | None = None,
    ignored: Sequence[str] = (),
) -> dict[str, Any]:
    """Import the files of a job, each from the end of its last committed chunk.

    `last_ids` are the highest keys of formulas before the job. Rows with higher keys were stored by the job itself.
    `path` is a path in the import folder whose files are not recorded yet. `ignored` names other files of the upload,
    for the page of the import.
    """
    files = list(Import.objects.filter(job_id=progress.job_id).order_by("id"))
    if path and not files:
        recognized = recognize(sources_in_folder(path), representation)
        with progress.storing():
            files = record(progress.job_id, collection_id, recognized)
    total = sum(file.size for file in files)
    if Import.objects.filter(collection_id=collection_id, job_id__gt=progress.job_id).exists():
        raise import_refused("There is a newer import into this collection. Start another one instead.")
    if any(map(_has_formulas, files)):
        drop_visual_index_if_empty()
    done = 0
    for file in files:
        if not file.is_complete:
            if file.format == images.FORM:
                import_images(progress=progress, file=file, done=done, total=total)
            elif file.format == articles.FORM:
                import_articles(progress=progress, file=file, done=done, total=total, last_ids=last_ids or {})
            else:
                _import_file(progress, file, done, total, last_ids or {})
        done += file.size
    progress.update(total, total, "counting")
    return _finish(progress, collection_id)


def record(job_id: int, collection_id: int, files: Iterable[Recognized]) -> list[Import]:
    """Store the files of a job, in the order of import."""
    return [
        Import.objects.create(
            collection_id=collection_id,
            job_id=job_id,
            format=file.form,
            name=file.source.name,
            location=file.source.location,
            size=file.size,
        )
        for file in files
    ]


def _has_formulas(file: Import) -> bool:
    return Index.of(file.format) is not None or file.format == articles.FORM


class Stored(NamedTuple):
    """The rows of a chunk that were imported and skipped, in addition to those that its conversion counted."""

    counts: Mapping[str, int]
    skipped: Mapping[str, int]
    lines: Mapping[str, Sequence[int]] = {}


Store = Callable[[staging.Cursor, Chunk, Packed], Stored]


def _import_file(
    progress: jobs.Progress, file: Import, done: int, total: int, last_ids: Mapping[str, int]
) -> None:
    with open_file(file.location, file.name) as (content, raw):
        file.check_size(raw.seek(0, 2))
        raw.seek(0)
        reader = Reader(content, file.name, position=file.position)
        workers = processes_for(file.size)
        store = _store_of(file, last_ids)
        for chunk, batch in converted(reader, form=file.format, name=file.name, n_processes=workers):
            _store(progress, file, chunk, batch, store)
            n_read = done + min(raw.tell(), file.size)  # prose: allow a method of files
            contents = ", ".join(counts_in_words(file.counts)) or "nothing yet"
            progress.update(n_read, total, f"bytes read; {file.name}: {contents}")
        if file.skipped and not file.counts and file.skipped_lines:
            reason, (line, *_) = min(file.skipped_lines.items(), key=lambda item: item[1])
            raise BadFile(f"{file.name}, line {line:,}: {reason}. No row can be imported.")
        with progress.storing():
            file.sha256, file.is_complete = reader.sha256, True
            file.save(update_fields=["sha256", "is_complete"])


def _store_of(file: Import, last_ids: Mapping[str, int]) -> Store:
    """The function that stores the chunks of a file in its collection."""
    collection_id = file.collection_id
    index = Index.of(file.format)
    if index is not None:
        formulas = FormulaStore(collection_id, index, last_ids.get(index.representation, 0))

        def store_formulas(cursor: staging.Cursor, chunk: Chunk, batch: Packed) -> Stored:
            skipped, lines = formulas.store(cursor, chunk, batch)
            return Stored({"formulas": -sum(skipped.values())}, skipped, lines)

        return store_formulas
    is_new = file.collection is not None and file.collection.status == Collection.Status.IMPORTING

    target = staging.Target(collection_id, file.job_id or 0)

    def store_rows(cursor: staging.Cursor, chunk: Chunk, batch: Packed) -> Stored:
        return Stored(*staging.store(cursor, batch.tables, target, is_new=is_new))

    return store_rows


def _store(progress: jobs.Progress, file: Import, chunk: Chunk, batch: Packed, store: Store) -> None:
    """Store the rows of a chunk and the position after it, in one transaction."""
    with progress.storing(is_part=True):
        stored = store(cast("staging.Cursor", connection.cursor()), chunk, batch)
        first: dict[str, list[int | str]] = {}
        for lines in (batch.lines, stored.lines):
            for reason, offsets in lines.items():
                first.setdefault(reason, []).extend(chunk.line + offset for offset in offsets)
        counts = Counter(batch.counts) + Counter(stored.counts)
        skipped = Counter(batch.skipped) + Counter(stored.skipped)
        file.add(counts=counts, skipped=skipped, first=first, position=chunk.end)


def _finish(progress: jobs.Progress, collection_id: int) -> dict[str, Any]:
    """Count, store the counts, and let readers see the collection. Only the storing is a transaction."""
    files = list(Import.objects.filter(job_id=progress.job_id))
    has_votes = any(file.format == "votes" for file in files)
    counts, n_orphans = _count(progress, files, collection_id, has_votes=has_votes)
    with progress.storing():
        collection = Collection.objects.select_for_update().get(pk=collection_id)
        collection.counts = counts
        if has_votes:
            collection.votes_counted_by = progress.job_id
        is_filled = counts.get("formulas") or any(counts.get(f"{kind}s") for kind in Document.Kind.values)
        collection.status = Collection.Status.READY if is_filled else Collection.Status.EMPTY
        collection.save(update_fields=["counts", "status", "votes_counted_by"])
        discard_uploads(file.location for file in files)
    if has_votes:
        # The votes that earlier imports counted are deleted in short transactions.
        earlier = Import.objects.filter(
            collection_id=collection_id, format="votes", job_id__lt=progress.job_id
        )
        after: int | None = 0 if earlier.exists() else None
        while after is not None:
            with progress.storing():
                target = staging.Target(collection_id, progress.job_id)
                after = staging.delete_other_votes(
                    cast("staging.Cursor", connection.cursor()), target, after=after
                )
    skipped: Counter[str] = sum((Counter(file.skipped) for file in files), Counter())
    return {"counts": counts, "skipped": dict(skipped), "answers_without_question": n_orphans}


def _count(
    progress: jobs.Progress, files: Sequence[Import], collection_id: int, *, has_votes: bool
) -> tuple[dict[str, int], int]:
    """The counts of the rows of a collection, and its number of answers without a question.

    They take a minute for 10 million rows, so they are counted outside a transaction.
    """
    collection = Collection.objects.get(pk=collection_id)
    if has_votes:
        collection.votes_counted_by = progress.job_id
    formulas = stored_formula_counts(collection)
    if any(map(_has_formulas, files)):
        ensure_visual_index()
        analyze("corpus_formula", "corpus_formulamathml")
        formulas = formula_counts(collection)
    n_orphans = 0
    if not all(Index.of(file.format) for file in files):
        n_orphans = staging.orphaned_answers(cast("staging.Cursor", connection.cursor()), collection_id)
    return counts_of(collection) | formulas, n_orphans
