"""The jobs that cluster the formulas of a collection.

One job leads. It divides the formulas into parts and requests helper jobs. Leader and helpers claim part after part,
compute the keys of its formulas (the slow step) and store them with the part. The leader then assigns visual ids in the
order of formula ids, so that the ids do not depend on who computed which part. With one worker the leader does
everything.

A killed job loses only the part that it held, and the next job claims that part. New ids are stored part by part too.
They depend on the keys only, so storing them twice changes nothing.
"""

import time
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import QuerySet

from assay.errors import Refused
from assay.formulas.visual_ids import Ids, Keys, report, visual_ids
from corpus.clusterings.keys import bounds, keys_between, strings_of
from corpus.formulas.selectors import formula_counts
from corpus.models import Clustering, ClusteringPart, Collection, Disagreement
from jobs import services as jobs
from jobs.models import Job

KIND = "corpus.cluster_formulas"
HELP = "corpus.help_clustering"
MAX_HELPERS = 15
PARTS_PER_HELPER = 5  # with fewer parts, a helper starts too late to help
WAIT_SECONDS = 0.5
STORED_AT_ONCE = 5_000  # disagreements
DELETED_AT_ONCE = 20  # parts

clustering_refused = partial(Refused, code="clustering-refused", title="These formulas cannot be clustered")


@jobs.handler(KIND, words=lambda _: "The formulas are clustered.")
def cluster_formulas(progress: jobs.Progress, *, collection_id: int) -> dict[str, Any]:
    """Cluster all formulas of a collection, and compare the ids of its index with our strings.

    Raises:
        Refused: This is an old job that was retried, and there is a newer clustering.
    """
    clustering = Clustering.objects.get(job_id=progress.job_id)
    if not clustering.is_complete:
        clusterings = Clustering.objects.filter(collection_id=clustering.collection_id)
        if clusterings.filter(pk__gt=clustering.pk).exists():
            raise clustering_refused(
                "There is a newer clustering of these formulas. Start another one instead."
            )
        _plan(progress, clustering)
        _make_keys(progress, clustering)
        while _unfinished(clustering).exists():
            time.sleep(WAIT_SECONDS)  # helpers work on the last parts
            _make_keys(progress, clustering)
        _assign_ids(progress, clustering)
    # The parts of this clustering and of failed ones before it are deleted, a few in a transaction: all keys of a large
    # collection take two minutes, longer than a job may be silent.
    parts = ClusteringPart.objects.filter(
        clustering__collection=clustering.collection_id, clustering__pk__lte=clustering.pk
    )
    ids = list(parts.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), DELETED_AT_ONCE):
        progress.update(start, len(ids), "parts; deleting what was computed")
        with progress.storing(is_part=True):
            ClusteringPart.objects.filter(pk__in=ids[start : start + DELETED_AT_ONCE]).delete()
    counts: dict[str, Any] = clustering.counts
    return counts


@jobs.handler(HELP)
def help_clustering(progress: jobs.Progress, *, clustering_id: int) -> dict[str, Any]:
    """Compute keys for a clustering until no part is left."""
    clustering = Clustering.objects.filter(pk=clustering_id).first()
    return {"parts": _make_keys(progress, clustering) if clustering else 0}


