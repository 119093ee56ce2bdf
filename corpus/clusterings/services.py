"""Visual ids for formulas that no index gave one: of a whole collection, or of the formulas that runs name."""

from collections.abc import Iterable, Sequence

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from accounts.models import User
from assay.formulas.columns import Formulas
from assay.formulas.visual_ids import NUMBER_DIGITS, visual_ids
from corpus.clusterings.jobs import KIND, ClusteringRefused, store_ids
from corpus.clusterings.keys import keys_of
from corpus.clusterings.selectors import latest_clustering, unfinished_clustering
from corpus.formulas.selectors import formulas_of
from corpus.imports.services import unfinished_import
from corpus.models import Clustering, ClusteringPart, Collection, Formula
from jobs import services as jobs
from jobs.models import Job


def start_clustering(*, collection: Collection, is_anew: bool, by: User | None) -> Job:
    """Queue the clustering of all formulas of a collection.

    Raises
    ------
    ClusteringRefused
        There are no formulas, or an import or a clustering is under way.
    """
    with transaction.atomic():
        current = Collection.objects.select_for_update().get(pk=collection.pk)
        if unfinished_import(current) is not None:
            raise ClusteringRefused(f"An import into {current} is under way. Wait until it has ended.")
        if unfinished_clustering(current) is not None:
            raise ClusteringRefused(f"The formulas of {current} are being clustered already.")
        if not current.formulas.exists():
            raise ClusteringRefused(f"{current} has no formulas. Import a formula index first.")
        ClusteringPart.objects.filter(clustering__collection=current).delete()  # of one that failed
        job = jobs.request(
            kind=KIND,
            title=f"Cluster the formulas of {current}"[:200],
            arguments={"collection_id": current.pk},
            by=by,
            subject=current,
        )
        Clustering.objects.create(collection=current, job=job, is_anew=is_anew)
    return job


def cluster_submitted(collection: Collection, formula: NDArray[np.bytes_]) -> Formulas:
    """The formulas of some ids with their visual ids, made where they have none; ids that are not there are left out.

    Looks at these formulas alone, and at those that got their ids in the same way before. What is made is stored with
    the formulas and kept, so that the next pool, or one that tops this up, finds the same ids.

    Raises
    ------
    ClusteringRefused
        The whole collection was clustered before some of these formulas came into it.
    """
    found = formulas_of(collection.pk, formula)
    without = [one.decode() for one in found.formula[found.visual == b""].tolist()]
    if not without:
        return found
    if latest_clustering(collection, is_complete=True) is not None:
        _refuse_unless_unknown(collection, without)
        return found
    while not _clustered(collection, [one.decode() for one in found.formula.tolist()]):
        pass  # another pool has made ids meanwhile: begin again with those
    return formulas_of(collection.pk, formula)


def _refuse_unless_unknown(collection: Collection, codes: Sequence[str]) -> None:
    """After a clustering of the whole only formulas have no id of which nothing is known."""
    keys = keys_of(collection.pk, codes)
    is_new = (keys.slt != b"") | (keys.latex != b"")
    if is_new.any():
        raise ClusteringRefused(
            f"{int(is_new.sum()):,} of the formulas that runs have submitted came into {collection} after its formulas "
            f"were clustered. Cluster them again first, on the page of its formulas."
        )


def _clustered(collection: Collection, codes: Iterable[str]) -> bool:
    """Make ids for those of some formulas that have none; False if others were made while this was computed."""
    made = _made(collection)
    keys = keys_of(collection.pk, {*codes, *made})
    with transaction.atomic():
        Collection.objects.select_for_update().get(pk=collection.pk)
        if _made(collection) != made:
            return False
        visuals = visual_ids(keys, above=_greatest_number(collection))
        store_ids(collection.pk, keys, visuals)
    return True


def _made(collection: Collection) -> set[str]:
    """The formulas whose ids were made by clustering."""
    made = Formula.objects.filter(collection=collection, is_visual_given=False).exclude(visual="")
    return set(made.values_list("code", flat=True))


def _greatest_number(collection: Collection) -> int:
    """The greatest number among the visual ids of a collection; 0 if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(max(visual::bigint), 0) FROM corpus_formula "
            "WHERE collection_id = %s AND visual <> '' AND visual ~ %s",
            [collection.pk, f"^[0-9]{{1,{NUMBER_DIGITS}}}$"],
        )
        number: int = cursor.fetchone()[0]
    return number
