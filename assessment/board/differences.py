"""Documents that are the same, or nearly, and were judged differently: candidates for a second look.

Compared are the highest grades of the documents of a topic, of the current main and second judgments. Formulas are the
same if they have one visual id, as in pools. Texts are the same if title and body are; near-duplicates share most of
their word bigrams (see `assay.passages`), and are searched one topic at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Literal, NamedTuple

from django.core.paginator import Page, Paginator
from django.db import connection
from django.db.models import Q
from django.urls import reverse

from assay.html import sanitize
from assay.passages import leaders
from assay.tables import natural
from assessment.judgments.selectors import current_judgments
from assessment.models import MAIN_AND_DUAL
from corpus.threads.selectors import addresses
from pooling.pools.entries import latex_of
from tracks.assessors.selectors import names_of_assessors
from tracks.models import Topic, Track

Kind = Literal["same formula", "same text", "near-duplicates"]
GROUPS_ON_PAGE = 20
SHOWN_OF_GRADE = 5  # documents of a group that the page shows for each grade; the file has all
GROUPS_AT_ONCE = 50  # whose judgments are read together for the file
OVERLAP = 0.9  # of near-duplicates, unless the protocol has its own

_JUDGED = """
WITH judged AS (
    SELECT judgment.topic_id, judgment.docno, max(judgment.grade) AS grade
    FROM assessment_judgment judgment
    JOIN assessment_batch batch ON batch.id = judgment.batch_id AND batch.kind IN ('main', 'dual')
    JOIN pooling_pool pool ON pool.id = batch.pool_id AND pool.protocol_id = %(protocol)s
    WHERE judgment.track_id = %(track)s AND judgment.is_current AND judgment.grade IS NOT NULL
        AND (%(topics)s IS NULL OR judgment.topic_id = ANY (%(topics)s))
    GROUP BY judgment.topic_id, judgment.docno
)"""
_KEYED_BY_TEXT = """, keyed AS MATERIALIZED (
    SELECT judged.*, md5(document.title || ' ' || document.body) AS key
    FROM judged
    JOIN corpus_document document ON document.collection_id = %(collection)s AND document.docno = judged.docno
)"""
_KEYED_BY_FORMULA = """, keyed AS MATERIALIZED (
    SELECT judged.*, formula.visual AS key
    FROM judged
    JOIN corpus_formula formula
        ON formula.collection_id = %(collection)s AND formula.code = judged.docno AND formula.visual <> ''
)"""
_DIFFERENT = """
SELECT keyed.topic_id, topic.code, keyed.key
FROM keyed JOIN tracks_topic topic ON topic.id = keyed.topic_id
GROUP BY keyed.topic_id, topic.id, keyed.key
HAVING min(keyed.grade) <> max(keyed.grade)
ORDER BY topic.natural_code, min(keyed.docno)
"""
_MEMBERS = """
SELECT topic_id, key, docno, n FROM (
    SELECT keyed.*,
        count(*) OVER (PARTITION BY topic_id, key) AS n,
        row_number() OVER (PARTITION BY topic_id, key, grade ORDER BY docno) AS place
    FROM keyed
    WHERE (topic_id, key) IN (SELECT * FROM unnest(%(topics)s::bigint[], %(keys)s::text[]))
) numbered
WHERE %(most)s IS NULL OR place <= %(most)s
ORDER BY docno
"""
_TEXTS = """
SELECT topic.id, topic.code, judged.docno, judged.grade, document.title || ' ' || document.body
FROM judged
JOIN tracks_topic topic ON topic.id = judged.topic_id
JOIN corpus_document document ON document.collection_id = %(collection)s AND document.docno = judged.docno
ORDER BY topic.code, judged.docno
"""


class ShownJudgment(NamedTuple):
    """A judgment of one of the documents; `address` is the page of the document, if the collection has it."""

    docno: str
    address: str
    latex: str
    assessor: str
    label: str
    grade: int | None
    comment: str


class JudgedDifferently(NamedTuple):
    """Documents of a topic that are the same or near-duplicates, with their judgments, by docno.

    `n_more` documents are not among them.
    """

    kind: Kind
    topic: str
    votes: list[ShownJudgment]
    n_more: int = 0


class _Key(NamedTuple):
    """The text or the formula that the documents of a group share."""

    topic_id: int
    topic: str
    key: str


class _Group(NamedTuple):
    """Some of the `n` documents of a group."""

    topic_id: int
    topic: str
    docnos: list[str]
    n: int


class _Text(NamedTuple):
    topic_id: int
    topic: str
    docno: str
    grade: int
    html: str


@dataclass(frozen=True)
class DifferencesPage:
    """One page of the differences of a track; of near-duplicates, those of one topic."""

    track: Track
    kind: Kind
    rows: Page[_Key] | Page[_Group]
    groups: list[JudgedDifferently]
    topics: list[str]
    topic: str
    overlap_percent: int
    names: dict[str, str]  # of assessors, by username


def differences_page(track: Track, *, is_near: bool, code: str, number: str) -> DifferencesPage:
    """A page of everything that is the same, or of the near-duplicates of the topic with a code, or of the first."""
    kind: Kind = "near-duplicates" if is_near and not has_formulas(track) else _same_kind(track)
    codes: list[str] = []
    topic: Topic | None = None
    if kind == "near-duplicates":
        topics = current_judgments(track, *MAIN_AND_DUAL).values("topic")
        judged = {judged_topic.code: judged_topic for judged_topic in track.topics.filter(pk__in=topics)}
        codes, topic = list(judged), judged.get(code) or next(iter(judged.values()), None)
        near = list(_near_groups(track, [topic.pk] if topic else [], most=SHOWN_OF_GRADE))
        of_near: Page[_Group] = Paginator(near, GROUPS_ON_PAGE).get_page(number)
        rows: Page[_Key] | Page[_Group] = of_near
        groups = list(of_near)
    else:
        of_same: Page[_Key] = Paginator(_keys(track), GROUPS_ON_PAGE).get_page(number)
        rows, groups = of_same, _members(track, list(of_same), most=SHOWN_OF_GRADE)
    return DifferencesPage(
        track=track,
        kind=kind,
        rows=rows,
        groups=_with_votes(track, kind, groups, is_linked=True),
        topics=codes,
        topic=topic.code if topic else "",
        overlap_percent=round(100 * overlap_of(track)),
        names=names_of_assessors(track),
    )


def has_formulas(track: Track) -> bool:
    """True if the track's protocol retrieves formulas."""
    return "formula" in track.protocol.as_written.unit


