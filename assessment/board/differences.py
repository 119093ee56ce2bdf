"""Documents that are the same, or nearly, and were judged differently: candidates for a second look.

Compared are the highest grades of the documents of a topic, of the current main and dual judgments. Formulas are the
same if they have one visual id, as in pools. Texts are the same if title and body are; near-duplicates share most of
their word bigrams (see `assay.passages`), and are searched one topic at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from django.db import connection
from django.db.models import Q, QuerySet
from django.urls import reverse

from assay.html import sanitize
from assay.passages import leaders
from assessment.agreement.selectors import KINDS
from assessment.judgments.rules import judging_rules, label_of, parsed_protocol
from assessment.models import Judgment
from corpus.threads.selectors import addresses
from tracks.models import Topic, Track

Kind = Literal["same formula", "same text", "near-duplicates"]
MOST = 200  # groups on the page; the file has all
OVERLAP = 0.9  # of near-duplicates, unless the protocol has its own

_JUDGED = """
WITH judged AS (
    SELECT judgment.topic_id, judgment.docno, max(judgment.grade) AS grade
    FROM assessment_judgment judgment
    JOIN assessment_batch batch ON batch.id = judgment.batch_id AND batch.kind IN ('main', 'dual')
    JOIN pooling_pool pool ON pool.id = batch.pool_id AND pool.protocol_id = %(protocol)s
    WHERE judgment.track_id = %(track)s AND judgment.is_current AND judgment.grade IS NOT NULL
    GROUP BY judgment.topic_id, judgment.docno
)
"""
_DOCUMENTS = """
FROM judged
JOIN tracks_topic topic ON topic.id = judged.topic_id
JOIN corpus_document document ON document.collection_id = %(collection)s AND document.docno = judged.docno
"""
_DIFFERENT = """
HAVING min(judged.grade) <> max(judged.grade)
ORDER BY topic.code, min(judged.docno)
LIMIT %(most)s
"""
_GROUP = "SELECT topic.id, topic.code, array_agg(judged.docno ORDER BY judged.docno)"
_SAME_FORMULA = f"""{_JUDGED} {_GROUP}
FROM judged
JOIN tracks_topic topic ON topic.id = judged.topic_id
JOIN corpus_formula formula
    ON formula.collection_id = %(collection)s AND formula.code = judged.docno AND formula.visual <> ''
GROUP BY topic.id, topic.code, formula.visual {_DIFFERENT}"""
_SAME_TEXT = f"""{_JUDGED} {_GROUP} {_DOCUMENTS}
GROUP BY topic.id, topic.code, md5(document.title || ' ' || document.body) {_DIFFERENT}"""
_TEXTS = f"""{_JUDGED}
SELECT topic.id, topic.code, judged.docno, judged.grade, document.title || ' ' || document.body {_DOCUMENTS}
WHERE %(topic)s IS NULL OR topic.code = %(topic)s
ORDER BY topic.code, judged.docno"""


class Vote(NamedTuple):
    """A judgment of one of the documents; `address` is the page of the document, if the collection has it."""

    docno: str
    address: str
    assessor: str
    label: str
    grade: int | None
    comment: str


class Difference(NamedTuple):
    """Documents of a topic that are the same or near-duplicates, with their judgments, by docno."""

    kind: Kind
    topic: str
    votes: list[Vote]


class _Group(NamedTuple):
    topic_id: int
    topic: str
    docnos: list[str]


class _Text(NamedTuple):
    topic_id: int
    topic: str
    docno: str
    grade: int
    html: str


@dataclass(frozen=True)
class DifferencesPage:
    """The differences of a track; near-duplicates of one topic. `is_cut`: the file has more."""

    track: Track
    is_of_formulas: bool
    same: list[Difference]
    is_cut: bool
    topics: list[str]
    topic: str
    overlap_percent: int
    near: list[Difference]
    tab: str = "judging"


def differences_page(track: Track, code: str) -> DifferencesPage:
    """Everything that is the same, and the near-duplicates of the topic with a code, or of the first."""
    same = same_judged_differently(track, most=MOST + 1)
    is_of_formulas = has_formulas(track)
    codes = [] if is_of_formulas else list(judged_topics(track).values_list("code", flat=True))
    topic = code if code in codes else next(iter(codes), "")
    return DifferencesPage(
        track=track,
        is_of_formulas=is_of_formulas,
        same=same[:MOST],
        is_cut=len(same) > MOST,
        topics=codes,
        topic=topic,
        overlap_percent=round(100 * overlap_of(track)),
        near=near_judged_differently(track, topic) if topic else [],
    )


def has_formulas(track: Track) -> bool:
    """Whether the track's protocol retrieves formulas."""
    return "formula" in parsed_protocol(track.protocol).unit


