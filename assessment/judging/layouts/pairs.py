"""A pair on the judging page: its two documents side by side, and the choices about left and right."""

from typing import NamedTuple

from django.utils.translation import gettext_noop

from assay.html.sanitize import plain
from assay.protocols.pair_rules import on_sides
from assay.protocols.schema import JudgingRules
from assessment.judgments.pairs import sides_of
from assessment.models import Task
from corpus.models import Document
from corpus.threads.selectors import RenderedText, address, render_document


class UnitSide(NamedTuple):
    """A document of a pair as a program gets it."""

    docno: str
    title: str
    text: str


class Side(NamedTuple):
    """A document of a pair; without `document` if the collection does not have its text."""

    name: str
    docno: str
    document: RenderedText | None
    thread: str

    def as_unit(self, *, is_html: bool) -> UnitSide:
        shown, document = (str if is_html else plain), self.document
        if document is None:
            return UnitSide(self.docno, "", "")
        return UnitSide(self.docno, shown(document.title), shown(str(document.body)))


def shown_pair(task: Task, *, in_context: bool) -> list[Side]:
    """The documents of a task, the left one first; empty if its unit is no pair. One query, and those of links."""
    sides = sides_of(task)
    if sides is None:
        return []
    collection = task.batch.pool.track.collection
    rows = Document.objects.filter(collection=collection, docno__in=sides).select_related("collection")
    documents = {document.docno: document for document in rows} if collection is not None else {}
    return [
        Side(
            name,
            docno,
            render_document(documents[docno]) if docno in documents else None,
            thread_of(documents.get(docno)) if in_context else "",
        )
        for name, docno in zip((gettext_noop("Left"), gettext_noop("Right")), sides, strict=True)
    ]


def thread_of(document: Document | None, *, formula: str = "") -> str:
    """The URL of a document's thread, at one of its formulas; empty if it is in no thread or not loaded."""
    if document is None or document.kind == Document.Kind.DOCUMENT:
        return ""
    return address(document.collection, document.thread, document.docno, formula=formula)


def as_shown(rules: JudgingRules, task: Task) -> JudgingRules:
    """The rules of a task with choices about left and right instead of first and second, from left to right.

    A key of the keyboard chooses a side. What is stored depends on the sides of the task.
    """
    sides = sides_of(task)
    return rules if sides is None else on_sides(rules, *sides)
