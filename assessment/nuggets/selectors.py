"""Nuggets, and who may write them: the people who judge for the track, and organizers."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

from django.db.models import Count, Max, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.models import User
from assay.digests import sha256_of
from assay.html.sanitize import plain
from assay.nuggets import lists
from assay.nuggets.files import write_nuggets
from assay.nuggets.formats import FORMS, NuggetForm
from assay.passages import words_of
from assessment.judgments.answers import in_language
from assessment.models import MAIN_AND_DUAL, Judgment
from assessment.nuggets.words import Words, page_words
from corpus.models import Document
from corpus.threads.selectors import RenderedText, render_document
from pooling.models import Nugget, NuggetSources, NuggetVersion, Pool
from tracks.assessors.selectors import tracks_judged_by
from tracks.models import Topic, Track
from tracks.topics.selectors import render_topic
from tracks.tracks.selectors import tracks_for

MOST_SEGMENTS = 100  # next to a list
MOST_PAIRS = 30  # of near-duplicates
ALIKE = 0.5  # share of the trigrams of two nuggets that both have, from which they are shown side by side


def tracks_with_nuggets(user: User) -> QuerySet[Track]:
    """The tracks whose nuggets a user may write."""
    tracks, roles = tracks_for(user), [*user.roles]
    judged = tracks_judged_by(user, tracks)
    return tracks.filter(Q(pk__in=roles) | Q(pk__in=judged.order_by().values("pk"))) if roles else judged


def has_nuggets(track: Track) -> bool:
    """Return whether the protocol of a track judges answers by nuggets."""
    return track.protocol.parsed.judged.has_nuggets


def nugget_counts(track: Track) -> tuple[int, int, int]:
    """The number of topics, of those with a frozen list, and of those with a list. One query."""
    frozen, written = Q(nugget_versions__isnull=False), Q(nuggets__isnull=False)
    counts = track.topics.aggregate(
        n=Count("pk", distinct=True),
        n_frozen=Count("pk", filter=frozen, distinct=True),
        n_written=Count("pk", filter=written, distinct=True),
    )
    return counts["n"], counts["n_frozen"], counts["n_written"]


def track_or_404(user: User, slug: str) -> Track:
    """A track whose nuggets a user may write.

    Raises:
        Http404: There is no such track, or it has no nuggets.
    """
    track = get_object_or_404(tracks_with_nuggets(user), slug=slug)
    if not has_nuggets(track):
        raise Http404
    return track


def nugget_or_404(user: User, nugget_id: int) -> Nugget:
    """A nugget that a user may change.

    Raises:
        Http404: There is no such nugget, or its track has no nuggets any more.
    """
    nuggets = Nugget.objects.filter(topic__track__in=tracks_with_nuggets(user))
    nugget = get_object_or_404(nuggets.select_related("topic__track__protocol"), pk=nugget_id)
    if not has_nuggets(nugget.topic.track):
        raise Http404
    return nugget


def listed(topic: Topic) -> QuerySet[Nugget]:
    """The nuggets of the list that people edit, in its order."""
    return Nugget.objects.filter(topic=topic, is_removed=False, replaced_by=None).order_by("pk")


def nuggets_of(track: Track) -> QuerySet[Nugget]:
    """The nuggets of the lists of a track, with their topics."""
    nuggets = Nugget.objects.filter(topic__track=track, is_removed=False, replaced_by=None)
    return nuggets.select_related("topic__track", "created_by").order_by("topic", "pk")


def versions_of(track: Track) -> QuerySet[NuggetVersion]:
    """The frozen lists of a track, newest first."""
    return (
        NuggetVersion.objects.filter(topic__track=track).select_related("topic", "frozen_by").order_by("-pk")
    )


def latest_version(topic: Topic) -> NuggetVersion | None:
    return NuggetVersion.objects.filter(topic=topic).order_by("-version").first()


def fields_of(nugget: lists.Nugget) -> dict[str, Any]:
    """A nugget of the library as the fields of a row, and as a frozen list has it."""
    question = {"answers": [asdict(answer) for answer in nugget.answers], "joined": nugget.joined}
    return {
        "key": nugget.key,
        "text": nugget.text,
        "importance": nugget.importance,
        "sources": list(nugget.sources),
        "creator": nugget.creator,
        "question": question if nugget.answers else {},
        "merged": list(nugget.merged),
        "weight": nugget.weight,
        "kind": nugget.kind,
        "made_from": nugget.made_from,
        "more": dict(nugget.more),
    }


def nugget_of(fields: Mapping[str, Any]) -> lists.Nugget:
    """The nugget that `fields_of` was made of."""
    question = fields["question"]
    answers = (
        lists.GoldAnswer(answer["text"], tuple(answer["sources"])) for answer in question.get("answers", ())
    )
    return lists.Nugget(
        text=fields["text"],
        importance=fields["importance"],
        sources=tuple(fields["sources"]),
        creator=fields["creator"],
        answers=tuple(answers),
        joined=question.get("joined", "OR"),
        merged=tuple(fields["merged"]),
        weight=fields.get("weight"),
        kind=fields.get("kind", ""),
        made_from=fields.get("made_from", ""),
        more=fields.get("more", {}),
    )


def as_nugget(nugget: Nugget) -> lists.Nugget:
    """A nugget as the library has it."""
    return nugget_of(vars(nugget))


def as_list(topic: Topic) -> lists.NuggetList:
    """The list that people edit."""
    return _as_list(topic, listed(topic))


def _as_list(topic: Topic, nuggets: Iterable[Nugget]) -> lists.NuggetList:
    return lists.NuggetList(topic.code, plain(topic.title), tuple(map(as_nugget, nuggets)))


def frozen_list(version: NuggetVersion) -> lists.NuggetList:
    """A frozen list as the library has it."""
    topic, nuggets = version.topic, tuple(map(nugget_of, version.nuggets))
    return lists.NuggetList(topic.code, plain(topic.title), nuggets, version.version)


def frozen_lists(track: Track) -> list[lists.NuggetList]:
    """The latest frozen list of each topic that has one, in the order of the topics."""
    latest = {version.topic_id: version for version in reversed(versions_of(track))}
    return [frozen_list(latest[topic.pk]) for topic in track.topics.all() if topic.pk in latest]


def frozen_file(track: Track, form: str) -> tuple[bytes, str]:
    """The latest frozen lists in one of `FORMS`, and the name of the file."""
    if form not in FORMS:
        raise Http404
    return write_nuggets(frozen_lists(track), form), f"{track.slug}-nuggets-{form}.jsonl"


def offered_forms(track: Track) -> list[NuggetForm]:
    """The forms of files that fit the lists of a track: criteria have weights."""
    has_weights = track.protocol.parsed.judged.has_weights
    return [form for form in FORMS.values() if form.has_weights == has_weights]


def frozen_nuggets(pool: Pool) -> list[lists.NuggetList]:
    """The frozen lists against which the answers of a pool are judged."""
    versions = versions_of(pool.track).filter(topic__code__in=pool.nuggets)
    return [
        frozen_list(version) for version in versions if pool.nuggets[version.topic.code] == version.version
    ]


def problems_of(current: lists.NuggetList, track: Track) -> list[str]:
    return [in_language(problem.message) for problem in current.problems(track.protocol.parsed.nuggets)]


def is_changed(current: lists.NuggetList, latest: NuggetVersion | None) -> bool:
    """Return whether a list differs from its latest version."""
    return latest is None or data_of(current) != latest.nuggets


def data_of(current: lists.NuggetList) -> list[dict[str, Any]]:
    """The nuggets of a list, as a frozen list has them; `shown` is what assessors read."""
    return [
        {
            key: value
            for key, value in fields_of(nugget).items()
            if key not in OF_CRITERIA or value not in UNSET
        }
        | {"shown": nugget.shown}
        for nugget in current.nuggets
    ]


def digest_of(nuggets: Sequence[Mapping[str, object]]) -> str:
    """The SHA-256 of the nuggets of a frozen list."""
    return sha256_of(json.dumps(nuggets, sort_keys=True, ensure_ascii=False).encode())


# Lists that were frozen before these fields were added do not have them.
OF_CRITERIA = ("weight", "kind", "made_from", "more")
UNSET: tuple[object, ...] = (None, "", {})


class ListedTopic(NamedTuple):
    """The list of a topic in numbers. `version` is the latest frozen one, 0 if there is none."""

    topic: Topic
    n_vital: int
    n_okay: int
    creators: list[str]
    version: int
    is_changed: bool


@dataclass(frozen=True)
class NuggetsPage:
    track: Track
    topics: list[ListedTopic]
    sources: NuggetSources | None
    n_frozen: int
    words: Words


def nuggets_page(track: Track) -> NuggetsPage:
    """Four queries."""
    of_topic: defaultdict[int, list[Nugget]] = defaultdict(list)
    for nugget in nuggets_of(track).select_related(None):
        of_topic[nugget.topic_id].append(nugget)
    latest = {version.topic_id: version for version in reversed(versions_of(track).select_related(None))}
    topics = []
    for topic in track.topics.all():
        nuggets, version = of_topic[topic.pk], latest.get(topic.pk)
        n_of = Counter(nugget.importance for nugget in nuggets)
        row = ListedTopic(
            topic=topic,
            n_vital=n_of[Nugget.Importance.VITAL],
            n_okay=n_of[Nugget.Importance.OKAY],
            creators=sorted({nugget.creator for nugget in nuggets}),
            version=version.version if version else 0,
            is_changed=bool(nuggets) and is_changed(_as_list(topic, nuggets), version),
        )
        topics.append(row)
    return NuggetsPage(
        track=track,
        topics=topics,
        sources=NuggetSources.objects.select_related("judged_in").filter(track=track).first(),
        n_frozen=len(latest),
        words=page_words(track),
    )


class Segment(NamedTuple):
    """A relevant document of a topic with its highest grade; `text` is None if its collection is not loaded."""

    docno: str
    grade: int
    label: str
    text: RenderedText | None


class ShownNugget(NamedTuple):
    """A nugget of the list with the texts of those that were merged into it, and whether a version has it."""

    nugget: Nugget
    merged: list[str]
    is_frozen: bool


@dataclass(frozen=True)
class NuggetListPage:
    """The list of a topic next to the relevant segments. `pairs` are similar nuggets."""

    track: Track
    topic: Topic
    rendered_topic: RenderedText
    segments: list[Segment]
    sources: NuggetSources | None
    nuggets: list[ShownNugget]
    pairs: list[tuple[Nugget, Nugget]]
    former: list[Nugget]
    versions: list[NuggetVersion]
    version: NuggetVersion | None
    problems: list[str]
    has_score: bool
    is_changed: bool
    is_organizer: bool
    neighbors: list[str]
    words: Words
    kinds: Sequence[str] = lists.KINDS


def nugget_list_page(user: User, topic: Topic, number: str = "") -> NuggetListPage:
    """`number` is that of the frozen version to show as well, as text; none if no version has it."""
    track = topic.track
    every = list(topic.nuggets.select_related("created_by").order_by("pk"))
    current = [nugget for nugget in every if nugget.is_listed]
    texts = {nugget.key: nugget.text for nugget in every}
    versions = list(versions_of(track).filter(topic=topic))
    frozen = {fields["key"] for version in versions for fields in version.nuggets}
    latest, made = versions[0] if versions else None, as_list(topic)
    codes = list(track.topics.values_list("code", flat=True))
    at = codes.index(topic.code)
    sources = NuggetSources.objects.select_related("judged_in__protocol").filter(track=track).first()
    return NuggetListPage(
        track=track,
        topic=topic,
        rendered_topic=render_topic(topic, [track.collection] if track.collection else []),
        segments=segments_of(topic, sources),
        sources=sources,
        nuggets=[
            ShownNugget(nugget, [texts.get(key, key) for key in nugget.merged], nugget.key in frozen)
            for nugget in current
        ],
        pairs=similar_pairs(current),
        former=[nugget for nugget in every if not nugget.is_listed],
        versions=versions,
        version=next((version for version in versions if str(version.version) == number), None),
        problems=problems_of(made, track) if current else [],
        has_score=made.has_score,
        is_changed=is_changed(made, latest),
        is_organizer=user.oversees(track.pk),
        neighbors=[*codes[max(0, at - 1) : at], *codes[at + 1 : at + 2]],
        words=page_words(track),
    )


def segments_of(topic: Topic, sources: NuggetSources | None) -> list[Segment]:
    """The relevant documents of a topic, the highest grade first. Nothing shows which run retrieved them."""
    if sources is None:
        return []
    judged_in = sources.judged_in
    judged = Judgment.objects.filter(track=judged_in, topic__code=topic.code, batch__kind__in=MAIN_AND_DUAL)
    best = judged.filter(is_current=True, grade__gte=sources.from_grade).order_by().values_list("docno")
    grades = list(best.annotate(best=Max("grade")).order_by("-best", "docno")[:MOST_SEGMENTS])
    docnos = [docno for docno, _ in grades]
    documents = Document.objects.filter(collection=judged_in.collection_id, docno__in=docnos)
    texts = {document.docno: render_document(document) for document in documents.select_related("collection")}
    labels = {grade.value: grade.label for grade in judged_in.protocol.parsed.judging.grades}
    return [Segment(docno, grade, labels.get(grade, ""), texts.get(docno)) for docno, grade in grades]


def similar_pairs(nuggets: Sequence[Nugget]) -> list[tuple[Nugget, Nugget]]:
    """Pairs of nuggets that share at least half of their letters, three by three; those that share most first."""
    grams, pairs = {}, []
    for nugget in nuggets:
        letters = f" {' '.join(words_of(nugget.text))} "
        grams[nugget.pk] = {letters[at : at + 3] for at in range(len(letters) - 2)}
    for first, second in combinations(nuggets, 2):
        n_both, n_either = len(grams[first.pk] & grams[second.pk]), len(grams[first.pk] | grams[second.pk])
        if n_either and n_both >= ALIKE * n_either:
            pairs.append((n_both / n_either, first, second))
    pairs.sort(key=lambda pair: (-pair[0], pair[1].pk, pair[2].pk))
    return [(first, second) for _, first, second in pairs[:MOST_PAIRS]]
