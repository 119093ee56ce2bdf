"""Assign visual ids to formulas without one: to all formulas of a collection, or to those that runs retrieved."""

from collections.abc import Iterable

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from accounts.audit import services as audit
from accounts.models import User
from assay.formulas.columns import Formulas
from assay.formulas.visual_ids import NUMBER_DIGITS, visual_ids
from corpus.clusterings.jobs import KIND, clustering_refused, store_ids
from corpus.clusterings.keys import keys_of
from corpus.clusterings.selectors import latest_clustering, unfinished_clustering
from corpus.collections.selectors import unfinished_import
from corpus.formulas.selectors import formulas_of
from corpus.models import Clustering, Collection, Formula
from jobs import services as jobs
from jobs.models import Job
from web.pages import counted


def start_clustering(*, collection: Collection, is_from_scratch: bool, by: User | None) -> Job:
    """Queue the clustering of all formulas of a collection.

    Raises:
        Refused: There are no formulas, or an import or a clustering is running.
    """
    with transaction.atomic():
        current = Collection.objects.select_for_update().get(pk=collection.pk)
        if unfinished_import(current) is not None:
            raise clustering_refused(f"An import into {current} is running. Wait until it is finished.")
        if unfinished_clustering(current) is not None:
            raise clustering_refused(f"The formulas of {current} are being clustered already.")
        if not current.formulas.exists():
            raise clustering_refused(f"{current} has no formulas. Import a formula index first.")
        job = jobs.request(
            kind=KIND,
            title=f"Cluster the formulas of {current}",
            arguments={"collection_id": current.pk},
            by=by,
            subject=current,
        )
        Clustering.objects.create(collection=current, job=job, is_from_scratch=is_from_scratch)
        audit.record(
            action="clustering.requested", subject=current, details={"from_scratch": is_from_scratch}, by=by
        )
    return job


def cluster_submitted(collection: Collection, formula: NDArray[np.bytes_]) -> Formulas:
    """The formulas of some ids with their visual ids, which are assigned if missing. Unknown ids are left out.

    This compares only these formulas and those that got their visual ids in the same way before. New ids are stored
    with the formulas, so that the next pool, or one that tops this one up, has the same ids.

    Raises:
        Refused: Some of these formulas were imported after the collection was clustered.
    """
    formulas = formulas_of(collection.pk, formula)
    without_id = [code.decode() for code in formulas.formula[formulas.visual == b""].tolist()]
    if not without_id:
        return formulas
    if latest_clustering(collection, is_complete=True) is not None:
        # A clustering of the collection leaves only formulas without LaTeX and MathML without an id.
        keys = keys_of(collection.pk, without_id)
        n_new = int(((keys.slt != b"") | (keys.latex != b"")).sum())
        if n_new:
            raise clustering_refused(
                f"{counted(n_new, 'formula')} that runs retrieved came into {collection} after its formulas were "
                "clustered. Cluster them again on the page of its formulas."
            )
        return formulas
    while not _clustered(collection, [code.decode() for code in formulas.formula.tolist()]):
        pass  # another pool stored new ids meanwhile: start again with these
    return formulas_of(collection.pk, formula)


def _clustered(collection: Collection, codes: Iterable[str]) -> bool:
    """Assign missing visual ids to some formulas; False if another process assigned ids at the same time."""
    with_made_id = _with_made_id(collection)
    keys = keys_of(collection.pk, {*codes, *with_made_id})
    with transaction.atomic():
        Collection.objects.select_for_update().get(pk=collection.pk)
        if _with_made_id(collection) != with_made_id:
            return False
        with connection.cursor() as cursor:  # the greatest number among the ids; 0 if no id is a number
            cursor.execute(
                "SELECT coalesce(max(visual::bigint), 0) FROM corpus_formula "
                "WHERE collection_id = %s AND visual <> '' AND visual ~ %s",
                [collection.pk, f"^[0-9]{{1,{NUMBER_DIGITS}}}$"],
            )
            greatest: int = cursor.fetchone()[0]
        store_ids(collection.pk, keys, visual_ids(keys, above=greatest))
    return True


def _with_made_id(collection: Collection) -> set[str]:
    """The formulas whose visual id clustering assigned."""
    made = Formula.objects.filter(collection=collection, is_visual_given=False).exclude(visual="")
    return set(made.values_list("code", flat=True))
