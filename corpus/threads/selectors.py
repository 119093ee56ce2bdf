"""Threads as they are read: posts, comments and links of one question, and the way through a collection.

Every function takes a known number of queries, however long a thread is. Who may read a collection is decided by
`corpus.selectors.collections_for`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote

from django.db.models import F, Q
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from assay.html import links
from corpus.imports import selectors as import_selectors
from corpus.models import Author, Collection, Comment, Document, DocumentLink

PAGE = 50
_FOLDED_AFTER = 5


class RenderedText(NamedTuple):
    """What a page shows of a document or a topic: its links lead to threads that exist, and nowhere else."""

    title: SafeString
    body: SafeString
    narrative: SafeString
    tags: list[str]


class ShownComment(NamedTuple):
    code: str
    text: SafeString
    score: int
    author: str
    published_at: datetime | None


class Post(NamedTuple):
    """A question, answer or other document with its comments."""

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
    comments: list[ShownComment]
    folded: list[ShownComment]


class Neighbor(NamedTuple):
    """Another thread that a thread is linked with; `is_outgoing` when it is this one that names the other."""

    docno: str
    title: str
    score: int | None
    address: str
    is_outgoing: bool


class Thread(NamedTuple):
    """A thread. `question` is None when only answers of it are in the collection."""

    docno: str
    question: Post | None
    answers: list[Post]
    duplicates: list[Neighbor]
    related: list[Neighbor]


def anchor(docno: str) -> str:
    """The id of a post on its thread's page."""
    return f"post-{docno}"


def address(collection: Collection, thread: str, docno: str) -> str:
    """The page of a thread, at one of its posts."""
    page = reverse("corpus:thread", args=[collection.slug, thread])
    return page if docno == thread else f"{page}#{quote(anchor(docno))}"


def addresses(collection: Collection, docnos: Iterable[str]) -> dict[str, str]:
    """Where each of some documents is shown; those that the collection lacks are left out. One query."""
    rows = collection.documents.filter(docno__in=set(docnos)).values_list("docno", "thread")
    return {docno: address(collection, thread, docno) for docno, thread in rows}


def resolve_links(texts: Sequence[str], collections: Sequence[Collection]) -> list[SafeString]:
    """Stored HTML as it is shown: links lead into the first of the collections that has the post. A query for each."""
    found: dict[str, str] = {}
    for collection in reversed(collections):
        wanted = links.posts(texts, collection.hosts)
        found |= addresses(collection, wanted) if wanted else {}
    hosts = {host for collection in collections for host in collection.hosts}
    return [mark_safe(links.resolve(text, found, hosts)) for text in texts]  # noqa: S308 - sanitized when stored


def render_document(document: Document) -> RenderedText:
    """A document for `corpus/_post.html`. One query, and one for its collection if that was not fetched."""
    (body,) = resolve_links([document.body], [document.collection])
    return RenderedText(safe_html(document.title), body, safe_html(""), document.tags)


def safe_html(title: str) -> SafeString:
    return mark_safe(title)  # noqa: S308 - sanitized when stored


def thread_of(collection: Collection, docno: str) -> str | None:
    """The thread in which a document stands, or None."""
    return collection.documents.filter(docno=docno).values_list("thread", flat=True).first()


def thread(collection: Collection, docno: str) -> Thread | None:
    """A whole thread, answers by score; None if the collection has nothing of it. Six queries at most."""
    order = F("score").desc(nulls_last=True), "published_at", "docno"
    documents = list(collection.documents.filter(thread=docno).order_by(*order))
    if not documents:
        return None
    comments = _comments(documents)
    head = next((document for document in documents if document.docno == docno), None)
    posts = _posts(collection, documents, comments, accepted=head.accepted if head else "")
    duplicates, related = _neighbors(collection, documents)
    question = posts.pop(docno, None)
    return Thread(docno, question, list(posts.values()), duplicates, related)


def _comments(documents: Sequence[Document]) -> dict[int, list[Comment]]:
    comments = Comment.objects.filter(document__in=documents).order_by("published_at", "id")
    by_document: dict[int, list[Comment]] = defaultdict(list)
    for comment in comments:
        by_document[comment.document_id].append(comment)
    return by_document


