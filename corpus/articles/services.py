"""Import articles: convert them in several processes, and store them with their formulas."""

from collections import Counter
from collections.abc import Mapping
from typing import cast

from django.db import connection

from assay.errors import BadFile
from assay.formats.documents import dump
from assay.formats.documents.articles import Converted
from assay.formats.documents.batch import Packed
from assay.formats.documents.indexes import Index
from assay.processes import map_fresh
from corpus import staging
from corpus.articles.reading import opened_articles
from corpus.conversion import ArticleChunk, convert_articles, processes_for
from corpus.formulas.storing import FormulaStore
from corpus.models import Collection, Import
from jobs import services as jobs
from web.pages import counted

_NOWHERE = dump.Chunk(b"", 0, 0, 0)  # of a stored formula: its line is not looked up


def import_articles(
    *, progress: jobs.Progress, file: Import, done: int, total: int, last_ids: Mapping[str, int]
) -> None:
    """Import the articles of a folder, an archive or a file. `Import.position` is the number of those that are done.

    Raises:
        BadFile: The folder or archive cannot be read, has changed since the import was requested, or has no usable
            article.
    """
    indexes = {"formula": Index("latex", 1), "formula_mathml": Index("slt", 1)}
    stores = {
        table: FormulaStore(file.collection_id, index, last_ids.get(index.representation, 0))
        for table, index in indexes.items()
    }
    with opened_articles(file.location, file.name) as articles:
        file.check_size(articles.size)
        chunks = articles.chunks(file.position)
        for chunk, converted in map_fresh(convert_articles, chunks, processes=processes_for(file.size)):
            with progress.storing(is_part=True):
                _store(file, chunk, converted, stores)
            n_read = done + min(chunk.done, file.size)
            progress.update(n_read, total, f"bytes read; {file.name}: {counted(file.position, 'article')}")
    if not file.counts:
        if not file.skipped_lines:
            raise BadFile(f"{file.name} has no article.")
        reason, (name, *_) = min(file.skipped_lines.items(), key=lambda item: str(item[1]))
        n = f"{file.position:,}"
        raise BadFile(f"{file.name}: none of its {n} articles can be imported. {name}: {reason}.")
    with progress.storing():
        file.is_complete = True
        file.save(update_fields=["is_complete"])


def _store(
    file: Import, chunk: ArticleChunk, converted: Converted, stores: Mapping[str, FormulaStore]
) -> None:
    """Store articles with their formulas, and count them."""
    cursor = cast("staging.Cursor", connection.cursor())
    tables = converted.packed.tables
    is_new = file.collection.status == Collection.Status.IMPORTING
    target = staging.Target(file.collection_id, file.job_id or 0)
    staging.store(cursor, {"document": tables.get("document", b"")}, target, is_new=is_new)
    repeated: dict[str, int] = {}
    for table, store in stores.items():
        skipped, _ = store.store(cursor, _NOWHERE, Packed({table: tables.get(table, b"")}, {}, {}))
        repeated = repeated or skipped
    counts = Counter(converted.packed.counts)
    counts.subtract({"formulas": sum(repeated.values())})
    all_skipped = Counter(converted.packed.skipped) + Counter(repeated)
    file.add(counts=counts, skipped=all_skipped, first=converted.skipped, position=chunk.end)