def overlap_of(track: Track) -> float:
    """The share of word bigrams of near-duplicates: that of the protocol, if it has one."""
    return track.protocol.as_written.pool.near_duplicate_overlap or OVERLAP


def all_differences(track: Track) -> Iterator[JudgedDifferently]:
    """Everything for the file. The judgments of a few groups are in memory at a time."""
    keys = iter(_keys(track))
    while some := list(islice(keys, GROUPS_AT_ONCE)):
        yield from _with_votes(track, _same_kind(track), _members(track, some, most=None), is_linked=False)
    if not has_formulas(track):
        near = _near_groups(track, None, most=None)
        while groups := list(islice(near, GROUPS_AT_ONCE)):
            yield from _with_votes(track, "near-duplicates", groups, is_linked=False)


def _same_kind(track: Track) -> Kind:
    return "same formula" if has_formulas(track) else "same text"


def _keyed(track: Track) -> str:
    return _JUDGED + (_KEYED_BY_FORMULA if has_formulas(track) else _KEYED_BY_TEXT)


def _keys(track: Track) -> list[_Key]:
    """The formulas with one visual id, or documents with one text, that have different grades."""
    with connection.cursor() as cursor:
        cursor.execute(_keyed(track) + _DIFFERENT, _parameters(track, None))
        return [_Key(*row) for row in cursor.fetchall()]


