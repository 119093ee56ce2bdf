"""Topics, and which parts of them a person may see."""

from collections.abc import Iterable, Sequence

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import User
from assay.html.highlight import mark
from corpus.collections.selectors import collections_for
from corpus.models import Collection
from corpus.threads.selectors import RenderedText, resolve_links, safe_html
from tracks.assessors.selectors import is_assessor
from tracks.models import Topic, Track

# What a protocol calls the parts of a topic; the number is always seen.
TOPIC_FIELDS: dict[str, tuple[str, object]] = {
    "query": ("title", ""),
    "language-target": ("tags", []),
    "description": ("body", ""),
    "rules": ("narrative", ""),
    "properties": ("labels", {}),
}


def topics_of(track: Track) -> QuerySet[Topic]:
    """A track's topics in the order of their codes' bytes."""
    return track.topics.all()


def as_seen(user: User | AnonymousUser, track: Track, topics: Iterable[Topic]) -> list[Topic]:
    """Topics with what a person may see of them: organizers and assessors all, others what the protocol says.

    What is hidden is emptied in the rows, which are for reading.
    """
    visible = track.protocol.parsed.topics.participants_see
    found = list(topics)
    if not visible or (isinstance(user, User) and user.is_organizer) or is_assessor(user, track):
        return found
    for topic in found:
        for word, (name, nothing) in TOPIC_FIELDS.items():
            if word not in visible:
                setattr(topic, name, nothing)
    return found


def topics_page(user: User | AnonymousUser, track: Track) -> dict[str, object]:
    """What the list of a track's topics shows: columns for formulas and labels only where some topic has one."""
    topics = as_seen(user, track, topics_of(track))
    return {
        "track": track,
        "topics": topics,
        "has_formulas": any(topic.latex for topic in topics),
        "has_labels": any(topic.labels for topic in topics),
    }


def topic_page(user: User | AnonymousUser, track: Track, topic: Topic) -> dict[str, object]:
    """What a topic's page shows; its own thread only to those who may read the topic collection."""
    readable = list(collections_for(user).filter(Q(tracks=track) | Q(topic_tracks=track)))
    searched = next((one for one in readable if one.pk == track.collection_id), None)
    own = next((one for one in readable if one.pk == track.topic_collection_id), None)
    (topic,) = as_seen(user, track, [topic])
    return {
        "track": track,
        "topic": topic,
        "shown": render_topic(topic, [one for one in (searched, own) if one]),
        "thread_collection": own if topic.thread else None,
        "before": track.topics.filter(code__lt=topic.code).order_by("-code").first(),
        "after": track.topics.filter(code__gt=topic.code).first(),
    }


def render_topic(topic: Topic, collections: Sequence[Collection]) -> RenderedText:
    """A topic for `corpus/_topic.html`; its links lead into those collections that the reader may read.

    The formula that a topic asks for is marked where it stands.
    """
    texts = topic.title, topic.body, topic.narrative
    title, *rest = (mark(text, topic.formula_id) for text in texts) if topic.formula_id else texts
    body, narrative = resolve_links(rest, collections)
    return RenderedText(safe_html(title), body, narrative, topic.tags)
