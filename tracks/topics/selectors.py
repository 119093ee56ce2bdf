"""Topics, which parts of them a user may see, and their pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.access import AnyUser
from accounts.models import User
from assay.html.highlight import mark
from corpus.collections.selectors import collections_for
from corpus.models import Collection
from corpus.threads.selectors import RenderedText, resolve_links, safe_html
from tracks.assessors.selectors import is_assessor
from tracks.models import Topic, Track

# The names of the parts of a topic in a protocol, with their field and its empty value. The code is always visible.
TOPIC_FIELDS: dict[str, tuple[str, object]] = {
    "query": ("title", ""),
    "language-target": ("tags", []),
    "description": ("body", ""),
    "rules": ("narrative", ""),
    "properties": ("labels", {}),
}


@dataclass(frozen=True)
class TopicsPage:
    """The columns for formulas and labels are shown only if some topic has one."""

    track: Track
    topics: list[Topic]
    has_formulas: bool
    has_labels: bool


@dataclass(frozen=True)
class TopicPage:
    """`thread_collection` has the thread of the topic; None if there is none that the user may read."""

    track: Track
    topic: Topic
    rendered: RenderedText
    thread_collection: Collection | None
    previous: Topic | None
    next: Topic | None
    tab: str = "topics"


def topics_of(track: Track) -> QuerySet[Topic]:
    """The topics of a track, in the byte order of their codes."""
    return track.topics.all()


def hide_fields(user: AnyUser, track: Track, topics: Iterable[Topic]) -> list[Topic]:
    """Topics without the fields that a user may not see.

    Organizers and assessors see all fields, others those that the protocol lists. Hidden fields are emptied in the
    rows, so do not save these.
    """
    visible = track.protocol.parsed.topics.participants_see
    rows = list(topics)
    if not visible or (isinstance(user, User) and user.is_organizer) or is_assessor(user, track):
        return rows
    for topic in rows:
        for part, (field, empty) in TOPIC_FIELDS.items():
            if part not in visible:
                setattr(topic, field, empty)
    return rows


def topics_page(user: AnyUser, track: Track) -> TopicsPage:
    topics = hide_fields(user, track, topics_of(track))
    return TopicsPage(
        track=track,
        topics=topics,
        has_formulas=any(topic.latex for topic in topics),
        has_labels=any(topic.labels for topic in topics),
    )


def topic_page(user: AnyUser, track: Track, topic: Topic) -> TopicPage:
    readable = list(collections_for(user).filter(Q(tracks=track) | Q(topic_tracks=track)))
    searched = next((collection for collection in readable if collection.pk == track.collection_id), None)
    threads = next(
        (collection for collection in readable if collection.pk == track.topic_collection_id), None
    )
    (topic,) = hide_fields(user, track, [topic])
    return TopicPage(
        track=track,
        topic=topic,
        rendered=render_topic(topic, [collection for collection in (searched, threads) if collection]),
        thread_collection=threads if topic.thread else None,
        previous=track.topics.filter(code__lt=topic.code).order_by("-code").first(),
        next=track.topics.filter(code__gt=topic.code).first(),
    )


def render_topic(topic: Topic, collections: Sequence[Collection]) -> RenderedText:
    """A topic for `tracks/topics/_topic.html`. Links lead into `collections`, which the reader must be able to read.

    If the topic asks for a formula, that formula is marked. One query per collection.
    """
    texts = topic.title, topic.body, topic.narrative
    title, *rest = (mark(text, topic.formula_id) for text in texts) if topic.formula_id else texts
    body, narrative = resolve_links(rest, collections)
    return RenderedText(safe_html(title), body, narrative, topic.tags)
