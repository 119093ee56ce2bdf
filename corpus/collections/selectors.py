"""Collections, who may read them, and their page."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.access import AnyUser
from accounts.models import User
from corpus.collections.counts import in_words
from corpus.formulas.selectors import counts_in_words
from corpus.imports.selectors import import_jobs
from corpus.models import Collection
from corpus.threads.selectors import ThreadList, threads
from jobs.models import Job

MAX_IMPORTS = 10


@dataclass(frozen=True)
class CollectionPage:
    """`missing_docno` and `missing_formula` are what the reader searched for in vain."""

    collection: Collection
    counts: list[str]
    formulas: list[str]
    imports: Iterable[Job]
    threads: ThreadList
    after: str
    missing_docno: str
    missing_formula: str


def collections_for(user: AnyUser) -> QuerySet[Collection]:
    """The collections that a user may read.

    - Organizers read all collections.
    - Others read a collection if a track that is not a draft searches it, and assessors of any track that searches it.
    - Only the assessors of a track read the collection with the threads of its topics, unless they are also members of
      one of its teams.
    - Only organizers read a collection without a track, because it may be meant for the threads of topics.
    """
    if not isinstance(user, User):
        return Collection.objects.none()
    if user.is_organizer:
        return Collection.objects.all()
    # The states are strings here because tracks are a layer above the corpus.
    is_searched = Q(topic_tracks__isnull=True) & Q(tracks__status__in=["open", "closed"])
    as_assessor = Q(topic_tracks__assessors__user=user, topic_tracks__assessors__ended_at=None) | Q(
        topic_tracks__isnull=True, tracks__assessors__user=user, tracks__assessors__ended_at=None
    )
    as_participant = Collection.objects.filter(topic_tracks__teams__members=user)
    readable = Collection.objects.filter(is_searched | as_assessor, status=Collection.Status.READY)
    return readable.exclude(pk__in=as_participant).distinct()


def all_collections() -> QuerySet[Collection]:
    """Every collection, for organizers."""
    return Collection.objects.all()


def collection_named(slug: str) -> Collection | None:
    """The collection with a slug, for commands: their user may see everything."""
    return Collection.objects.filter(slug=slug).first()


def collection_page(
    collection: Collection, user: User, *, after: str = "", missing_docno: str = "", missing_formula: str = ""
) -> CollectionPage:
    """The page of a collection, with the threads that follow the docno `after`; imports for organizers only."""
    return CollectionPage(
        collection=collection,
        counts=in_words(collection.counts),
        formulas=counts_in_words(collection),
        imports=import_jobs(collection)[:MAX_IMPORTS] if user.is_organizer else [],
        threads=threads(collection, after),
        after=after,
        missing_docno=missing_docno,
        missing_formula=missing_formula,
    )
