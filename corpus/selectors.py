"""What others may read of tracks, topics and collections, and who sees what."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from corpus.models import Collection, Job, StoredProtocol, Topic, Track, User


def tracks_for(user: User | AnonymousUser) -> QuerySet[Track]:
    """Tracks that a person may know of: organizers all of them, others those that are not drafts."""
    tracks = Track.objects.select_related("protocol", "collection")
    if isinstance(user, User) and user.is_organizer:
        return tracks
    return tracks.exclude(status=Track.Status.DRAFT)


def collections_for(user: User | AnonymousUser) -> QuerySet[Collection]:
    """Collections that a person may read.

    A collection of topics' own threads is for organizers and for the assessors of its track, and never for a
    member of a team of that track; a collection that is searched is for everybody who has logged in.
    """
    if not isinstance(user, User):
        return Collection.objects.none()
    if user.is_organizer:
        return Collection.objects.all()
    open_to_all = Q(topic_tracks__isnull=True)
    as_assessor = Q(topic_tracks__assessors__user=user)
    as_participant = Collection.objects.filter(topic_tracks__teams__members=user)
    readable = Collection.objects.filter(open_to_all | as_assessor).exclude(pk__in=as_participant)
    return readable.distinct()


def is_assessor(user: User | AnonymousUser, track: Track) -> bool:
    """Whether the person judges for the track."""
    return isinstance(user, User) and user.is_active and track.assessors.filter(user=user).exists()


def topics_of(track: Track) -> QuerySet[Topic]:
    """A track's topics in the order of their codes' bytes."""
    return track.topics.all()


def topic_page(user: User | AnonymousUser, track: Track, topic: Topic) -> dict[str, object]:
    """What a topic's page shows; its own thread only to those who may read the topic collection."""
    own = None
    if topic.thread and track.topic_collection is not None:
        own = collections_for(user).filter(pk=track.topic_collection.pk).first()
    before = track.topics.filter(code__lt=topic.code).order_by("-code").first()
    after = track.topics.filter(code__gt=topic.code).first()
    return {"track": track, "topic": topic, "thread_collection": own, "before": before, "after": after}


def protocols() -> QuerySet[StoredProtocol]:
    """Every stored protocol, by slug."""
    return StoredProtocol.objects.all()


def jobs_for(user: User | AnonymousUser) -> QuerySet[Job]:
    """Jobs that a person may watch, newest first: organizers all, others those that they asked for."""
    if not isinstance(user, User):
        return Job.objects.none()
    jobs = Job.objects.select_related("created_by", "track", "collection")
    return jobs if user.is_organizer else jobs.filter(created_by=user)