def _members(track: Track, keys: Sequence[_Key], *, most: int | None) -> list[_Group]:
    """The documents of each group, by docno: at most so many of each grade, in the order in which people read ids."""
    parameters = _parameters(track, [key.topic_id for key in keys])
    with connection.cursor() as cursor:
        cursor.execute(
            _keyed(track) + _MEMBERS, parameters | {"keys": [key.key for key in keys], "most": most}
        )
        members: dict[tuple[int, str], tuple[list[str], int]] = {}
        for topic_id, key, docno, n in cursor.fetchall():
            members.setdefault((topic_id, key), ([], n))[0].append(docno)
    if most is not None:  # files have the order of bytes
        for docnos, _ in members.values():
            docnos.sort(key=natural)
    # A judgment may have changed since the keys were read.
    return [
        _Group(key.topic_id, key.topic, *members[key.topic_id, key.key])
        for key in keys
        if (key.topic_id, key.key) in members
    ]


def _near_groups(track: Track, topics: Sequence[int] | None, *, most: int | None) -> Iterator[_Group]:
    """Near-duplicates with different grades, without those whose texts are the same: of some topics, or of all."""
    overlap = overlap_of(track)
    with connection.chunked_cursor() as cursor:
        cursor.execute(_JUDGED + _TEXTS, _parameters(track, topics))
        for _, of_topic in groupby((_Text(*row) for row in cursor), key=lambda text: text.topic_id):
            for texts in _near(list(of_topic), overlap):
                docnos = _first_of_each_grade(texts, most)
                yield _Group(texts[0].topic_id, texts[0].topic, docnos, len(texts))


def _near(texts: Sequence[_Text], overlap: float) -> Iterator[list[_Text]]:
    """The near-duplicates among the texts of a topic. Texts that occur several times are compared once."""
    distinct = list(dict.fromkeys(text.html for text in texts))
    leader_of = dict(
        zip(distinct, leaders([sanitize.plain(html) for html in distinct], overlap), strict=True)
    )
    groups: dict[int, list[_Text]] = {}
    for text in texts:
        groups.setdefault(leader_of[text.html], []).append(text)
    for group in groups.values():
        if len({text.grade for text in group}) > 1 and len({text.html for text in group}) > 1:
            yield group


def _first_of_each_grade(texts: Sequence[_Text], most: int | None) -> list[str]:
    """The docnos of some texts, in their order: at most so many of each grade."""
    by_grade: dict[int, list[str]] = {}
    for text in texts:
        by_grade.setdefault(text.grade, []).append(text.docno)
    shown = {docno for docnos in by_grade.values() for docno in docnos[:most]}
    return [text.docno for text in texts if text.docno in shown]


def _parameters(track: Track, topics: Sequence[int] | None) -> dict[str, Any]:
    return {
        "protocol": track.protocol_id,
        "track": track.pk,
        "collection": track.collection_id,
        "topics": None if topics is None else list(topics),
    }


def _with_votes(
    track: Track, kind: Kind, groups: Sequence[_Group], *, is_linked: bool
) -> list[JudgedDifferently]:
    """The judgments of the documents of each group, with links to the documents or without."""
    docnos = {docno for group in groups for docno in group.docnos}
    pages: dict[str, str] = {}
    if is_linked and track.collection is not None:
        slug = track.collection.slug
        if kind == "same formula":
            pages = {docno: reverse("corpus:formula", args=[slug, docno]) for docno in docnos}
        else:
            pages = addresses(track.collection, docnos)
    latex = latex_of(track.collection, docnos) if kind == "same formula" else {}
    rules = track.protocol.as_written.judging
    wanted = Q(docno__in=docnos, topic__in={group.topic_id for group in groups})
    fields = ("topic", "docno", "assessor__username", "choice", "grade", "comment")
    votes: dict[tuple[int, str], list[ShownJudgment]] = {}
    judgments = current_judgments(track, *MAIN_AND_DUAL).filter(wanted).values_list(*fields)
    for topic_id, docno, assessor, choice, grade, comment in judgments:
        place = (docno, pages.get(docno, ""), latex.get(docno, ""))
        vote = ShownJudgment(*place, assessor, rules.label_of(choice, docno), grade, comment)
        votes.setdefault((topic_id, docno), []).append(vote)
    return [
        JudgedDifferently(
            kind,
            group.topic,
            [vote for docno in group.docnos for vote in votes.get((group.topic_id, docno), [])],
            group.n - len(group.docnos),
        )
        for group in groups
    ]
