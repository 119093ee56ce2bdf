"""What others may read of clusterings."""

from django.db.models import QuerySet

from corpus.models import Clustering, Collection, Disagreement, Job


def clusterings(collection: Collection) -> QuerySet[Clustering]:
    """The clusterings of a collection's formulae, newest first."""
    return collection.clusterings.select_related("job", "job__created_by")


def latest_clustering(collection: Collection, *, is_complete: bool) -> Clustering | None:
    """The newest clustering, or the newest of those that are complete."""
    found = clusterings(collection)
    return (found.filter(is_complete=True) if is_complete else found).first()


def unfinished_clustering(collection: Collection) -> Clustering | None:
    """The clustering that is waiting or under way."""
    return clusterings(collection).filter(job__state__in=[Job.State.QUEUED, Job.State.RUNNING]).first()


def disagreements(clustering: Clustering | None) -> QuerySet[Disagreement]:
    """Where given ids and our strings disagree: SLT strings before LaTeX, by id."""
    if clustering is None:
        return Disagreement.objects.none()
    return clustering.disagreements.all()
