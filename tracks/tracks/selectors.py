"""What others may read of tracks, topics and collections, and who sees what."""

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from corpus.models import Collection, Job, StoredProtocol, Topic, Track, User
from corpus.thread_selectors import shown_topic

# What a protocol calls the parts of a topic; the number is always seen.
TOPIC_FIELDS: dict[str, tuple[str, object]] = {
    "query": ("title", ""),
    "language-target": ("tags", []),
    "description": ("body", ""),
    "rules": ("narrative", ""),
    "properties": ("labels", {}),
}


def tracks_for(user: User | AnonymousUser) -> QuerySet[Track]:
    """Tracks that a person may know of: organizers all of them, others those that are not drafts."""
    tracks = Track.objects.select_related("protocol", "collection")
    if isinstance(user, User) and user.is_organizer:
        return tracks
    return tracks.exclude(status=Track.Status.DRAFT)


def collections_for(user: User | AnonymousUser) -> QuerySet[Collection]:
    """Collections that a person may read: organizers all of them, others those with something to read.

    A collection is read by others once a track that searches it is no draft, and by assessors of any track of it.
    A collection of topics' own threads is for the assessors of its track alone, and never for a member of a team of
    that track. One that belongs to no track is nobody's but the organizers': it may be meant for topics' threads.
    """
    if not isinstance(user, User):
        return Collection.objects.none()
    if user.is_organizer:
        return Collection.objects.all()
    is_searched = Q(topic_tracks__isnull=True) & Q(
        tracks__status__in=[Track.Status.OPEN, Track.Status.CLOSED]
    )
    as_assessor = Q(topic_tracks__assessors__user=user) | Q(
        topic_tracks__isnull=True, tracks__assessors__user=user
    )
    as_participant = Collection.objects.filter(topic_tracks__teams__members=user)
    readable = Collection.objects.filter(is_searched | as_assessor, status=Collection.Status.READY)
    return readable.exclude(pk__in=as_participant).distinct()


def is_assessor(user: User | AnonymousUser, track: Track) -> bool:
    """Whether the person judges for the track."""
    return isinstance(user, User) and user.is_active and track.assessors.filter(user=user).exists()


def judges_anywhere(user: User | AnonymousUser) -> bool:
    """Whether the person judges for any track."""
    return isinstance(user, User) and user.is_active and user.assessor_of.exists()


def tracks_judged_by(user: User) -> QuerySet[Track]:
    """Tracks for which a person judges, by name."""
    return Track.objects.filter(assessors__user=user)


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
    """What the list of a track's topics shows: columns for formulae and labels only where some topic has one."""
    topics = as_seen(user, track, topics_of(track))
    return {
        "track": track,
        "topics": topics,
        "has_formulae": any(topic.latex for topic in topics),
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
        "shown": shown_topic(topic, [one for one in (searched, own) if one]),
        "thread_collection": own if topic.thread else None,
        "before": track.topics.filter(code__lt=topic.code).order_by("-code").first(),
        "after": track.topics.filter(code__gt=topic.code).first(),
    }


def protocols() -> QuerySet[StoredProtocol]:
    """Every stored protocol, by slug."""
    return StoredProtocol.objects.all()


def jobs_for(user: User | AnonymousUser) -> QuerySet[Job]:
    """Jobs that a person may watch, newest first: organizers all, others those that they asked for."""
    if not isinstance(user, User):
        return Job.objects.none()
    jobs = Job.objects.select_related("created_by", "track", "collection")
    return jobs if user.is_organizer else jobs.filter(created_by=user)
