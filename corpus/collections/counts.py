"""The numbers of rows of a collection: counting them, and writing them as text."""

from collections import Counter
from collections.abc import Mapping

from django.db.models import Count, Sum

from assay.formats.documents.trec import WINDOWS_1252
from corpus.models import Author, Collection, Comment, Document, DocumentLink, Image, Tag, VoteCount

# The order in which pages list them.
NAMES = (
    "topics",
    "questions",
    "answers",
    "documents",
    "empty documents",
    "threads",
    "posts",
    "comments",
    "links",
    "users",
    "tags",
    "votes",
    "formulas",
    "images",
    WINDOWS_1252,
)
OF_FORUMS = frozenset({Document.Kind.THREAD, Document.Kind.POST})  # counted only if there are any


def counts_of(collection: Collection) -> dict[str, int]:
    """How many rows of each kind a collection has, without formulas. Seven queries."""
    documents = Document.objects.filter(collection=collection)
    kinds = Counter(dict(documents.values_list("kind").annotate(n=Count("pk"))))
    n_images = Image.objects.filter(collection=collection).count()
    return {
        **{f"{kind}s": kinds[kind] for kind in Document.Kind.values if kind not in OF_FORUMS or kinds[kind]},
        "comments": Comment.objects.filter(document__collection=collection).count(),
        "links": DocumentLink.objects.filter(source__collection=collection).count(),
        "users": Author.objects.filter(collection=collection).count(),
        "tags": Tag.objects.filter(collection=collection).count(),
        "votes": _votes(collection),
        **({"images": n_images} if n_images else {}),
    }


def _votes(collection: Collection) -> int:
    valid = VoteCount.objects.filter(document__collection=collection, counted_by=collection.votes_counted_by)
    return valid.aggregate(n=Sum("n"))["n"] or 0


def in_words(counts: Mapping[str, int]) -> list[str]:
    """The counts that are not zero, such as `3 questions`."""
    return [f"{counts[name]:,} {_noun(name, counts[name])}" for name in NAMES if counts.get(name)]


def _noun(name: str, n: int) -> str:
    return name.removesuffix("s") if n == 1 else name