def _posts(
    collection: Collection,
    documents: Sequence[Document],
    comments: Mapping[int, list[Comment]],
    *,
    accepted: str,
) -> dict[str, Post]:
    everything = [comment for document in documents for comment in comments.get(document.pk, [])]
    names = _names(collection, [*documents, *everything])
    texts = resolve_links([one.body for one in documents] + [one.text for one in everything], [collection])
    bodies = dict(zip((one.pk for one in documents), texts, strict=False))
    said = dict(zip((one.pk for one in everything), texts[len(documents) :], strict=True))
    posts = {}
    for document in documents:
        remarks = [
            ShownComment(one.code, said[one.pk], one.score, _name(one, names), one.published_at)
            for one in comments.get(document.pk, [])
        ]
        posts[document.docno] = _post(
            document, bodies[document.pk], _name(document, names), remarks, document.docno == accepted
        )
    return posts


def _post(
    document: Document, body: SafeString, author: str, comments: list[ShownComment], is_accepted: bool
) -> Post:
    return Post(
        docno=document.docno,
        anchor=anchor(document.docno),
        kind=document.kind,
        title=safe_html(document.title),
        body=body,
        tags=document.tags,
        score=document.score,
        is_accepted=is_accepted or document.is_accepted,
        author=author,
        published_at=document.published_at,
        comments=comments[:_FOLDED_AFTER],
        folded=comments[_FOLDED_AFTER:],
    )


def _names(collection: Collection, written: Iterable[Document | Comment]) -> dict[str, str]:
    codes = {one.author_code for one in written if one.author_code}
    if not codes:
        return {}
    return dict(Author.objects.filter(collection=collection, code__in=codes).values_list("code", "name"))


def _name(one: Document | Comment, names: Mapping[str, str]) -> str:
    """Who wrote it; a user whom the collection does not name goes by a number."""
    if name := names.get(one.author_code) or one.author_name:
        return name
    return f"user {one.author_code}" if one.author_code else ""


def _neighbors(
    collection: Collection, documents: Sequence[Document]
) -> tuple[list[Neighbor], list[Neighbor]]:
    """Threads linked with this one, in either direction: its duplicates, then those related. Each once."""
    ours = {document.pk for document in documents}
    rows = DocumentLink.objects.filter(Q(source__in=ours) | Q(target__in=ours)).order_by("pk")
    ends = [
        f"{end}__{field}" for end in ("source", "target") for field in ("docno", "thread", "title", "score")
    ]
    rows = rows.select_related("source", "target").only("kind", *ends)
    found: dict[str, dict[str, Neighbor]] = {kind: {} for kind in DocumentLink.Kind.values}
    for link in rows:
        is_outgoing = link.source_id in ours
        other = link.target if is_outgoing else link.source
        if other.pk not in ours:
            found[link.kind].setdefault(other.docno, _neighbor(collection, other, is_outgoing))
    for docno in found[DocumentLink.Kind.DUPLICATE]:
        found[DocumentLink.Kind.RELATED].pop(docno, None)
    duplicates, related = (
        sorted(found[kind].values(), key=lambda one: (-(one.score or 0), one.docno))
        for kind in (DocumentLink.Kind.DUPLICATE, DocumentLink.Kind.RELATED)
    )
    return duplicates, related


def _neighbor(collection: Collection, other: Document, is_outgoing: bool) -> Neighbor:
    where = address(collection, other.thread, other.docno)
    return Neighbor(other.docno, other.title, other.score, where, is_outgoing)


class Page(NamedTuple):
    """Some threads of a collection by the bytes of their docnos; `after` leads to the next page, if there is one."""

    heads: list[Document]
    after: str


def threads(collection: Collection, after: str) -> Page:
    """The threads behind a docno. One query, as quick on the last page as on the first."""
    heads = collection.documents.filter(
        docno__gt=after, kind__in=[Document.Kind.QUESTION, Document.Kind.DOCUMENT]
    )
    found = list(
        heads.order_by("docno").only("docno", "thread", "title", "score", "tags", "kind")[: PAGE + 1]
    )
    return Page(found[:PAGE], found[PAGE - 1].docno if len(found) > PAGE else "")


def collection_page(collection: Collection, after: str = "") -> dict[str, object]:
    """What a collection's page shows to whoever may read it."""
    return {
        "collection": collection,
        "counts": import_selectors.in_order(collection.counts),
        "page": threads(collection, after),
        "after": after,
    }
