"""Test collections from elsewhere than a folder of a form: of ir_datasets, or of single files that Assay reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.documents.reading import Document as StoredDocument
from assay.formats.documents.reading import document_files, map_documents
from assay.formats.qrels.reader import parse_qrels
from assay.formats.topics.reader import read_topics
from assay.html.sanitize import plain
from assay_extensions.exchange import qrels
from assay_extensions.exchange.content import SPLIT, Document, TestCollection, Topic

PREFIX = "ir_datasets:"


def collection_from_files(
    documents: Path, topics: Path, judged: Mapping[str, Path], name: str
) -> TestCollection:
    """A test collection of documents, topics and qrels by split, in any form that Assay reads.

    Raises:
        InputError, BadFile: A file cannot be read; the message has file and line.
    """
    read = {}
    for split, path in judged.items():
        with qrels.refusing(str(path)):
            read[split] = parse_qrels(read_file(str(path)))
    rows = [topic_of(row) for row in read_topics(read_file(str(topics)), topics.name)]
    qrels.checked(read, rows, name)
    files = document_files(documents)
    return TestCollection(name, rows, read, lambda: chain.from_iterable(map_documents(_plain, files)))


def topic_of(row: Any) -> Topic:
    """A topic with plain texts, from one with sanitized HTML: a row of a file, or of the site."""
    title = plain(row.title) or (row.latex if not row.body else "")
    return Topic(row.code, title, plain(row.body), plain(row.narrative))


def _plain(documents: Sequence[StoredDocument]) -> list[Document]:
    return [Document(document.docno, plain(document.title), plain(document.body)) for document in documents]


def collection_from_ir_datasets(name: str) -> TestCollection:
    """A data set of ir_datasets by its id, such as `vaswani`. The library fetches what this machine does not have.

    Raises:
        InputError: The library is not installed, knows no such id, or cannot get the files.
    """
    try:
        import ir_datasets  # noqa: PLC0415 -- optional, and slow to import
    except ModuleNotFoundError:
        raise InputError(f"{PREFIX}{name} needs ir_datasets: pip install ir_datasets") from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise InputError(f"ir_datasets has no data set {name!r}; `ir_datasets list` names them") from None
    if not (dataset.has_docs() and dataset.has_queries()):
        raise InputError(f"{PREFIX}{name} has no documents or no queries")
    judged = {}
    if dataset.has_qrels():
        rows = (
            (judgment.query_id, judgment.doc_id, judgment.relevance)
            for judgment in _read(name, dataset.qrels_iter)
        )
        judged = {SPLIT: qrels.from_rows(rows, name)}
    topics = [_topic(query) for query in _read(name, dataset.queries_iter)]

    def documents() -> Iterator[Document]:
        yield from map(_document, _read(name, dataset.docs_iter))

    return TestCollection(name.replace("/", "-"), topics, judged, documents)


def _read(name: str, rows: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Rows of ir_datasets. Name the data set in its errors, for which it has no class of its own.

    Missing files, those that need a password (it asks on standard input) and failed downloads are among these.
    """
    try:
        yield from rows()
    except (OSError, EOFError, RuntimeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{PREFIX}{name} cannot be read: {reason[:300]}") from error


def _topic(query: Any) -> Topic:
    title = getattr(query, "title", "") or getattr(query, "text", "") or query.default_text()
    return Topic(query.query_id, title, getattr(query, "description", ""), getattr(query, "narrative", ""))


def _document(document: Any) -> Document:
    title, body = getattr(document, "title", ""), getattr(document, "text", None)
    return Document(document.doc_id, title, body if body is not None else document.default_text())
