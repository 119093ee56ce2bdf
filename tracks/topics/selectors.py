"""Topics, which parts of them a user may see, and their pages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext, gettext_noop

from accounts.access import AnyUser, oversees
from assay.formats.topics.bolt import citations, visible_source
from assay.formats.topics.subtopics import labels_of
from assay.html.highlight import mark
from assay.html.sanitize import clean_body, clean_text, clean_title, plain
from assay.languages import name_of
from corpus.collections.selectors import collections_for
from corpus.models import Collection
from corpus.threads.selectors import RenderedText, addresses, resolve_links, safe_html
from tracks.assessors.selectors import is_assessor
from tracks.models import Download, Topic, TopicCorrection, Track
from tracks.tracks.selectors import parts_for
from web.statements import Prepared

LONG = ("body", "narrative", "scenario", "criteria", "subtopics")
FORMULA_UNITS = {"formula", "visually-distinct-formula"}

# The names of the parts of a topic in a protocol, with their field and its empty value. The code is always visible, and
# query and rules are BOLT's names of title and narrative.
TOPIC_FIELDS: dict[str, tuple[str, object]] = {
    "title": ("title", ""),
    "query": ("title", ""),
    "language-target": ("tags", []),
    "description": ("body", ""),
    "narrative": ("narrative", ""),
    "rules": ("narrative", ""),
    "properties": ("labels", {}),
    "scenario": ("scenario", ""),
    "criteria": ("criteria", ""),
    "subtopics": ("subtopics", []),
}


class ListedTopic(NamedTuple):
    """A topic in a list; `labels` has its value of each label of the list, or an empty one."""

    topic: Topic
    labels: list[tuple[str, str]]


@dataclass(frozen=True)
class TopicsPage:
    """The topics that contain `search`. The columns for formulas and labels are shown only if some topic has one.

    `n_without_criteria` counts topics without scenario and criteria if others have them, and `n_without_item` those
    without known item in a known-item task, `n_without_subtopics` those about whose subtopics the protocol asks; for
    organizers.
    """

    track: Track
    topics: list[Topic]
    rows: list[ListedTopic]
    labels: list[str]
    search: str
    n_topics: int  # of the track
    has_formulas: bool
    has_tags: bool
    has_splits: bool
    n_without_criteria: int
    n_without_item: int
    n_without_subtopics: int
    is_formula_task: bool


class ShownCitation(NamedTuple):
    """A citation that the developers of a topic graded. `address` is that of its post, if the reader may read it."""

    docno: str
    grade: str
    passage: str
    address: str


@dataclass(frozen=True)
class TopicPage:
    """`thread_collection` has the thread of the topic; None if there is none that the user may read.

    `previous` and `next` are codes.
    """

    track: Track
    topic: Topic
    rendered: RenderedText
    thread_collection: Collection | None
    citations: list[ShownCitation]
    previous: str
    next: str
    is_organizer: bool
    corrections: list[TopicCorrection]  # for those who oversee the track


def sees_topics(user: AnyUser, track: Track) -> bool:
    """Return whether a user may see the topics of a track: before their release, only those who work on it."""
    return oversees(user, track.pk) or is_assessor(user, track) or are_topics_released(user, track)


def topics_for(user: AnyUser, track: Track) -> QuerySet[Topic]:
    """The topics of a track that a user may see: none before their release."""
    return track.topics.all() if sees_topics(user, track) else track.topics.none()


_TOPICS = Prepared(lambda track: Topic.objects.filter(track=track))
_TITLES = Prepared(lambda track: Topic.objects.filter(track=track).defer(*LONG))
_CODES = Prepared(lambda track: Topic.objects.filter(track=track).only("code"))
_TOPIC = Prepared(lambda track, code: Topic.objects.filter(track=track, code=code))
_CORRECTIONS = Prepared(lambda topic: TopicCorrection.objects.filter(topic=topic).select_related("by"))


def topics_of(user: AnyUser, track: Track, *, with_texts: bool = True) -> list[Topic]:
    """The topics of `topics_for`, perhaps without their long texts, without the work of the ORM."""
    if not sees_topics(user, track):
        return []
    topics = (_TOPICS if with_texts else _TITLES)(track=track.pk)
    for topic in topics:
        topic.track = track
    return topics


def topic_or_404(user: AnyUser, track: Track, code: str) -> Topic:
    """A topic that a user may see.

    Raises:
        Http404: It does not exist, or the user may not see it.
    """
    topic = _TOPIC.first(track=track.pk, code=code) if sees_topics(user, track) else None
    if topic is None:
        raise Http404("No topic matches.")
    topic.track = track
    return topic


def hide_fields(user: AnyUser, track: Track, topics: Iterable[Topic]) -> list[Topic]:
    """Topics without the fields that a user may not see.

    Organizers see all fields, assessors all but the known item. Others see those that the protocol lists, and labels if
    the track shows them. Labels are in the order of the protocol. Hidden fields are emptied in the rows, so do not save
    these.
    """
    order = {label: n for n, label in enumerate(track.protocol.parsed.topics.labels)}
    rows = list(topics)
    for topic in rows:
        topic.labels = dict(sorted(topic.labels.items(), key=lambda item: order.get(item[0], len(order))))
    if oversees(user, track.pk):
        return rows
    return _without_known_items(rows) if is_assessor(user, track) else participants_view(track, rows)


def _without_known_items(topics: Iterable[Topic]) -> list[Topic]:
    rows = list(topics)
    for topic in rows:
        topic.known_item = ""
    return rows


def participants_view(track: Track, topics: Iterable[Topic]) -> list[Topic]:
    """Topics as participants see them. Hidden fields are emptied in the rows, so do not save these."""
    listed = track.protocol.parsed.topics.participants_see
    shown = {TOPIC_FIELDS[part][0] for part in listed if part in TOPIC_FIELDS}
    hidden = {part for part, (field, _) in TOPIC_FIELDS.items() if listed and field not in shown}
    if not track.shows_labels:
        hidden.add("properties")
    rows = _without_known_items(topics)
    for topic in rows:
        if topic.source:
            topic.source = visible_source(topic.source, hidden, listed)
        if "properties" in hidden:
            topic.split = ""
        for part in hidden:
            field, empty = TOPIC_FIELDS[part]
            setattr(topic, field, empty)
    return rows


def are_topics_released(user: AnyUser, track: Track) -> bool:
    """Return whether a user who sees the track may see its topics; without a row about them, yes. Two queries."""
    about_topics = [part for part in parts_for(user, track) if part.kind == Download.Kind.TOPICS]
    return not about_topics or any(part.is_released for part in about_topics)


def topics_by_code(user: AnyUser, track: Track) -> dict[str, Topic]:
    """The topics that a user may see, for the titles next to their codes. The long texts are not read."""
    topics = topics_of(user, track, with_texts=False)
    return {topic.code: topic for topic in hide_fields(user, track, topics)}


def _contains(topic: Topic, text: str) -> bool:
    """Return whether the code, the title, the formula, a tag or a label of a topic contains a text."""
    words = (topic.code, plain(topic.title), topic.latex, topic.split, *topic.tags, *topic.labels.values())
    return any(text.casefold() in word.casefold() for word in words)


def topics_page(user: AnyUser, track: Track, search: str = "") -> TopicsPage:
    topics = hide_fields(user, track, topics_of(user, track))
    labels = [*dict.fromkeys(name for topic in topics for name in topic.labels)]
    shown = [topic for topic in topics if _contains(topic, search)] if search else topics
    n_without = sum(not (topic.scenario or topic.criteria) for topic in topics)
    has_subtopics = track.protocol.parsed.judging.asks_about_subtopics
    is_known_item = track.protocol.parsed.pool.strategy == "known-item"
    n_without_item = sum(not topic.known_item for topic in topics)
    return TopicsPage(
        track=track,
        topics=shown,
        rows=[ListedTopic(topic, [(name, topic.labels.get(name, "")) for name in labels]) for topic in shown],
        labels=labels,
        search=search,
        n_topics=len(topics),
        has_formulas=any(topic.latex for topic in topics),
        has_tags=any(topic.tags for topic in topics),
        has_splits=any(topic.split for topic in topics),
        n_without_criteria=n_without if oversees(user, track.pk) and n_without < len(topics) else 0,
        n_without_item=n_without_item if oversees(user, track.pk) and is_known_item else 0,
        n_without_subtopics=sum(not topic.subtopics for topic in topics)
        * (oversees(user, track.pk) and has_subtopics),
        is_formula_task=track.protocol.parsed.unit in FORMULA_UNITS,
    )


def topic_page(user: AnyUser, track: Track, topic: Topic) -> TopicPage:
    readable = list(collections_for(user).filter(Q(tracks=track) | Q(topic_tracks=track)))
    searched = next((collection for collection in readable if collection.pk == track.collection_id), None)
    threads = next(
        (collection for collection in readable if collection.pk == track.topic_collection_id), None
    )
    (topic,) = hide_fields(user, track, [topic])
    cited = citations(topic.source)
    labels = {grade.key: grade.label for grade in track.protocol.parsed.judging.grades}
    posts = {citation.docno: citation.docno.rsplit(":", 2)[0] for citation in cited}
    known = addresses(searched, posts.values()) if searched and cited else {}
    codes = [listed.code for listed in _CODES(track=track.pk)]
    place = codes.index(topic.code)
    return TopicPage(
        track=track,
        topic=topic,
        rendered=render_topic(
            topic,
            [collection for collection in (searched, threads) if collection],
            has_rules=track.protocol.parsed.cites_posts,
        ),
        thread_collection=threads if topic.thread else None,
        citations=[
            ShownCitation(
                citation.docno,
                labels.get(citation.rel, citation.rel),
                citation.passage,
                known.get(posts[citation.docno], ""),
            )
            for citation in cited
        ],
        previous=codes[place - 1] if place else "",
        next=codes[place + 1] if place + 1 < len(codes) else "",
        is_organizer=oversees(user, track.pk),
        corrections=_CORRECTIONS(topic=topic.pk) if oversees(user, track.pk) else [],
    )


def preview(topic: Topic, values: Mapping[str, Any]) -> RenderedText:
    """A topic as it would be with the values of a form, sanitized as when it is saved. It is not stored."""
    shown = Topic(track=topic.track, formula_id=values.get("formula_id", topic.formula_id))
    shown.title = clean_title(values.get("title", topic.title))
    shown.body = clean_body(values.get("body", topic.body))
    shown.tags = values.get("tags", topic.tags)
    for name in ("scenario", "criteria", "subtopics"):
        setattr(shown, name, values.get(name, getattr(topic, name)))
    shown.narrative = topic.narrative
    return render_topic(shown, [], has_rules=topic.track.protocol.parsed.cites_posts)


def render_topic(topic: Topic, collections: Sequence[Collection], *, has_rules: bool = False) -> RenderedText:
    """A topic for `tracks/topics/_topic.html`. Links lead into `collections`, which the reader must be able to read.

    If the topic asks for a formula, that formula is marked. `has_rules`: the narrative is called *Rules*, as in BOLT.
    One query per collection.
    """
    texts = topic.title, topic.body, topic.narrative
    title, *rest = (mark(text, topic.formula_id) for text in texts) if topic.formula_id else texts
    body, narrative = resolve_links(rest, collections)
    scenario, criteria = (safe_html(clean_text(text)) for text in (topic.scenario, topic.criteria))
    name = gettext_noop("Rules") if has_rules else gettext_noop("Narrative")
    # BOLT's tag is a language
    tags = [gettext(name_of(tag)) for tag in topic.tags] if has_rules else topic.tags
    subtopics = [*labels_of(topic.subtopics).items()]
    return RenderedText(
        title=safe_html(title),
        body=body,
        narrative=narrative,
        tags=tags,
        scenario=scenario,
        criteria=criteria,
        narrative_name=name,
        subtopics=subtopics,
    )
