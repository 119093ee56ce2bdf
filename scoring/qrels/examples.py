"""Judged examples of earlier tracks, with which the assessors of a track train."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet
from django.db.models.functions import MD5

from accounts.models import User
from assay.protocols.schema import Grade
from corpus.collections.selectors import collections_for
from corpus.models import Collection, Document, Formula
from corpus.threads.selectors import RenderedText, address, render_document
from scoring.models import Qrels, QrelsEntry
from tracks.models import Topic, Track
from tracks.topics.selectors import render_topic

MOST = 5  # examples of a grade


class Example(NamedTuple):
    """A judged unit. What is not known of it is empty; `address` is that of its post, if the reader may read it."""

    docno: str
    latex: str
    address: str
    text: RenderedText | None


class GradeExamples(NamedTuple):
    """A grade with its definition, and some of its units."""

    grade: Grade
    n_units: int
    examples: list[Example]


@dataclass(frozen=True)
class MaterialPage:
    """The topics of earlier tracks by version of qrels; of the chosen topic, examples of each grade, highest first."""

    track: Track
    versions: list[tuple[Qrels, list[str]]]
    chosen: Qrels | None
    topic: Topic | None
    rendered: RenderedText | None
    grades: list[GradeExamples]
    is_organizer: bool


def material_page(user: User, track: Track, qrels_id: str, code: str) -> MaterialPage:
    """The page of a track; the topic is one of a version that its assessors train with, or none."""
    versions = list(track.training_qrels.select_related("track__protocol", "track__collection", "protocol"))
    chosen = next((version for version in versions if str(version.pk) == qrels_id), None)
    topic = None if chosen is None else chosen.track.topics.filter(code=code).first()
    rendered, grades = None, []
    if chosen is not None and topic is not None:
        readable = [
            collection for collection in collections_for(user) if collection.pk == chosen.track.collection_id
        ]
        rendered = render_topic(topic, readable, has_rules=chosen.protocol.parsed.cites_posts)
        grades = list(_grades(chosen, topic, readable))
    codes = []
    for version in versions:
        judged = QrelsEntry.objects.filter(qrels=version).order_by().values("topic")
        codes.append(
            (version, list(version.track.topics.filter(code__in=judged).values_list("code", flat=True)))
        )
    return MaterialPage(track, codes, chosen, topic, rendered, grades, user.oversees(track.pk))


def _grades(qrels: Qrels, topic: Topic, readable: Sequence[Collection]) -> Iterator[GradeExamples]:
    entries = QrelsEntry.objects.filter(qrels=qrels, topic=topic.code)
    for grade in sorted(qrels.protocol.parsed.judging.grades, key=lambda level: -level.value):
        units = entries.filter(grade=grade.value)
        docnos = units.order_by(MD5("docno")).values_list("docno", flat=True)[:MOST]
        yield GradeExamples(grade, units.count(), _examples(qrels.track, list(docnos), readable))


def _examples(track: Track, docnos: Sequence[str], readable: Sequence[Collection]) -> list[Example]:
    """Documents, citations by their post, and formulas by their id or visual id. Two queries, and one for each text."""
    posts = {docno: docno.rsplit(":", 2)[0] for docno in docnos if track.protocol.parsed.cites_posts}
    names = {*docnos, *posts.values()}
    documents: QuerySet[Document] = Document.objects.filter(collection__in=readable, docno__in=names)
    by_docno = {document.docno: document for document in documents.select_related("collection")}
    formulas = Formula.objects.filter(collection__in=readable, visual__in=docnos).exclude(visual="")
    formulas |= Formula.objects.filter(collection__in=readable, code__in=docnos)
    known = {
        name: formula for formula in formulas.order_by("-code") for name in (formula.code, formula.visual)
    }
    examples = []
    for docno in docnos:
        document, formula = by_docno.get(posts.get(docno, docno)), known.get(docno)
        if document is not None:
            url = address(document.collection, document.thread, document.docno)
            examples.append(Example(docno, "", url, render_document(document)))
        elif formula is not None:
            url = address(readable[0], formula.thread, formula.post)
            examples.append(Example(docno, formula.latex, url, None))
        else:
            examples.append(Example(docno, "", "", None))
    return examples
