"""Delete a collection that no track uses, in a job: it may have millions of rows."""

from typing import Any

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from corpus.collections.selectors import unfinished_import
from corpus.models import Collection
from jobs import services as jobs
from jobs.files.deletion import check_unused, delete_unused, still_used
from jobs.models import Job

KIND = "corpus.delete"
PARTS = frozenset({
    "corpus.Author", "corpus.Clustering", "corpus.ClusteringPart", "corpus.Comment",
    "corpus.Disagreement", "corpus.Document", "corpus.DocumentLink", "corpus.Formula",
    "corpus.FormulaMathML", "corpus.Image", "corpus.Import", "corpus.Tag", "corpus.VoteCount",
})  # fmt: skip


def check_deletion(collection: Collection) -> None:
    """Refuse to delete a collection that a track or a pool refers to, that has a build, or that is being imported.

    Raises:
        Refused: It is one of these.
    """
    if unfinished_import(collection) is not None:
        raise still_used(
            f"An import into {collection} is running. Wait until it is finished, or cancel its job."
        )
    check_unused(collection, PARTS)


@transaction.atomic
def request_deletion(*, collection: Collection, by: User) -> Job:
    """Queue the deletion of a collection with its documents, formulas and images.

    Raises:
        Refused: As `check_deletion`.
    """
    current = Collection.objects.select_for_update().get(pk=collection.pk)
    check_deletion(current)
    details = {"name": current.name, "counts": current.counts}
    audit.record(action="collection.deleted", subject=current.slug, details=details, by=by)
    return jobs.request(
        kind=KIND,
        title=f"Delete the collection {current}",
        arguments={"collection_id": current.pk},
        by=by,
        subject=current,
    )


@jobs.handler(KIND)
def delete(progress: jobs.Progress, *, collection_id: int) -> dict[str, Any]:
    """Delete the rows in one transaction: a killed worker leaves the collection as it was.

    Raises:
        Refused: A track uses it meanwhile.
    """
    progress.update(0, 1, "deleting documents, formulas and images")
    with progress.storing():
        current = Collection.objects.select_for_update().filter(pk=collection_id).first()
        if current is not None:
            delete_unused(current, PARTS)
    return {}
