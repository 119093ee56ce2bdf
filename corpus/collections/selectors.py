"""Collections: who may read them, what they contain, and the imports into them."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from django.core.exceptions import PermissionDenied
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils.formats import number_format
from django.utils.translation import gettext

from accounts.access import AnyUser
from accounts.models import User
from assay.formats.documents.batch import REPLACED, WINDOWS_1252
from corpus.models import (
    Author,
    Collection,
    Comment,
    Document,
    DocumentLink,
    FormulaMathML,
    Image,
    Import,
    Tag,
    VoteCount,
)
from jobs.models import Job
from web.pages import countable, counted

# What a collection contains, in the order of pages, each with its noun.
COUNTED: Mapping[str, str] = MappingProxyType(
    {
        "topics": countable("topic"),
        "questions": countable("question"),
        "answers": countable("answer"),
        "documents": countable("document"),
        "empty documents": countable("empty document"),
        "threads": countable("thread"),
        "posts": countable("post"),
        "comments": countable("comment"),
        "links": countable("link"),
        "users": countable("user"),
        "tags": countable("tag"),
        "votes": countable("vote"),
        "formulas": countable("formula"),
        "images": countable("image"),
        WINDOWS_1252: f"{WINDOWS_1252},{WINDOWS_1252}",
        REPLACED: f"row with replaced characters,{REPLACED}",
    }
)
OF_FORUMS = frozenset({Document.Kind.THREAD, Document.Kind.POST})  # counted only if there are any


def collections_for(user: AnyUser) -> QuerySet[Collection]:
    """The collections that a user may read.

    - Administrators read all collections.
    - Who imported a collection reads it, and so do the organizers and chairs of a track that uses it. Organizers also
      read what an administrator or a command imported, as long as no track uses it.
    - Others read a collection if a track that is not a draft searches it, and assessors of any track that searches it.
    - Only the assessors of a track read the collection with the threads of its topics, unless they are also members of
      one of its teams.
    - Nobody else reads a collection without a track, because it may be meant for the threads of topics.
    """
    if not isinstance(user, User):
        return Collection.objects.none()
    if user.is_administrator:
        return Collection.objects.all()
    # The states are strings here because tracks are a layer above the corpus.
    is_searched = Q(topic_tracks__isnull=True) & Q(tracks__status__in=["open", "closed"])
    as_assessor = Q(topic_tracks__assessors__user=user, topic_tracks__assessors__ended_at=None) | Q(
        topic_tracks__isnull=True, tracks__assessors__user=user, tracks__assessors__ended_at=None
    )
    as_participant = Collection.objects.filter(topic_tracks__teams__members=user)
    readable = Collection.objects.filter(is_searched | as_assessor, status=Collection.Status.READY)
    readable = readable.exclude(pk__in=as_participant)
    if not user.roles:
        return readable.distinct()
    roles = [*user.roles]
    own = Q(imported_by=user) | Q(tracks__in=roles) | Q(topic_tracks__in=roles)
    if user.is_organizer:
        is_offered = Q(imported_by=None) | Q(imported_by__is_staff=True)
        own |= is_offered & Q(tracks=None, topic_tracks=None)
    return Collection.objects.filter(own | Q(pk__in=readable.order_by().values("pk"))).distinct()


def changeable_by(user: User) -> QuerySet[Collection]:
    """The collections that a user may import into, cluster and delete: administrators all, importers their own."""
    return Collection.objects.all() if user.is_administrator else Collection.objects.filter(imported_by=user)


def check_change(user: User, collection: Collection) -> None:
    """Refuse to change a collection of somebody else.

    Raises:
        PermissionDenied: The user neither imported it nor is an administrator.
    """
    if not changeable_by(user).filter(pk=collection.pk).exists():
        raise PermissionDenied(f"Only an administrator or who imported {collection.slug} may change it.")


def collection_named(slug: str) -> Collection | None:
    """The collection with a slug, for commands: their user may see everything."""
    return Collection.objects.filter(slug=slug).first()


def import_jobs(collection: Collection | None = None) -> QuerySet[Job]:
    """Imports into one collection, or into any, newest first.

    An import can have a hundred files. A join with them would repeat its job as often, to be sorted and made distinct.
    """
    files = Import.objects.filter(job=OuterRef("pk"))
    is_import = Exists(files) | Q(kind=Import.JOB)
    if collection:
        is_into = Q(kind=Import.JOB, arguments__collection_id=collection.pk)
        is_import = Exists(files.filter(collection=collection)) | is_into
    return Job.objects.filter(is_import).select_related("created_by").prefetch_related("imports")


def unfinished_import(collection: Collection) -> Job | None:
    """The import into a collection that is queued or running."""
    return import_jobs(collection).filter(state__in=Job.UNFINISHED).first()


def counts_of(collection: Collection) -> dict[str, int]:
    """The numbers of rows of each kind that a collection has, without formulas. Seven queries."""
    documents = Document.objects.filter(collection=collection)
    kinds = Counter(dict(documents.values_list("kind").annotate(n=Count("pk"))))
    n_images = Image.objects.filter(collection=collection).count()
    votes = VoteCount.objects.filter(document__collection=collection, counted_by=collection.votes_counted_by)
    return {
        **{f"{kind}s": kinds[kind] for kind in Document.Kind.values if kind not in OF_FORUMS or kinds[kind]},
        "comments": Comment.objects.filter(document__collection=collection).count(),
        "links": DocumentLink.objects.filter(source__collection=collection).count(),
        "users": Author.objects.filter(collection=collection).count(),
        "tags": Tag.objects.filter(collection=collection).count(),
        "votes": votes.aggregate(n=Sum("n"))["n"] or 0,
        **({"images": n_images} if n_images else {}),
    }


def counts_in_words(counts: Mapping[str, int]) -> list[str]:
    """The counts that are not zero, such as `3 questions`."""
    return [counted(counts[name], noun) for name, noun in COUNTED.items() if counts.get(name)]


def documents_in(collection: Collection) -> int:
    """The documents of a collection by its stored counts, of whatever kind. No query."""
    return sum(collection.counts.get(f"{kind}s", 0) for kind in Document.Kind.values)


def has_threads(collection: Collection) -> bool:
    """Return whether a collection has threads, not documents that stand alone, by its stored counts. No query."""
    kinds = set(Document.Kind) - {Document.Kind.DOCUMENT}
    return any(collection.counts.get(f"{kind}s") for kind in kinds)


def stored_formula_counts(collection: Collection) -> dict[str, int]:
    """The counts of formulas from the last import or clustering. No query."""
    return {name: n for name, n in collection.counts.items() if "formulas" in name}


def formulas_in_words(collection: Collection) -> list[str]:
    """The stored counts of formulas that are not zero, such as `3 in titles`. No query."""
    counts = stored_formula_counts(collection)
    parts = {
        "formulas in titles": gettext("{n} in titles"),
        "formulas in questions": gettext("{n} in questions"),
        "formulas in answers": gettext("{n} in answers"),
        "formulas in comments": gettext("{n} in comments"),
        **{f"formulas as {form}": gettext("{n} as {form}") for form in ("LaTeX", *FormulaMathML.Form.names)},
        "visually distinct formulas": gettext("{n} visually distinct"),
    }
    return [
        words.format(n=number_format(counts[name], force_grouping=True), form=name.rpartition(" ")[2])
        for name, words in parts.items()
        if counts.get(name)
    ]