def overlap_of(track: Track) -> float:
    """The share of word bigrams of near-duplicates: that of the protocol, if it has one."""
    return parsed_protocol(track.protocol).pool.near_duplicate_overlap or OVERLAP


def judged_topics(track: Track) -> QuerySet[Topic]:
    """The topics with judgments, by code."""
    return track.topics.filter(pk__in=_judgments(track).values("topic")).order_by("code")


def all_differences(track: Track) -> Iterator[Difference]:
    """Everything for the file, in a fixed number of queries."""
    yield from same_judged_differently(track, most=None)
    if not has_formulas(track):
        yield from near_judged_differently(track, None)


def same_judged_differently(track: Track, *, most: int | None) -> list[Difference]:
    """Formulas with one visual id, or documents with one text, and different grades."""
    is_of_formulas = has_formulas(track)
    with connection.cursor() as cursor:
        cursor.execute(_SAME_FORMULA if is_of_formulas else _SAME_TEXT, _parameters(track) | {"most": most})
        groups = [_Group(*row) for row in cursor.fetchall()]
    return _with_votes(track, "same formula" if is_of_formulas else "same text", groups)


def near_judged_differently(track: Track, code: str | None) -> list[Difference]:
    """Near-duplicates with different grades, without those whose texts are the same: of a topic, or of all topics."""
    overlap = overlap_of(track)
    with connection.chunked_cursor() as cursor:
        cursor.execute(_TEXTS, _parameters(track) | {"topic": code})
        texts = (_Text(*row) for row in cursor)
        groups = [
            group
            for _, of_topic in groupby(texts, key=lambda text: text.topic_id)
            for group in _near_groups(list(of_topic), overlap)
        ]
    return _with_votes(track, "near-duplicates", groups)


def _near_groups(texts: Sequence[_Text], overlap: float) -> Iterator[_Group]:
    """The near-duplicates among the texts of a topic."""
    groups: dict[int, list[_Text]] = {}
    plain = [sanitize.plain(text.html) for text in texts]
    for text, leader in zip(texts, leaders(plain, overlap), strict=True):
        groups.setdefault(leader, []).append(text)
    for group in groups.values():
        if len({text.grade for text in group}) > 1 and len({text.html for text in group}) > 1:
            yield _Group(group[0].topic_id, group[0].topic, [text.docno for text in group])


def _parameters(track: Track) -> dict[str, int | str | None]:
    return {"protocol": track.protocol_id, "track": track.pk, "collection": track.collection_id}


def _judgments(track: Track) -> QuerySet[Judgment]:
    current = Judgment.objects.filter(track=track, is_current=True, batch__kind__in=KINDS)
    return current.filter(batch__pool__protocol=track.protocol_id)


def _with_votes(track: Track, kind: Kind, groups: Iterable[_Group]) -> list[Difference]:
    """The judgments of the documents of each group."""
    groups = list(groups)
    docnos = {docno for group in groups for docno in group.docnos}
    wanted = Q(docno__in=docnos, topic__in={group.topic_id for group in groups})
    rules = judging_rules(track.protocol)
    known = addresses(track.collection, docnos) if track.collection and kind != "same formula" else {}
    votes: dict[tuple[int, str], list[Vote]] = {}
    judgments = _judgments(track).filter(wanted).select_related("assessor").order_by("pk")
    for judgment in judgments:
        address = (
            _formula_address(track, judgment.docno)
            if kind == "same formula"
            else known.get(judgment.docno, "")
        )
        vote = Vote(
            judgment.docno,
            address,
            judgment.assessor.username,
            label_of(rules, judgment.choice),
            judgment.grade,
            judgment.comment,
        )
        votes.setdefault((judgment.topic_id, judgment.docno), []).append(vote)
    return [
        Difference(
            kind,
            group.topic,
            [vote for docno in group.docnos for vote in votes.get((group.topic_id, docno), [])],
        )
        for group in groups
    ]


def _formula_address(track: Track, code: str) -> str:
    return reverse("corpus:formula", args=[track.collection.slug, code]) if track.collection else ""
