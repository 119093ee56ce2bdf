"""The job that brings files into a collection.

A killed import goes on where its last committed chunk ended: each chunk's rows and `Import.position` are stored in
one transaction. A collection is shown once its first import is complete. A later import leaves it in sight, for each
of its rows is whole at every moment, and judging may be going on.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from django.db import connection, transaction
from django.db.models import Count, Sum

from assay.errors import BadFile
from assay.formats.documents.batch import Packed
from assay.formats.documents.dump import Chunk, Reader
from assay.formats.formulas.chunks import FIRST_LINES
from assay.formats.formulas.indexes import Index
from corpus.formulas import indexing
from corpus.formulas.selectors import counts_kept, formula_counts
from corpus.imports.files import ImportRefused, discard, opened
from corpus.imports.load import copy
from corpus.imports.load.formula_copy import FormulaStore
from corpus.imports.load.conversion import converted, n_processes
from corpus.imports.selectors import in_words
from corpus.models import (
    Author,
    Collection,
    Comment,
    Document,
    DocumentLink,
    Import,
    Tag,
    VoteCount,
)
from jobs import services as jobs

KIND = "corpus.imports.files"


def _import_failed(*, collection_id: int, last_ids: Mapping[str, int] | None = None) -> None:
    """A first import that fails leaves its collection out of sight."""
    indexing.ensure()
    importing = Collection.objects.filter(pk=collection_id, status=Collection.Status.IMPORTING)
    importing.update(status=Collection.Status.INCOMPLETE)


@jobs.handler(KIND, failed=_import_failed)
def import_files(
    progress: jobs.Progress, *, collection_id: int, last_ids: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Import the files of a job, each from where its last committed chunk ended.

    `last_ids` are the highest keys of formulas before it; above them is what the job has brought itself.
    """
    files = list(Import.objects.filter(job_id=progress.job_id).order_by("id"))
    total = sum(file.size for file in files)
    _begin(progress, files, collection_id)
    done = 0
    for file in files:
        if not file.is_complete:
            _import_file(progress, file, done, total, last_ids or {})
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
    if any(Index.of(file.format) for file in files):
        indexing.leave_while_empty()
    votes = [file for file in files if file.format == "votes"]
    if votes and not any(file.position for file in votes):
        with progress.storing():
            copy.begin_votes(cast("copy.Cursor", connection.cursor()), collection_id)


class Stored(NamedTuple):
    """What storing a chunk brought beside what converting it has counted."""

    counts: Mapping[str, int]
    skipped: Mapping[str, int]
    lines: Mapping[str, Sequence[int]] = {}


Store = Callable[[copy.Cursor, Chunk, Packed], Stored]


def _import_file(
    progress: jobs.Progress, file: Import, done: int, total: int, last_ids: Mapping[str, int]
) -> None:
    with opened(file.location, file.name) as (content, raw):
        if raw.seek(0, 2) != file.size:
            raise BadFile(f"{file.name} has changed since its import was asked for; start another import.")
        raw.seek(0)
        reader = Reader(content, file.name, position=file.position)
        workers = n_processes(file.size)
        store = _store_of(file, last_ids)
        for chunk, batch in converted(reader, form=file.format, name=file.name, n_processes=workers):
            _store(progress, file, chunk, batch, store)
            progress.update(
                done + min(raw.tell(), file.size), total, f"bytes read; {file.name}: {_said(file.counts)}"
            )
        _refuse_unusable(file)
        with progress.storing():
            file.sha256, file.is_complete = reader.sha256, True
            file.save(update_fields=["sha256", "is_complete"])


def _store_of(file: Import, last_ids: Mapping[str, int]) -> Store:
    """How the chunks of a file get into its collection."""
    collection_id = file.collection_id
    index = Index.of(file.format)
    if index is not None:
        formulas = FormulaStore(collection_id, index, last_ids.get(index.representation, 0))

        def store_formulas(cursor: copy.Cursor, chunk: Chunk, batch: Packed) -> Stored:
            skipped, lines = formulas.store(cursor, chunk, batch)
            return Stored({"formulas": -sum(skipped.values())}, skipped, lines)

        return store_formulas
    is_new = file.collection is not None and file.collection.status == Collection.Status.IMPORTING

    def store_rows(cursor: copy.Cursor, chunk: Chunk, batch: Packed) -> Stored:
        return Stored(*copy.store(cursor, batch.tables, collection_id, is_new=is_new))

    return store_rows


def _store(progress: jobs.Progress, file: Import, chunk: Chunk, batch: Packed, store: Store) -> None:
    """A chunk's rows and the place behind it, in one transaction."""
    with progress.storing():
        stored = store(cast("copy.Cursor", connection.cursor()), chunk, batch)
        file.position = chunk.end
        file.counts = dict(Counter(file.counts) + Counter(batch.counts) + Counter(stored.counts))
        file.skipped = dict(Counter(file.skipped) + Counter(batch.skipped) + Counter(stored.skipped))
        for lines in (batch.lines, stored.lines):
            for reason, found in lines.items():
                known = file.skipped_lines.get(reason, [])
                file.skipped_lines[reason] = [*known, *(chunk.line + at for at in found)][:FIRST_LINES]
        file.save(update_fields=["position", "counts", "skipped", "skipped_lines"])


def _refuse_unusable(file: Import) -> None:
    """A file of which nothing can be taken is no file with some bad rows."""
    if file.skipped and not file.counts and file.skipped_lines:
        reason, (line, *_) = min(file.skipped_lines.items(), key=lambda item: item[1])
        n = sum(file.skipped.values())
        raise BadFile(f"{file.name}, line {line:,}: {reason}. None of its {n:,} rows can be taken.")


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(in_words(dict(counts))) or "nothing yet"


def _finish(progress: jobs.Progress, collection_id: int) -> dict[str, Any]:
    """Settle what needs all files, and let readers in."""
    files = Import.objects.filter(job_id=progress.job_id)
    indices = [Index.of(file.format) for file in files]
    formulas = _formulas_of(collection_id, is_changed=any(indices))
    with progress.storing():
        cursor = cast("copy.Cursor", connection.cursor())
        n_orphans = 0 if all(indices) else copy.settle_answers(cursor, collection_id)
        if any(file.format == "votes" for file in files):
            copy.finish_votes(cursor, collection_id)
        collection = Collection.objects.select_for_update().get(pk=collection_id)
        collection.counts = counts = counts_of(collection) | formulas
        is_filled = formulas or any(counts[f"{kind}s"] for kind in Document.Kind.values)
        collection.status = Collection.Status.READY if is_filled else Collection.Status.EMPTY
        collection.save(update_fields=["counts", "status"])
        transaction.on_commit(partial(discard, [file.location for file in files]))
        skipped: Counter[str] = sum((Counter(file.skipped) for file in files), Counter())
        return {"counts": counts, "skipped": dict(skipped), "answers_without_question": n_orphans}


def _formulas_of(collection_id: int, *, is_changed: bool) -> dict[str, int]:
    """Counts of formulas. They take long where there are many: outside of the transaction that ends the job."""
    collection = Collection.objects.get(pk=collection_id)
    if not is_changed:
        return counts_kept(collection)
    indexing.ensure()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE corpus_formula, corpus_formulamathml")
    return formula_counts(collection)


def counts_of(collection: Collection) -> dict[str, int]:
    """How many rows of each sort a collection has, but for formulas."""
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
