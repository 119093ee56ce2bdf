"""A collection as rows that the importers read: documents as JSON objects, formulas as columns of an index."""

import csv
import re
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any

from assay.formats.formulas.indexes import HEADERS
from assay.formulas.places import PLACES
from assay.html.sanitize import clean_comment
from corpus.models import Collection, Comment, Document

BATCH = 2_000
HEADS = frozenset({Document.Kind.QUESTION, Document.Kind.THREAD})
_MARKDOWN = re.compile(r"[*_`\[\\]|://")


def documents(collection: Collection) -> Iterator[dict[str, Any]]:
    """The documents with their comments, by id; one query per `BATCH` documents. Empty fields are left out."""
    rows = collection.documents.order_by("pk").iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        comments = _comments(batch)
        for document in batch:
            yield _filled(_document(document) | {"comments": comments.get(document.pk, [])})


def _document(document: Document) -> dict[str, Any]:
    is_head = document.kind in HEADS
    return {
        "docno": document.docno,
        "kind": document.kind,
        "thread": "" if is_head else document.thread,
        "title": document.title,
        "body": "" if document.source else document.body,
        "tags": document.tags,
        "score": document.score,
        "accepted": document.accepted,
        "author": document.author_name,
        "published": _moment(document.published_at),
        "language": document.language,
        "source": document.source,
    }


def _comments(batch: list[Document]) -> dict[int, list[dict[str, Any]]]:
    by_document: dict[int, list[dict[str, Any]]] = {}
    for comment in Comment.objects.filter(document__in=[document.pk for document in batch]).order_by("pk"):
        fields = {
            "id": comment.code,
            "text": _comment_text(comment.text),
            "score": comment.score,
            "author": comment.author_name,
            "published": _moment(comment.published_at),
        }
        by_document.setdefault(comment.document_id, []).append(_filled(fields))
    return by_document


def _comment_text(text: str) -> str:
    """Text that is read as HTML: without a tag, its stars and underscores would be read as Markdown."""
    if _MARKDOWN.search(text) and clean_comment(text) != text:
        return f"<p>{text}</p>"
    return text


def _moment(moment: Any) -> str:
    return moment.isoformat() if moment else ""


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def formulas(collection: Collection) -> Iterator[str]:
    """The formulas in LaTeX, by id, as lines of a formula index of version 2, with its header."""
    yield "\t".join(HEADERS[2])
    columns = ("code", "post", "thread", "place", "visual", "latex")
    rows = collection.formulas.exclude(latex="").order_by("pk").values_list(*columns)
    for code, post, thread, place, visual, latex in rows.iterator(chunk_size=BATCH):
        yield _line((code, post, thread, PLACES[place], visual, " ".join(latex.split())))


def _line(cells: tuple[str, ...]) -> str:
    line = StringIO()
    csv.writer(line, delimiter="\t", lineterminator="").writerow(cells)
    return line.getvalue()
