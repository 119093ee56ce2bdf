"""A collection as rows that the importers read: documents as JSON objects, formulas as columns of an index."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from assay.formats.documents.indexes import HEADERS, Representation
from assay.formats.spreadsheet import tsv_line
from assay.formulas import PLACES
from assay.html.sanitize import clean_comment
from corpus.models import Collection, Comment, Document

BATCH = 2_000
HEADS = frozenset({Document.Kind.QUESTION, Document.Kind.THREAD})
_MARKDOWN = re.compile(r"[*_`\[\\]|://")


def documents(collection: Collection) -> Iterator[dict[str, Any]]:
    """The documents with their comments, by id; one query per `BATCH` documents. Empty fields are left out."""
    rows = collection.documents.order_by("pk").iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        comments: dict[int, list[dict[str, Any]]] = {}
        batch_comments = Comment.objects.filter(document__in=[document.pk for document in batch])
        for comment in batch_comments.order_by("pk"):
            # Text is read as HTML: without a tag, its stars and underscores would be read as Markdown.
            is_ambiguous = _MARKDOWN.search(comment.text) and clean_comment(comment.text) != comment.text
            row = {
                "id": comment.code,
                "text": f"<p>{comment.text}</p>" if is_ambiguous else comment.text,
                "score": comment.score,
                "author": comment.author_name,
                "published": _moment(comment.published_at),
            }
            comments.setdefault(comment.document_id, []).append(_filled(row))
        for document in batch:
            fields = {
                "docno": document.docno,
                "kind": document.kind,
                "thread": "" if document.kind in HEADS else document.thread,
                "title": document.title,
                "body": "" if document.source else document.body,
                "tags": document.tags,
                "score": document.score,
                "accepted": document.accepted,
                "author": document.author_name,
                "published": _moment(document.published_at),
                "language": document.language,
                "source": document.source,
                "comments": comments.get(document.pk, []),
            }
            yield _filled(fields)


def _moment(moment: Any) -> str:
    return moment.isoformat() if moment else ""


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def formulas(collection: Collection, representation: Representation = "latex") -> Iterator[str]:
    """The formulas in a representation, by id, as lines of a formula index of version 2, with its header.

    One query per `BATCH` formulas.
    """
    yield "\t".join((*HEADERS[2][:-1], "formula" if representation == "latex" else representation))
    latex = collection.formulas.exclude(latex="").order_by("pk").values_list("code", "latex")
    mathml = collection.mathml.filter(form=representation).order_by("pk").values_list("code", "content")
    is_latex = representation == "latex"
    rows = latex.iterator(chunk_size=BATCH) if is_latex else mathml.iterator(chunk_size=BATCH)
    while batch := dict(islice(rows, BATCH)):
        columns = ("code", "post", "thread", "place", "visual")
        known = {row[0]: row for row in collection.formulas.filter(code__in=batch).values_list(*columns)}
        for code, formula in batch.items():
            _, post, thread, place, visual = known[code]
            yield tsv_line((code, post, thread, PLACES[place], visual, " ".join(formula.split())))
