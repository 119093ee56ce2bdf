"""A pair on the judging page: its two documents side by side, and the choices about left and right."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from django.utils.translation import gettext_noop

from assay.html.sanitize import plain
from assay.protocols.pair_rules import on_sides
from assay.protocols.schema import JudgingRules
from assessment.judging.layouts.documents import SAMPLE_TEXT, SAMPLE_TITLE, Layout, thread_of
from assessment.judgments.answers import in_language
from assessment.judgments.pairs import sides_of
from assessment.models import Task
from corpus.models import Collection as Documents
from corpus.models import Document
from corpus.threads.selectors import RenderedText, render_document


class UnitSide(NamedTuple):
    """A document of a pair as a program gets it."""

    docno: str
    title: str
    text: str


class PairSide(Protocol):
    """One of the two sides, as a program gets it and as the template of the texts shows it."""

    def as_unit(self, *, is_html: bool) -> UnitSide: ...


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


@dataclass(frozen=True, kw_only=True)
class Pair(Layout):
    """Two documents, the left one first. What is stored of a choice depends on their sides."""

    template = "assessment/judging/pair.html"

    sides: Sequence[PairSide]

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> Layout:
        """One query, and those of links."""
        docnos = sides_of(task)
        if docnos is None:
            return Layout.of(task, rules)
        return cls._of_sides(task, rules, docnos, cls.documents(task, docnos))

    @classmethod
    def sample(cls, task: Task, rules: JudgingRules) -> Layout:
        kind = Document.Kind.DOCUMENT  # which is in no thread
        document = Document(collection=Documents(), kind=kind, title=SAMPLE_TITLE, body=SAMPLE_TEXT)
        task.entry.docno, task.entry.document = "sample-1|sample-2", None
        docnos = sides_of(task) or ()
        return cls._of_sides(task, rules, docnos, dict.fromkeys(docnos, document))

    @staticmethod
    def documents(task: Task, docnos: Collection[str]) -> Mapping[str, Document]:
        """The documents of the sides by docno, as far as their texts are known."""
        collection = task.batch.pool.track.collection
        rows = Document.objects.filter(collection=collection, docno__in=docnos).select_related("collection")
        return {} if collection is None else {document.docno: document for document in rows}

    @classmethod
    def _of_sides(
        cls, task: Task, rules: JudgingRules, docnos: Sequence[str], documents: Mapping[str, Document]
    ) -> "Pair":
        sides = [
            Side(
                name,
                docno,
                render_document(documents[docno]) if docno in documents else None,
                thread_of(documents.get(docno)) if rules.in_context else "",
            )
            for name, docno in zip((gettext_noop("Left"), gettext_noop("Right")), docnos, strict=True)
        ]
        return cls(task=task, rules=on_sides(rules, *docnos), sides=sides)

    @property
    def legend(self) -> str:
        about = self.rules.about_pairs
        return in_language(about.question) if about else super().legend

    @property
    def texts(self) -> Sequence[object]:
        return self.sides

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        return super().as_unit(is_html=is_html) | {
            "pair": [side.as_unit(is_html=is_html) for side in self.sides]
        }
