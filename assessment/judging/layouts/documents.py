"""The layouts of the judging page that show a document, and what all layouts have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import ClassVar, Self

from django.utils.translation import gettext, gettext_noop

from assay.html.sanitize import plain
from assay.protocols.schema import JudgingRules
from assessment.judging.keys import Keys
from assessment.judgments.answers import ShownQuestion
from assessment.models import Task
from corpus.models import Document
from corpus.threads.selectors import RenderedText, address, render_document

# The preview of a protocol shows this made-up unit
SAMPLE_TITLE = "Why does this sum converge?"
SAMPLE_TEXT = (
    "<p>A sample unit. The texts of your collection will be here.</p><p>The terms fall faster than those of a "
    "geometric series, so the sum converges by comparison. Its value follows from the known series.</p>"
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A unit on the judging page. The class is the layout of the page; this one shows a document.

    Attributes:
        template: of the page.
        text: the template of each of `texts`, as `shown`.
        scripts: of the page, besides those of all layouts.
        topic_noun: what it is judged for, in headings; `noun`: what is judged.
        topic_has_rules: whether the narrative of a topic is called Rules.
        by_member: whether the unit has members that have a choice each.
        grade_can_submit: whether the page is complete with a choice, so that a key can submit it.
        rules: those of the protocol, with the choices as the page shows them.
    """

    template: ClassVar[str] = "assessment/judging/task.html"
    text: ClassVar[str] = "assessment/judging/_document.html"
    scripts: ClassVar[Sequence[str]] = ()
    topic_noun: ClassVar[str] = gettext_noop("Topic")
    topic_has_rules: ClassVar[bool] = False
    by_member: ClassVar[bool] = False
    grade_can_submit: ClassVar[bool] = True

    task: Task
    rules: JudgingRules
    noun: str = gettext_noop("Document")
    document: RenderedText | None = None

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> "Layout":
        """The unit of a task. A unit of another kind than the layout shows is shown as a document."""
        return cls(task=task, rules=rules, document=rendered(task, rules))

    @classmethod
    def sample(cls, task: Task, rules: JudgingRules) -> "Layout":
        """A made-up unit. Its entry has a document; nothing is stored."""
        return cls.of(task, rules)

    @property
    def words(self) -> str:
        """The name of the unit for assessors: its id, if they may know it."""
        return self.task.entry.docno

    @property
    def legend(self) -> str:
        """The question about the unit."""
        return gettext("Choice")

    @property
    def thread(self) -> str:
        """The URL of the whole thread; empty if the unit is in none, or is shown alone."""
        return thread_of(self.task.entry.document) if self.rules.in_context else ""

    @property
    def texts(self) -> Sequence[object]:
        return [self]

    def with_answers(
        self, keys: Keys, entered: Mapping[str, object], questions: Sequence[ShownQuestion]
    ) -> Self:
        """The unit with the parts that contain questions. `entered` are values of the form that are not stored."""
        return self

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        """The texts for a program, by the fields of `ShownUnit`."""
        document, passage = self.task.entry.document, self.task.entry.passage
        shown = str if is_html else plain
        text = shown(document.body) if document else ""
        if passage:
            text = escape(passage, quote=False) if is_html else passage
        return {
            "document_title": shown(document.title) if document else "",
            "text": text,
            "thread_question": shown(question_of(document)) if self.rules.in_context else "",
        }


@dataclass(frozen=True, kw_only=True)
class QuestionAnswer(Layout):
    topic_noun = gettext_noop("Question")

    noun: str = gettext_noop("Answer")


def rendered(task: Task, rules: JudgingRules) -> RenderedText | None:
    """The document of a task. The parts of a text that is marked have numbers."""
    document = task.entry.document
    return None if document is None else render_document(document, is_numbered=rules.marks_text)


def question_of(document: Document | None) -> str:
    """The question that an answer belongs to, as HTML; empty for other documents. One query for an answer."""
    if document is None or document.kind != Document.Kind.ANSWER:
        return ""
    questions = Document.objects.filter(collection=document.collection_id, docno=document.thread)
    return "\n".join(text for row in questions.values_list("title", "body") for text in row)


def thread_of(document: Document | None, *, formula: str = "") -> str:
    """The URL of a document's thread, at one of its formulas; empty if it is in no thread or not loaded."""
    if document is None or document.kind == Document.Kind.DOCUMENT:
        return ""
    return address(document.collection, document.thread, document.docno, formula=formula)
