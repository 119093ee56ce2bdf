"""The entries of a pool, with their members and the runs that contributed them.

For organizers only: assessors never see which run retrieved a document. The number of queries does not depend on the
number of entries.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, Min, QuerySet

from assay.answers import NuggetUnit, unit_of
from assay.html import highlight, sanitize
from corpus.models import Collection, Document, Formula
from corpus.threads.selectors import RenderedText, address, addresses
from pooling.models import Contribution, MemberContribution, Nugget, Pool, PoolEntry, PoolMember
from tracks.models import Topic, Track, natural_order
from tracks.topics.selectors import render_topic

PAGE = 20
MEMBERS_PAGE = 50
SNIPPET = 240  # characters


class ContributingRun(NamedTuple):
    """A run that contributed an entry or a member, with its rank there."""

    run_id: int
    tag: str
    team: str
    rank: int


class ShownMember(NamedTuple):
    """A member. `excerpt` is the paragraph that contains it; empty if the post is not loaded."""

    docno: str
    position: int
    post: str
    address: str
    latex: str
    excerpt: str
    runs: list[ContributingRun]


class ShownEntry(NamedTuple):
    """A unit with the members that assessors see and the runs that contributed it. `address` is the URL of its post."""

    entry: PoolEntry
    latex: str
    snippet: str
    address: str
    members: list[ShownMember]
    n_members: int
    runs: list[ContributingRun]


def entries_of(pool: Pool) -> QuerySet[PoolEntry]:
    """The entries of a pool, each with its topic and document."""
    return PoolEntry.objects.filter(pool=pool).select_related("topic", "document")


@dataclass(frozen=True)
class TopicPage:
    """A page of a topic's entries in the order of judging. `before` and `after` are the codes of the next topics."""

    pool: Pool
    track: Track
    topic: Topic
    rendered_topic: RenderedText
    rows: Page[PoolEntry]
    entries: list[ShownEntry]
    before: str
    after: str


def topic_page(pool: Pool, topic: Topic, number: str | None) -> TopicPage:
    """`number` is that of the page, as text."""
    rows = Paginator(entries_of(pool).filter(topic=topic).order_by("position"), PAGE).get_page(number)
    pooled = Topic.objects.filter(pk__in=pool.entries.order_by().values("topic").distinct())
    codes = list(pooled.values_list("code", flat=True))
    at = codes.index(topic.code) if topic.code in codes else -1
    collections = list(filter(None, (pool.track.collection, pool.track.topic_collection)))
    return TopicPage(
        pool=pool,
        track=pool.track,
        topic=topic,
        rendered_topic=render_topic(topic, collections, has_rules=pool.protocol.parsed.cites_posts),
        rows=rows,
        entries=shown_entries(pool, list(rows)),
        before=codes[at - 1] if at > 0 else "",
        after=codes[at + 1] if 0 <= at < len(codes) - 1 else "",
    )


def shown_entries(pool: Pool, entries: Sequence[PoolEntry]) -> list[ShownEntry]:
    """Entries with all that organizers see, in six queries."""
    ids = [entry.pk for entry in entries]
    runs = contributing_runs(Contribution.objects.filter(entry__in=ids), "entry_id")
    # A citation that is judged is the only shown member of its own unit.
    with_members = [entry.pk for entry in entries if not entry.passage]
    shown = PoolMember.objects.filter(entry__in=with_members, position__gt=0).select_related("document")
    members: defaultdict[int, list[PoolMember]] = defaultdict(list)
    for member in shown.order_by("position"):
        members[member.entry_id].append(member)
    counts = PoolMember.objects.filter(entry__in=ids).order_by().values_list("entry")
    n_members = dict(counts.annotate(n=Count("pk")))
    every = [member for some in members.values() for member in some]
    seen = {member.docno: member for member in shown_members(pool, every)}
    units = [entry.docno for entry in entries if not members[entry.pk]]
    latex = latex_of(pool.track.collection, units)
    texts = _texts_of_pairs(pool, entries)
    return [
        ShownEntry(
            entry=entry,
            latex=latex.get(entry.docno)
            or next((seen[member.docno].latex for member in members[entry.pk]), ""),
            snippet=entry.passage
            or texts.get(entry.docno)
            or (sanitize.beginning(sanitize.plain(entry.document.body), SNIPPET) if entry.document else ""),
            address=_address(pool.track.collection, entry.document),
            members=[seen[member.docno] for member in members[entry.pk]],
            n_members=n_members.get(entry.pk, 0),
            runs=runs[entry.pk],
        )
        for entry in entries
    ]


def _texts_of_pairs(pool: Pool, entries: Sequence[PoolEntry]) -> dict[str, str]:
    """The beginnings of the documents of pairs, by the docno of the pair; none if no pairs are judged. One query."""
    unit = pool.protocol.parsed.judged
    if not unit.has_votes:
        return {}
    pairs = {entry.docno: unit.documents(entry.docno) for entry in entries}
    documents = Document.objects.filter(
        collection=pool.track.collection, docno__in={docno for pair in pairs.values() for docno in pair}
    )
    texts = {
        docno: sanitize.beginning(
            " ".join(filter(None, (sanitize.plain(title), sanitize.plain(body)))), SNIPPET // 2
        )
        for docno, title, body in documents.values_list("docno", "title", "body")
    }
    return {
        name: " · ".join(f"{docno}: {texts[docno]}" for docno in pair if docno in texts)
        for name, pair in pairs.items()
    }


