"""Collections that a person may read."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import User
from corpus.models import Collection


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
    # The states are words here: tracks are above the corpus, which does not import them.
    is_searched = Q(topic_tracks__isnull=True) & Q(tracks__status__in=["open", "closed"])
    as_assessor = Q(topic_tracks__assessors__user=user) | Q(
        topic_tracks__isnull=True, tracks__assessors__user=user
    )
    as_participant = Collection.objects.filter(topic_tracks__teams__members=user)
    readable = Collection.objects.filter(is_searched | as_assessor, status=Collection.Status.READY)
    return readable.exclude(pk__in=as_participant).distinct()
