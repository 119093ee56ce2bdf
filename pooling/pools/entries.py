"""The entries of a pool, browsed: each with its members where they stand, and which runs brought what at which rank.

For organizers alone: assessors never see who found what. The number of queries does not depend on what a page holds.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Count, Min, QuerySet

from assay.html import highlight, sanitize
from corpus.models import Collection, Document, Formula
from corpus.threads.selectors import address
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember
from tracks.models import Topic
from tracks.topics.selectors import render_topic

PAGE = 20
MEMBERS_PAGE = 50
SNIPPET = 240  # characters


class Brought(NamedTuple):
    """A run that brought something, and at which rank."""

    run_id: int
    tag: str
    team: str
    rank: int


class ShownMember(NamedTuple):
    """A member where it stands. `excerpt` is the paragraph that holds it; empty where the post is not loaded."""

    docno: str
    position: int
    post: str
    address: str
    latex: str
    excerpt: str
    runs: list[Brought]


class ShownEntry(NamedTuple):
    """A unit: what it looks like, where it can be read, what of it is shown to assessors, and which runs brought it."""

    entry: PoolEntry
    latex: str
    snippet: str
    address: str
    members: list[ShownMember]
    n_members: int
    runs: list[Brought]


def entries_of(pool: Pool) -> QuerySet[PoolEntry]:
    """The entries of a pool, each with its topic and document."""
    return PoolEntry.objects.filter(pool=pool).select_related("topic", "document")


def topic_page(pool: Pool, topic: Topic, number: str | None) -> dict[str, Any]:
    """A page of a topic's entries, in the order in which they are presented."""
    page = Paginator(entries_of(pool).filter(topic=topic).order_by("position"), PAGE).get_page(number)
    topics = list(
        Topic.objects.filter(pk__in=pool.entries.order_by().values("topic").distinct()).values_list(
            "code", flat=True
        )
    )
    at = topics.index(topic.code) if topic.code in topics else -1
    collections = [one for one in (pool.track.collection, pool.track.topic_collection) if one]
    return {
        "pool": pool,
        "track": pool.track,
        "tab": "pools",
        "topic": topic,
        "shown_topic": render_topic(topic, collections),
        "page": page,
        "entries": shown_entries(pool, list(page)),
        "before": topics[at - 1] if at > 0 else "",
        "after": topics[at + 1] if 0 <= at < len(topics) - 1 else "",
    }


def shown_entries(pool: Pool, entries: Sequence[PoolEntry]) -> list[ShownEntry]:
    """Entries as organizers look at them, in six queries."""
    ids = [entry.pk for entry in entries]
    given = _brought(Contribution.objects.filter(entry__in=ids), "entry_id")
    shown = PoolMember.objects.filter(entry__in=ids, position__gt=0).select_related("document")
    members: defaultdict[int, list[PoolMember]] = defaultdict(list)
    for member in shown.order_by("position"):
        members[member.entry_id].append(member)
    counts = PoolMember.objects.filter(entry__in=ids).order_by().values_list("entry")
    n_members = dict(counts.annotate(n=Count("pk")))
    every = [member for some in members.values() for member in some]
    seen = {one.docno: one for one in shown_members(pool, every)}
    units = [entry.docno for entry in entries if not members[entry.pk]]
    latex = latex_of(pool.track.collection, units)
    return [
        ShownEntry(
            entry=entry,
            latex=latex.get(entry.docno) or next((seen[one.docno].latex for one in members[entry.pk]), ""),
            snippet=_snippet(entry.document),
            address=_address(pool.track.collection, entry.document),
            members=[seen[one.docno] for one in members[entry.pk]],
            n_members=n_members.get(entry.pk, 0),
            runs=given[entry.pk],
        )
        for entry in entries
    ]


def shown_members(pool: Pool, members: Sequence[PoolMember]) -> list[ShownMember]:
    """Members where they stand, with the runs that brought each, in two queries."""
    given = _brought(MemberContribution.objects.filter(member__in=[one.pk for one in members]), "member_id")
    latex = latex_of(pool.track.collection, [one.docno for one in members])
    return [
        ShownMember(
            docno=one.docno,
            position=one.position,
            post=one.post,
            address=_address(pool.track.collection, one.document),
            latex=latex.get(one.docno, ""),
            excerpt=excerpt(one.document, one.docno),
            runs=given[one.pk],
        )
        for one in members
    ]


def excerpt(document: Document | None, formula: str) -> str:
    """The paragraph of a post, or its title, in which a formula stands, as stored HTML for the filter `as_body`."""
    if document is None:
        return ""
    return highlight.around(document.body, formula) or highlight.around(document.title, formula)


def latex_of(collection: Collection | None, formulas: Iterable[str]) -> dict[str, str]:
    """LaTeX of some formulas of a collection, where it is known. One query."""
    if collection is None:
        return {}
    found = Formula.objects.filter(collection=collection, code__in=set(formulas)).exclude(latex="")
    return dict(found.values_list("code", "latex"))


def _brought(given: QuerySet[Any], key: str) -> defaultdict[int, list[Brought]]:
    rows = given.order_by("rank", "run__team__name", "run__tag")
    found: defaultdict[int, list[Brought]] = defaultdict(list)
    for pk, *brought in rows.values_list(key, "run", "run__tag", "run__team__name", "rank"):
        found[pk].append(Brought(*brought))
    return found


def _address(collection: Collection | None, document: Document | None) -> str:
    if collection is None or document is None:
        return ""
    return address(collection, document.thread, document.docno)


def _snippet(document: Document | None) -> str:
    return "" if document is None else sanitize.plain(document.body)[:SNIPPET]


def entry_page(entry: PoolEntry, pool: Pool, number: str | None) -> dict[str, Any]:
    """One entry with all of its members: those that are shown first, then what most runs brought."""
    members = entry.members.select_related("document").annotate(
        n_runs=Count("contributions"), best=Min("contributions__rank")
    )
    ordered = members.order_by("position", "-n_runs", "best", "docno")
    shown = list(ordered.filter(position__gt=0))
    page = Paginator(ordered.filter(position=0), MEMBERS_PAGE).get_page(number)
    [seen] = shown_entries(pool, [entry])
    latex = latex_of(pool.track.collection, [one.docno for one in page])
    return {
        "pool": pool,
        "track": pool.track,
        "tab": "pools",
        "item": seen,
        "n_shown": len(shown),
        "page": page,
        "others": [
            (one, latex.get(one.docno, ""), _address(pool.track.collection, one.document)) for one in page
        ],
    }