def shown_members(pool: Pool, members: Sequence[PoolMember]) -> list[ShownMember]:
    """Members with the runs that contributed each, in two queries."""
    contributions = MemberContribution.objects.filter(member__in=[member.pk for member in members])
    runs = contributing_runs(contributions, "member_id")
    latex = latex_of(pool.track.collection, [member.docno for member in members])
    return [
        ShownMember(
            docno=member.docno,
            position=member.position,
            post=member.post,
            address=_address(pool.track.collection, member.document),
            latex=latex.get(member.docno, ""),
            excerpt=excerpt(member.document, member.docno),
            runs=runs[member.pk],
        )
        for member in members
    ]


def excerpt(document: Document | None, formula: str) -> str:
    """The paragraph of a post that contains a formula, or the title, as stored HTML for the filter `as_body`."""
    if document is None:
        return ""
    return highlight.around(document.body, formula) or highlight.around(document.title, formula)


def latex_of(collection: Collection | None, formulas: Iterable[str]) -> dict[str, str]:
    """The known LaTeX of some formulas of a collection. One query."""
    if collection is None:
        return {}
    known = Formula.objects.filter(collection=collection, code__in=set(formulas)).exclude(latex="")
    return dict(known.values_list("code", "latex"))


class ShownDocument(NamedTuple):
    """A document or formula on a page: the URL of its post and its LaTeX, each empty if it is not known.

    `words` name a nugget or a citation in a generated answer.
    """

    docno: str
    address: str = ""
    latex: str = ""
    words: str = ""


def shown_documents(collection: Collection | None, docnos: Iterable[str]) -> dict[str, ShownDocument]:
    """Documents and formulas of a collection by docno. Two queries."""
    docnos = set(docnos)
    # Nuggets and citations by what names them, which says nothing about the answers
    units = {docno: unit for docno in docnos if (unit := unit_of(docno))}
    keys = {unit.nugget for unit in units.values() if isinstance(unit, NuggetUnit)}
    texts = dict(Nugget.objects.filter(key__in=keys).values_list("key", "text")) if keys else {}
    shown = {docno: ShownDocument(docno) for docno in docnos} | {
        docno: ShownDocument(
            docno,
            words=f"Nugget “{texts.get(unit.nugget, unit.nugget)}”"
            if isinstance(unit, NuggetUnit)
            else f"Citation of {unit.docno}",
        )
        for docno, unit in units.items()
    }
    if collection is None:
        return shown
    shown |= {docno: ShownDocument(docno, url) for docno, url in addresses(collection, docnos).items()}
    formulas = Formula.objects.filter(collection=collection, code__in=docnos)
    for code, thread, post, latex in formulas.values_list("code", "thread", "post", "latex"):
        shown[code] = ShownDocument(code, address(collection, thread, post), latex)
    return shown


def contributing_runs(contributions: QuerySet[Any], key: str) -> defaultdict[Any, list[ContributingRun]]:
    """The runs of contributions by a column of theirs, such as `entry_id`; the best rank first. One query."""
    rows = contributions.order_by("rank", "run__team__name", "run__tag")
    runs: defaultdict[Any, list[ContributingRun]] = defaultdict(list)
    for pk, *fields in rows.values_list(key, "run", "run__tag", "run__team__name", "rank"):
        runs[pk].append(ContributingRun(*fields))
    return runs


def _address(collection: Collection | None, document: Document | None) -> str:
    if collection is None or document is None:
        return ""
    return address(collection, document.thread, document.docno)


class HiddenMember(NamedTuple):
    """A member that assessors do not see; `member` has the number of its runs and its best rank."""

    member: PoolMember
    latex: str
    address: str


@dataclass(frozen=True)
class EntryPage:
    """One entry with all its members: `item` has those that assessors see, `others` a page of the rest."""

    pool: Pool
    track: Track
    item: ShownEntry
    n_shown: int
    rows: Page[Any]
    others: list[HiddenMember]


def entry_page(entry: PoolEntry, pool: Pool, number: str | None) -> EntryPage:
    """Hidden members come by number of runs, most first."""
    members = entry.members.select_related("document").annotate(
        n_runs=Count("contributions"), best=Min("contributions__rank")
    )
    hidden = members.filter(position=0).order_by("-n_runs", "best", natural_order("docno"), "docno")
    rows = Paginator(hidden, MEMBERS_PAGE).get_page(number)
    [item] = shown_entries(pool, [entry])
    collection = pool.track.collection
    latex = latex_of(collection, [member.docno for member in rows])
    return EntryPage(
        pool=pool,
        track=pool.track,
        item=item,
        n_shown=len(item.members),
        rows=rows,
        others=[
            HiddenMember(member, latex.get(member.docno, ""), _address(collection, member.document))
            for member in rows
        ],
    )
