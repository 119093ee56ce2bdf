"""A citation on the judging page: its text, the words that it cites, and its post among the posts of its thread."""

from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import NamedTuple

from django.db.models import F
from django.utils.safestring import SafeString
from django.utils.translation import gettext_noop

from assay.html.forum import Span, passage, to_html
from assay.html.sanitize import plain
from assay.languages import any_of, html_language, is_right_to_left
from assay.measures.characters import CITATION
from assay.protocols.schema import JudgingRules
from assessment.judging.layouts.documents import Layout
from assessment.judgments.answers import in_language
from assessment.models import Task
from corpus.models import Document
from corpus.threads.selectors import address, resolve_links, safe_html
from pooling.models import PoolEntry

AROUND = 5  # posts before the cited one, and after it
_FIELDS = (
    "collection",
    "docno",
    "thread",
    "kind",
    "title",
    "body",
    "author_name",
    "published_at",
    "language",
)


class ContextPost(NamedTuple):
    """A post of the thread of a citation. In HTML, the cited one has its span marked."""

    docno: str
    author: str
    published_at: datetime | None
    body: str
    is_cited: bool


class UnitCitation(NamedTuple):
    """A citation as a program gets it."""

    words: str
    language: str
    thread_title: str
    posts: list[ContextPost]
    is_outside: bool


class ShownCitation(NamedTuple):
    """A citation. `text` is that of the system, in English; `original` the cited words, if they are others.

    `thread` is the URL of the whole thread at the post. `has_earlier` and `has_later`: it has posts that are not among
    `posts`. `is_outside`: the span is not inside the post.
    """

    text: str
    original: str
    language: str
    headline: SafeString
    posts: list[ContextPost]
    has_earlier: bool
    has_later: bool
    thread: str
    is_outside: bool

    @property
    def is_right_to_left(self) -> bool:
        return is_right_to_left(self.language)

    @property
    def html_language(self) -> str:
        return html_language(self.language)

    @property
    def language_name(self) -> str:
        return in_language(any_of([self.language]))

    def as_unit(self, *, is_html: bool) -> UnitCitation:
        shown = str if is_html else plain
        return UnitCitation(
            words=escape(self.original, quote=False) if is_html else self.original,
            language=self.language,
            thread_title=shown(self.headline),
            posts=[post._replace(body=shown(post.body)) for post in self.posts],
            is_outside=self.is_outside,
        )


def span_of(docno: str) -> Span | None:
    """The span of a citation `thread:post:offset:length`; None for another docno."""
    parts = CITATION.fullmatch(docno.encode())
    return Span(int(parts[2]), int(parts[3])) if parts else None


def shown_citation(entry: PoolEntry, *, in_context: bool) -> ShownCitation | None:
    """The citation of an entry, with the posts around it or without; None if the entry is no citation.

    At most three queries: for the thread, for links and for images.
    """
    span, document = span_of(entry.docno), entry.document
    if span is None:
        return None
    source = document.source if document else ""
    is_outside = document is not None and not span.is_in(source)
    original = passage(source, span) if span.is_in(source) else ""
    shown = ShownCitation(
        text=entry.passage,
        original="" if original == entry.passage else original,
        language=document.language if document else "",
        headline=safe_html(""),
        posts=[],
        has_earlier=False,
        has_later=False,
        thread="",
        is_outside=is_outside,
    )
    return _in_thread(shown, document, span) if document and in_context else shown


def _in_thread(shown: ShownCitation, document: Document, span: Span) -> ShownCitation:
    """The citation with the posts around its own."""
    in_collection = Document.objects.filter(collection=document.collection_id).only(*_FIELDS).order_by()
    posts_of_thread = in_collection.filter(thread=document.thread, kind="post")
    # The sum keeps the planner from walking along the primary key, where a thread without further posts ends nowhere
    place = F("pk") + 0
    around = in_collection.filter(docno=document.thread).union(
        posts_of_thread.filter(pk__lt=document.pk).order_by(place.desc())[: AROUND + 1],
        posts_of_thread.filter(pk__gt=document.pk).order_by(place)[: AROUND + 1],
        all=True,
    )
    others = sorted(around, key=lambda post: post.pk)
    head = next((post for post in others if post.docno == document.thread), None)
    before = [post for post in others if post.pk < document.pk and post is not head]
    after = [post for post in others if post.pk > document.pk and post is not head]
    posts = [*before[-AROUND:], document, *after[:AROUND]]
    marked = to_html(document.source, span)
    bodies = resolve_links(
        [marked if post is document else post.body for post in posts], [document.collection]
    )
    return shown._replace(
        headline=safe_html(head.title if head else ""),
        posts=[
            ContextPost(post.docno, post.author_name, post.published_at, body, post is document)
            for post, body in zip(posts, bodies, strict=True)
        ],
        has_earlier=len(before) > AROUND,
        has_later=len(after) > AROUND,
        thread=address(document.collection, document.thread, document.docno),
    )


@dataclass(frozen=True, kw_only=True)
class Citation(Layout):
    """A citation, in its thread or alone."""

    text = "assessment/judging/_citation.html"
    topic_has_rules = True

    noun: str = gettext_noop("Citation")
    citation: ShownCitation

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> Layout:
        citation = shown_citation(task.entry, in_context=rules.in_context)
        return cls(task=task, rules=rules, citation=citation) if citation else Layout.of(task, rules)

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        return super().as_unit(is_html=is_html) | {"citation": self.citation.as_unit(is_html=is_html)}
