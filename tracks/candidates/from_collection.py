"""Candidates from a collection that was imported: its questions that are not in the collection that runs search.

They are written as the lines of a file of candidates, so that they are read, kept and drawn like those of a build.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.db.models import Count, Q, QuerySet

from accounts.models import User
from corpus.collections.selectors import collections_for
from corpus.models import Author, Collection, Document, DocumentLink
from tracks.models import Track

BATCH = 1_000


def collections_with_questions(track: Track, user: User) -> QuerySet[Collection]:
    """The collections that a user may read whose questions may become topics: all but the one that runs search."""
    readable = collections_for(user).order_by().values("pk")
    ready = Collection.objects.filter(status=Collection.Status.READY, pk__in=readable)
    if track.collection_id is not None:
        ready = ready.exclude(pk=track.collection_id)
    with_questions = Document.objects.filter(kind=Document.Kind.QUESTION).values("collection")
    return ready.filter(pk__in=with_questions).order_by("name")


def questions_of(track: Track, collection: Collection) -> QuerySet[Document]:
    """The questions of a collection that are not in the one that runs search, the oldest first."""
    questions = collection.documents.filter(kind=Document.Kind.QUESTION)
    if track.collection_id is not None:
        searched = Document.objects.filter(collection=track.collection_id).values("docno")
        questions = questions.exclude(docno__in=searched)
    return questions.order_by("published_at", "pk")


def lines(track: Track, collection: Collection) -> Iterator[str]:
    """The candidates as lines of JSON. Five queries per `BATCH` questions.

    Their duplicates and related posts are those of the imported links that are in the collection that runs search.
    """
    rows = questions_of(track, collection).iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        answers_in_batch = collection.documents.filter(
            kind=Document.Kind.ANSWER, thread__in=[question.docno for question in batch]
        )
        counts = answers_in_batch.order_by().values("thread").annotate(n=Count("pk"))
        answers = dict(counts.values_list("thread", "n"))
        reputation = dict(
            Author.objects.filter(
                collection=collection, code__in={question.author_code for question in batch}
            ).values_list("code", "reputation")
        )
        links = _links(track, batch)
        for question in batch:
            if question.title.strip() or question.body.strip():
                values: dict[str, Any] = {
                    "id": question.docno,
                    "date": question.published_at.isoformat() if question.published_at else "",
                    "title": question.title,
                    "body": question.body,
                    "tags": question.tags,
                    "score": question.score,
                    "answers": answers.get(question.docno, 0),
                    "reputation": reputation.get(question.author_code),
                    **links.get(question.pk, {}),
                }
                filled = {name: value for name, value in values.items() if value not in (None, "")}
                yield f"{json.dumps(filled, ensure_ascii=False)}\n"


def _links(track: Track, batch: Sequence[Document]) -> dict[int, dict[str, list[str]]]:
    """The linked posts of each question, by its key, in either direction and in the order of their length and docno."""
    keys = {question.pk for question in batch}
    rows = DocumentLink.objects.filter(Q(source__in=keys) | Q(target__in=keys))
    columns = ("kind", "source", "source__docno", "target", "target__docno")
    ends = [
        (kind, key, docno)
        for kind, source, source_docno, target, target_docno in rows.values_list(*columns)
        for key, docno in ((source, target_docno), (target, source_docno))
        if key in keys
    ]
    searched = Document.objects.filter(
        collection=track.collection_id, docno__in={docno for *_, docno in ends}
    ).values_list("docno", flat=True)
    known, links = set(searched), dict[int, dict[str, list[str]]]()
    names = {DocumentLink.Kind.DUPLICATE: "duplicates", DocumentLink.Kind.RELATED: "related"}
    for kind, key, docno in sorted(ends, key=lambda end: (end[0], len(end[2]), end[2])):
        linked = links.setdefault(key, {"duplicates": [], "related": []})
        if docno in known and docno not in (*linked["duplicates"], *linked["related"]):
            linked[names[DocumentLink.Kind(kind)]].append(docno)
    return links
