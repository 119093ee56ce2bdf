"""Threads and documents for programs."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import user_of
from corpus.collections.selectors import collections_for
from corpus.models import Document
from corpus.threads import selectors
from web.api.answers import answer
from web.api.filters import Filter
from web.api.views import Endpoints, get

HeadSerializer = answer(
    Document,
    "Head",
    "docno kind title score tags",
    "A thread in a list: its question, or a document that stands alone.",
    title="HTML, sanitized.",
)


SANITIZED = "HTML, sanitized."
UNKNOWN = "Empty if it is not known."
CommentSerializer = answer(
    selectors.RenderedComment,
    "Comment",
    "code text score author published_at",
    text=SANITIZED,
    author=UNKNOWN,
)
PostSerializer = answer(
    selectors.Post,
    "Post",
    "kind docno title body tags score is_accepted author reputation published_at comments=all_comments",
    kind=serializers.ChoiceField(Document.Kind.choices),
    title=SANITIZED,
    body=SANITIZED,
    author=UNKNOWN,
    reputation="Of the author, in the dump that was imported.",
)
NeighborSerializer = answer(
    selectors.Neighbor,
    "Neighbor",
    "docno title score is_outgoing",
    title=SANITIZED,
    is_outgoing="Whether the link is in this thread.",
)
ThreadSerializer = answer(selectors.Thread, "Thread", "docno question answers duplicates related")


DocumentSerializer = answer(
    Document,
    "Document",
    "docno kind thread title body tags score published_at language",
    "One document as it was imported.",
    title="HTML, sanitized.",
    body="HTML, sanitized.",
    thread=serializers.CharField(help_text="The docno of the question of its thread."),
)


class Threads(Endpoints):
    tag = "Collections"

    @get(
        "collections/<slug:slug>/threads/",
        "threads",
        HeadSerializer,
        ordering=("docno",),
        filters=[Filter("kind", values=selectors.HEADS)],
        searches=("docno", "title"),
    )
    def list_threads(self, request: Request, slug: str) -> object:
        """List the threads of a collection, in the byte order of their docnos."""
        collection = get_object_or_404(collections_for(user_of(request)), slug=slug)
        return selectors.heads(collection)

    @get("collections/<slug:slug>/threads/<path:docno>/", "thread", ThreadSerializer)
    def get_thread(self, request: Request, slug: str, docno: str) -> object:
        """Read a thread with its answers and comments.

        Name it by the docno of its question, or of any of its answers.
        """
        collection = get_object_or_404(collections_for(user_of(request)), slug=slug)
        head = selectors.thread_of(collection, docno)
        thread = selectors.thread_page(collection, docno if head is None else head)
        if thread is None:
            raise Http404
        return thread

    @get("collections/<slug:slug>/documents/<path:docno>/", "document", DocumentSerializer)
    def get_document(self, request: Request, slug: str, docno: str) -> object:
        """Read one document."""
        collection = get_object_or_404(collections_for(user_of(request)), slug=slug)
        return get_object_or_404(collection.documents, docno=docno)


urlpatterns = Threads.urls()