def _plan(progress: jobs.Progress, clustering: Clustering) -> None:
    """Divide the formulas into parts, once, and request helpers."""
    if clustering.parts.exists():
        return
    progress.update(0, None, "counting the formulas")
    ranges = bounds(clustering.collection_id)
    with progress.storing() as job:
        parts = [ClusteringPart(clustering=clustering, first=first, last=last) for first, last in ranges]
        ClusteringPart.objects.bulk_create(parts, batch_size=1000)
        for _ in range(min(MAX_HELPERS, len(parts) // PARTS_PER_HELPER)):
            jobs.request(
                kind=HELP,
                title=f"Help to {job.title[:1].lower()}{job.title[1:]}",
                arguments={"clustering_id": clustering.pk},
                by=job.created_by,
                subject=clustering.collection,
            )


def _unfinished(clustering: Clustering) -> QuerySet[ClusteringPart]:
    return clustering.parts.filter(keys=None)


def _make_keys(progress: jobs.Progress, clustering: Clustering) -> int:
    """Compute the keys of one part after another, until no part is free. Returns the number of parts."""
    n_parts, n = clustering.parts.count(), 0
    while (part := _claim(progress, clustering)) is not None:
        part_keys = keys_between(
            clustering.collection_id, part.first, part.last, keep_made=not clustering.is_from_scratch
        )
        with progress.storing(is_part=True):
            held = _unfinished(clustering).filter(progress.holds, pk=part.pk)
            n += held.update(keys=part_keys.keys.to_bytes(), counts=dict(part_keys.counts))
        left = _unfinished(clustering).count()
        progress.update(n_parts - left, n_parts, "parts; computing the appearance of formulas")
    return n


def _claim(progress: jobs.Progress, clustering: Clustering) -> ClusteringPart | None:
    """Claim a free part for this job; None if there is none, or if the leader has ended."""
    with progress.storing():
        leader = Job.objects.filter(pk=clustering.job_id, state__in=Job.UNFINISHED)
        if clustering.job_id != progress.job_id and not leader.exists():
            return None
        return progress.claim(_unfinished(clustering).defer("keys").order_by("first"))


def _assign_ids(progress: jobs.Progress, clustering: Clustering) -> None:
    """Assign visual ids, store them part by part, and report.

    With each part, as many formulas as it has are stored, in the order of their ids: usually neighbors in the table.
    """
    parts = list(clustering.parts.defer("keys").order_by("first"))
    progress.update(0, len(parts), "parts; assigning visual ids")
    stored = ClusteringPart.objects.values_list("keys", flat=True)  # read one part at a time
    keys = Keys.joined(Keys.from_bytes(bytes(stored.get(pk=part.pk) or b"")) for part in parts).in_order()
    visuals = visual_ids(keys)
    end = 0
    for n, part in enumerate(parts):
        n_formulas = sum(part.counts.get(basis, 0) for basis in ("slt", "no_slt", "no_mathml"))
        rows = slice(end, end := end + n_formulas)
        if not part.is_stored:
            with progress.storing(is_part=True):
                store_ids(clustering.collection_id, keys[rows], visuals[rows])
                part.is_stored = True
                part.save(update_fields=["is_stored"])
        progress.update(n + 1, len(parts), "parts; storing visual ids")
    _finish(progress, clustering, keys, visuals, sum((Counter(part.counts) for part in parts), Counter()))


def store_ids(collection_id: int, keys: Keys, visuals: Ids) -> None:
    """Store the visual ids that clustering assigned. Ids that an index gave never change."""
    rows = np.flatnonzero(keys.kept == b"")
    codes, assigned = (
        [cell.decode() for cell in column[rows].tolist()] for column in (keys.formula, visuals)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE corpus_formula AS formula SET visual = made.visual "
            "FROM unnest(%s::text[], %s::text[]) AS made (code, visual) "
            'WHERE formula.collection_id = %s AND formula.code = made.code COLLATE "C" '
            'AND NOT formula.is_visual_given AND formula.visual <> made.visual COLLATE "C"',
            [codes, assigned, collection_id],
        )


def _finish(
    progress: jobs.Progress, clustering: Clustering, keys: Keys, visuals: Ids, counts: Counter[str]
) -> None:
    """Store the report; the clustering is then complete."""
    progress.update(0, None, "comparing the ids of the index with our strings")
    summary = report(keys)
    with progress.storing():  # in place of those that a killed attempt has stored
        clustering.disagreements.all().delete()
    for start in range(0, len(summary.details), STORED_AT_ONCE):
        details = summary.details[start : start + STORED_AT_ONCE]
        codes = [keys.formula[detail.row].decode() for detail in details]
        strings = strings_of(clustering.collection_id, codes)
        rows = [
            Disagreement(
                clustering=clustering,
                visual=detail.visual.decode(),
                formula=code,
                n=detail.n,
                string=strings.get(code, ""),
                is_slt=detail.is_slt,
                n_strings=detail.n_strings,
                n_ids=detail.n_ids,
            )
            for detail, code in zip(details, codes, strict=True)
        ]
        with progress.storing():
            Disagreement.objects.bulk_create(rows)
    result = {
        **{basis: counts[basis] for basis in ("given", "slt", "no_slt", "no_mathml")},
        "formulas": len(keys),
        "visual_ids": len(np.unique(visuals[visuals != b""])),
        "without_id": int((visuals == b"").sum()),
        "ids_of_several_strings": summary.split_ids,
        "strings_of_several_ids": summary.shared_strings,
        "latex_of_several_ids": summary.shared_latex,
        "disagreeing_formulas": summary.n_formulas,
    }
    collection_counts = formula_counts(clustering.collection)
    with progress.storing():
        clustering.is_complete, clustering.counts = True, result
        clustering.save(update_fields=["is_complete", "counts"])
        collection = Collection.objects.select_for_update().get(pk=clustering.collection_id)
        collection.counts |= collection_counts
        collection.save(update_fields=["counts"])
