"""Threads as pages show them, the page of a collection, and the HTML of documents with its links resolved.

Every function makes a fixed number of queries, however long a thread is. `corpus.collections.selectors.collections_for`
decides who may read a collection.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape, unescape
from typing import NamedTuple
from urllib.parse import quote, urlencode

from django.db.models import Case, F, Q, QuerySet, When
from django.urls import reverse
from django.utils.html import format_html, strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from accounts.models import User
from assay.formats.runs.citations import CitedPost
from assay.html import images, links
from assay.html.highlight import mark
from assay.html.offsets import numbered
from assay.languages import html_language, is_right_to_left
from corpus.collections.selectors import (
    changeable_by,
    counts_in_words,
    formulas_in_words,
    has_threads,
    import_jobs,
)
from corpus.images.selectors import shown_images
from corpus.models import Author, Collection, Comment, Document, DocumentLink
from jobs.models import Job

PAGE_SIZE = 50  # threads
MAX_IMPORTS = 10  # on the page of a collection
HEADS = [Document.Kind.QUESTION.value, Document.Kind.DOCUMENT.value, Document.Kind.THREAD.value]
MAX_OPEN_COMMENTS = 5  # of a post; the others are folded


class RenderedText(NamedTuple):
    """A document or a topic as HTML for a page. Its links lead only to threads that exist."""

    title: SafeString
    body: SafeString
    narrative: SafeString
    tags: list[str]
    scenario: SafeString = SafeString("")
    criteria: SafeString = SafeString("")
    narrative_name: str = "Narrative"
    subtopics: Sequence[tuple[str, str]] = ()  # number and words

    @property
    def is_empty(self) -> bool:
        """True if nothing of it would be seen."""
        body = unescape(strip_tags(self.body)).strip()
        return not (self.title or body or "<img" in self.body or "image-placeholder" in self.body)


class RenderedComment(NamedTuple):
    """A comment on a post."""

    code: str
    text: SafeString
    score: int
    author: str
    published_at: datetime | None


class Post(NamedTuple):
    """A question, answer or other document, with its comments."""

    docno: str
    anchor: str
    kind: str
    title: SafeString
    body: SafeString
    tags: list[str]
    score: int | None
    is_accepted: bool
    author: str
    published_at: datetime | None
    comments: list[RenderedComment]
    folded: list[RenderedComment]
    language: str = ""
    reputation: int | None = None  # of the author, when the collection was made

    @property
    def is_right_to_left(self) -> bool:
        return is_right_to_left(self.language)

    @property
    def html_language(self) -> str:
        return html_language(self.language)

    @property
    def all_comments(self) -> list[RenderedComment]:
        return [*self.comments, *self.folded]

    @property
    def has_formulas(self) -> bool:
        texts = [self.title, self.body, *(comment.text for comment in self.all_comments)]
        return any("math-container" in text for text in texts)


class Neighbor(NamedTuple):
    """Another thread that is linked with a thread; `is_outgoing` if the link is in this thread."""

    docno: str
    title: str
    score: int | None
    address: str
    is_outgoing: bool


class Thread(NamedTuple):
    """A thread. `question` is None if only answers to it are in the collection.

    The question of a thread of a forum is its headline, without text, and the answers are its posts.
    """

    docno: str
    question: Post | None
    answers: list[Post]
    duplicates: list[Neighbor]
    related: list[Neighbor]

    @property
    def is_forum(self) -> bool:
        return any(post.kind == Document.Kind.POST for post in self.answers)

    @property
    def has_formulas(self) -> bool:
        posts = [self.question, *self.answers] if self.question else self.answers
        return any(post.has_formulas for post in posts)

    @property
    def heading(self) -> SafeString:
        """The title of the question as HTML, or its docno if it has none."""
        if self.question and self.question.title:
            return self.question.title
        return format_html(gettext("Thread {docno}"), docno=self.docno)


def anchor(docno: str) -> str:
    """The id of a post on the page of its thread."""
    return f"post-{docno}"


def address(collection: Collection, thread: str, docno: str, *, formula: str = "") -> str:
    """The URL of a post on the page of its thread, which opens at a formula of the post if one is given."""
    page = reverse("corpus:thread", args=[collection.slug, thread])
    if formula:
        page = f"{page}?{urlencode({'formula': formula})}"
    return page if docno == thread else f"{page}#{quote(anchor(docno))}"


def addresses(collection: Collection, docnos: Iterable[str]) -> dict[str, str]:
    """The URL of each document by docno, for those that the collection has. One query."""
    rows = collection.documents.filter(docno__in=set(docnos)).values_list("docno", "thread")
    return {docno: address(collection, thread, docno) for docno, thread in rows}


def resolve_links(texts: Sequence[str], collections: Sequence[Collection]) -> list[SafeString]:
    """Stored HTML for a page: links lead into the first of the collections that has the post, and images are shown.

    One query per collection for links, and one for images, if there are any.
    """
    targets: dict[str, str] = {}
    for collection in reversed(collections):
        wanted = links.posts(texts, collection.hosts)
        targets |= addresses(collection, wanted) if wanted else {}
    hosts = {host for collection in collections for host in collection.hosts}
    shown = shown_images(texts, collections)
    return [safe_html(images.show(links.resolve(text, targets, hosts), shown)) for text in texts]


def render_document(document: Document, *, is_numbered: bool = False) -> RenderedText:
    """A document for `corpus/threads/_post.html`. One query, and one more if its collection was not fetched.

    `is_numbered`: its elements say where they are in the plain text; see `assay.html.offsets`.
    """
    source = numbered(document.body) if is_numbered else document.body
    (body,) = resolve_links([source], [document.collection])
    return RenderedText(safe_html(document.title), body, safe_html(""), document.tags)


def safe_html(text: str) -> SafeString:
    """HTML from the database, which was sanitized before it was stored."""
    return mark_safe(text)  # noqa: S308


def thread_of(collection: Collection, docno: str) -> str | None:
    """The thread of a document; None if the collection does not have the document."""
    return collection.documents.filter(docno=docno).values_list("thread", flat=True).first()


def sources(collection_id: int, docnos: Iterable[str]) -> dict[str, CitedPost]:
    """The source and language of some posts of a forum by docno, for those that the collection has. One query."""
    posts = Document.objects.filter(collection=collection_id, docno__in=set(docnos), kind=Document.Kind.POST)
    rows = posts.values_list("docno", "source", "language")
    return {docno: CitedPost(source, language) for docno, source, language in rows}


def has_posts(collection: Collection) -> bool:
    """Return whether a collection that can be searched has posts of a forum. One query."""
    is_loaded = collection.status == Collection.Status.READY
    return is_loaded and Document.objects.filter(collection=collection, kind=Document.Kind.POST).exists()


def comment_with(document: Document, formula: str) -> str:
    """The text of the comment on a document that contains a formula; empty if there is none. One query."""
    comments = Comment.objects.filter(
        document=document, text__contains=f'data-formula-id="{escape(formula)}"'
    )
    return comments.order_by("id").values_list("text", flat=True).first() or ""


def thread_page(collection: Collection, docno: str, *, formula: str = "") -> Thread | None:
    """A thread with its answers by score, and one formula marked; None if the collection has no post of it.

    The posts of a forum are in the order of its file. At most six queries.
    """
    in_file = Case(When(kind=Document.Kind.POST, then=F("pk")))
    order = in_file, F("score").desc(nulls_last=True), "published_at", "docno"
    documents = list(collection.documents.filter(thread=docno).order_by(*order).defer("source"))
    if not documents:
        return None
    comments: dict[int, list[Comment]] = defaultdict(list)
    for comment in Comment.objects.filter(document__in=documents).order_by("published_at", "id"):
        comments[comment.document_id].append(comment)
    head = next((document for document in documents if document.docno == docno), None)
    posts = _posts(collection, documents, comments, accepted=head.accepted if head else "", formula=formula)
    duplicates, related = _neighbors(collection, documents)
    question = posts.pop(docno, None)
    return Thread(docno, question, list(posts.values()), duplicates, related)


def _posts(
    collection: Collection,
    documents: Sequence[Document],
    comments: Mapping[int, list[Comment]],
    *,
    accepted: str,
    formula: str,
) -> dict[str, Post]:
    all_comments = [comment for document in documents for comment in comments.get(document.pk, [])]
    written: list[Document | Comment] = [*documents, *all_comments]
    codes = {text.author_code for text in written if text.author_code}
    authors = Author.objects.filter(collection=collection, code__in=codes) if codes else []
    names = {author.code: author.name for author in authors}
    reputations = {author.code: author.reputation for author in authors}
    bodies = [document.body for document in documents] + [comment.text for comment in all_comments]
    if formula:
        bodies = [mark(body, formula) for body in bodies]
    html = iter(resolve_links(bodies, [collection]))
    body_of = {document.pk: next(html) for document in documents}
    text_of = {comment.pk: next(html) for comment in all_comments}
    posts = {}
    for document in documents:
        rendered = [
            RenderedComment(
                comment.code,
                text_of[comment.pk],
                comment.score,
                _author_name(comment, names),
                comment.published_at,
            )
            for comment in comments.get(document.pk, [])
        ]
        posts[document.docno] = Post(
            docno=document.docno,
            anchor=anchor(document.docno),
            kind=document.kind,
            title=safe_html(document.title),
            body=body_of[document.pk],
            tags=document.tags,
            score=document.score,
            is_accepted=document.docno == accepted,
            author=_author_name(document, names),
            published_at=document.published_at,
            comments=rendered[:MAX_OPEN_COMMENTS],
            folded=rendered[MAX_OPEN_COMMENTS:],
            language=document.language,
            reputation=reputations.get(document.author_code),
        )
    return posts


def _author_name(text: Document | Comment, names: Mapping[str, str]) -> str:
    """The name of the author, or the number if the collection has no name; empty if the author is unknown."""
    if name := names.get(text.author_code) or text.author_name:
        return name
    return f"user {text.author_code}" if text.author_code else ""


def _neighbors(
    collection: Collection, documents: Sequence[Document]
) -> tuple[list[Neighbor], list[Neighbor]]:
    """The duplicates of a thread and the related threads, linked in either direction. Each thread appears once."""
    ours = {document.pk for document in documents}
    rows = DocumentLink.objects.filter(Q(source__in=ours) | Q(target__in=ours)).order_by("pk")
    ends = [
        f"{end}__{field}" for end in ("source", "target") for field in ("docno", "thread", "title", "score")
    ]
    rows = rows.select_related("source", "target").only("kind", *ends)
    by_kind: dict[str, dict[str, Neighbor]] = {kind: {} for kind in DocumentLink.Kind.values}
    for link in rows:
        is_outgoing = link.source_id in ours
        other = link.target if is_outgoing else link.source
        if other.pk not in ours:
            url = address(collection, other.thread, other.docno)
            neighbor = Neighbor(other.docno, other.title, other.score, url, is_outgoing)
            by_kind[link.kind].setdefault(other.docno, neighbor)
    for docno in by_kind[DocumentLink.Kind.DUPLICATE]:
        by_kind[DocumentLink.Kind.RELATED].pop(docno, None)
    duplicates, related = (
        sorted(by_kind[kind].values(), key=lambda neighbor: (-(neighbor.score or 0), neighbor.docno))
        for kind in (DocumentLink.Kind.DUPLICATE, DocumentLink.Kind.RELATED)
    )
    return duplicates, related


class ThreadList(NamedTuple):
    """Some threads of a collection, in the byte order of their docnos.

    `next_after` is the docno after which the next page begins; empty on the last page.
    """

    heads: list[Document]
    next_after: str

    @property
    def has_tags(self) -> bool:
        return any(head.tags for head in self.heads)

    @property
    def has_scores(self) -> bool:
        return any(head.score is not None for head in self.heads)


def heads(collection: Collection) -> QuerySet[Document]:
    """The questions and threads of a collection, and the documents that stand alone, without their texts."""
    fields = ("collection", "docno", "thread", "title", "score", "tags", "kind")
    return collection.documents.filter(kind__in=HEADS).only(*fields)


def threads(collection: Collection, after: str) -> ThreadList:
    """The threads that follow a docno. One query, as fast on the last page as on the first."""
    rows = list(heads(collection).filter(docno__gt=after).order_by("docno")[: PAGE_SIZE + 1])
    return ThreadList(rows[:PAGE_SIZE], rows[PAGE_SIZE - 1].docno if len(rows) > PAGE_SIZE else "")


@dataclass(frozen=True)
class CollectionPage:
    """`missing_docno` and `missing_formula` are what the reader searched for and is not here."""

    collection: Collection
    counts: list[str]
    formulas: list[str]
    may_change: bool
    imports: Iterable[Job]
    has_threads: bool
    threads: ThreadList
    after: str
    missing_docno: str
    missing_formula: str


def collection_page(
    collection: Collection, user: User, *, after: str = "", missing_docno: str = "", missing_formula: str = ""
) -> CollectionPage:
    """The page of a collection, with the threads that follow the docno `after`; imports if the user may change it."""
    may_change = user.may_create and changeable_by(user).filter(pk=collection.pk).exists()
    return CollectionPage(
        collection=collection,
        counts=counts_in_words(collection.counts),
        formulas=formulas_in_words(collection),
        imports=import_jobs(collection)[:MAX_IMPORTS] if may_change else [],
        may_change=may_change,
        has_threads=has_threads(collection),
        threads=threads(collection, after),
        after=after,
        missing_docno=missing_docno,
        missing_formula=missing_formula,
    )
