"""The jobs that cluster a collection's formulas.

One job leads. It divides the formulas into parts and asks for helpers; leader and helpers take part after part, make
the keys of its formulas (the slow step) and store them with the part. The leader then gives out ids in the order of
formula ids, so that they do not depend on who made which part. With one worker the leader does all of it.

A killed job loses the part that it held and no other: whoever comes next takes that up. New ids are stored part by
part too. What is stored depends on the keys alone, so doing it twice changes nothing.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from assay.errors import Refused
from assay.formulas.visual_ids import Ids, Keys, Report, report, visual_ids
from corpus.clusterings.keys import bounds, keys_between, strings_of
from corpus.formulas.selectors import formula_counts
from corpus.models import Clustering, ClusteringPart, Collection, Disagreement
from jobs import services as jobs
from jobs.models import Job

KIND = "corpus.cluster_formulas"
HELP = "corpus.help_clustering"
MAX_HELPERS = 15
PARTS_A_HELPER = 5  # a helper for fewer starts too late to be of help
WAIT_SECONDS = 0.5


class ClusteringRefused(Refused):
    """Formulas that cannot be clustered."""

    title = "These formulas cannot be clustered"


@jobs.handler(KIND)
def cluster_formulas(progress: jobs.Progress, *, collection_id: int) -> dict[str, Any]:
    """Cluster all formulas of a collection, and compare the ids that its index gave with our strings.

    Raises
    ------
    ClusteringRefused
        The job is an old one that is tried again, and another clustering has come between.
    """
    clustering = Clustering.objects.get(job_id=progress.job_id)
    if clustering.is_complete:
        counts: dict[str, Any] = clustering.counts
        return counts
    if Clustering.objects.filter(collection_id=collection_id, pk__gt=clustering.pk).exists():
        raise ClusteringRefused("These formulas were clustered again since; start a new clustering.")
    _plan(progress, clustering)
    _make_keys(progress, clustering)
    while _unfinished(clustering).exists():
        time.sleep(WAIT_SECONDS)  # helpers are at the last parts
        _make_keys(progress, clustering)
    return _settle(progress, clustering)


@jobs.handler(HELP)
def help_clustering(progress: jobs.Progress, *, clustering_id: int) -> dict[str, Any]:
    """Make keys for a clustering until no part is left."""
    clustering = Clustering.objects.filter(pk=clustering_id).first()
    return {"parts": _make_keys(progress, clustering) if clustering else 0}


def _plan(progress: jobs.Progress, clustering: Clustering) -> None:
    """Divide the formulas into parts, once, and ask for helpers."""
    if clustering.parts.exists():
        return
    progress.update(0, None, "counting the formulas")
    found = bounds(clustering.collection_id)
    with progress.storing() as job:
        parts = [ClusteringPart(clustering=clustering, first=first, last=last) for first, last in found]
        ClusteringPart.objects.bulk_create(parts, batch_size=1000)
        for _ in range(min(MAX_HELPERS, len(parts) // PARTS_A_HELPER)):
            jobs.request(
                kind=HELP,
                title=f"Help to {job.title[:1].lower()}{job.title[1:]}"[:200],
                arguments={"clustering_id": clustering.pk},
                by=job.created_by,
                subject=clustering.collection,
            )


def _unfinished(clustering: Clustering) -> QuerySet[ClusteringPart]:
    return clustering.parts.filter(keys=None)


def _make_keys(progress: jobs.Progress, clustering: Clustering) -> int:
    """Make the keys of one part after another, until none is left that nobody holds. Returns how many."""
    n_parts, n = clustering.parts.count(), 0
    while (part := _claim(progress, clustering)) is not None:
        found = keys_between(
            clustering.collection_id, part.first, part.last, keep_made=not clustering.is_anew
        )
        with progress.storing():
            held = _unfinished(clustering).filter(
                pk=part.pk, holder_id=progress.job_id, holder_attempt=progress.attempt
            )
            n += held.update(keys=found.keys.to_bytes(), counts=dict(found.counts))
        left = _unfinished(clustering).count()
        progress.update(n_parts - left, n_parts, "parts; reading what formulas look like")
    return n


def _claim(progress: jobs.Progress, clustering: Clustering) -> ClusteringPart | None:
    """A part that nobody works at, now held by this job; None if there is none, or if the leader has ended."""
    lost = timezone.now() - timedelta(seconds=settings.JOB_LOST_AFTER_SECONDS)
    is_free = (
        Q(holder=None)
        | ~Q(holder__state=Job.State.RUNNING)
        | ~Q(holder__attempt=F("holder_attempt"))
        | Q(holder__heartbeat_at__lt=lost)
    )
    with progress.storing():
        if clustering.job_id != progress.job_id and not _is_led(clustering):
            return None
        waiting = _unfinished(clustering).select_for_update(skip_locked=True, of=["self"])
        part = waiting.defer("keys").filter(is_free).order_by("first").first()
        if part is not None:
            part.holder_id, part.holder_attempt = progress.job_id, progress.attempt
            part.save(update_fields=["holder", "holder_attempt"])
        return part


def _is_led(clustering: Clustering) -> bool:
    states = [Job.State.QUEUED, Job.State.RUNNING]
    return Job.objects.filter(pk=clustering.job_id, state__in=states).exists()


def _settle(progress: jobs.Progress, clustering: Clustering) -> dict[str, Any]:
    """Give out ids, store them part by part, and report."""
    parts = list(clustering.parts.defer("keys").order_by("first"))
    progress.update(0, len(parts), "parts; giving out ids")
    keys = Keys.joined(list(_stored_keys(parts)))
    visuals = visual_ids(keys)
    end = 0
    for i, part in enumerate(parts):
        rows = slice(end, end := end + _n_formulas(part))
        if not part.is_stored:
            with progress.storing():
                store_ids(clustering.collection_id, keys[rows], visuals[rows])
                part.is_stored = True
                part.save(update_fields=["is_stored"])
        progress.update(i + 1, len(parts), "parts; storing visual ids")
    return _finish(
        progress, clustering, keys, visuals, sum((Counter(part.counts) for part in parts), Counter())
    )


def _stored_keys(parts: Sequence[ClusteringPart]) -> Iterator[Keys]:
    """The keys of each part, read one by one: all of them as they are stored would double the memory."""
    for part in parts:
        keys = ClusteringPart.objects.values_list("keys", flat=True).get(pk=part.pk)
        yield Keys.from_bytes(bytes(keys or b""))


def _n_formulas(part: ClusteringPart) -> int:
    return sum(part.counts.get(what, 0) for what in ("slt", "no_slt", "no_mathml"))


def store_ids(collection_id: int, keys: Keys, visuals: Ids) -> None:
    """Store the visual ids that were made; those that an index gave are never touched."""
    rows = np.flatnonzero(keys.kept == b"")
    codes, made = ([one.decode() for one in column[rows].tolist()] for column in (keys.formula, visuals))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE corpus_formula AS formula SET visual = made.visual "
            "FROM unnest(%s::text[], %s::text[]) AS made (code, visual) "
            'WHERE formula.collection_id = %s AND formula.code = made.code COLLATE "C" '
            'AND NOT formula.is_visual_given AND formula.visual <> made.visual COLLATE "C"',
            [codes, made, collection_id],
        )


def _finish(
    progress: jobs.Progress, clustering: Clustering, keys: Keys, visuals: Ids, counts: Counter[str]
) -> dict[str, Any]:
    """Report, and put away what was only needed on the way."""
    progress.update(0, None, "comparing given ids with our strings")
    found = report(keys)
    rows = _disagreements(clustering, keys, found)
    said = {
        **counts,
        "formulas": len(keys),
        "visual_ids": len(np.unique(visuals[visuals != b""])),
        "without_id": int((visuals == b"").sum()),
        "ids_of_several_strings": found.split_ids,
        "strings_of_several_ids": found.shared_strings,
        "latex_of_several_ids": found.shared_latex,
        "disagreeing_formulas": found.n_formulas,
    }
    of_collection = formula_counts(clustering.collection)
    with progress.storing():
        Disagreement.objects.bulk_create(rows, batch_size=5000)
        clustering.parts.all().delete()
        clustering.is_complete, clustering.counts = True, said
        clustering.save(update_fields=["is_complete", "counts"])
        collection = Collection.objects.select_for_update().get(pk=clustering.collection_id)
        collection.counts |= of_collection
        collection.save(update_fields=["counts"])
    return said


def _disagreements(clustering: Clustering, keys: Keys, found: Report) -> Sequence[Disagreement]:
    codes = [keys.formula[one.row].decode() for one in found.details]
    strings = strings_of(clustering.collection_id, codes)
    return [
        Disagreement(
            clustering=clustering,
            visual=one.visual.decode(),
            formula=code,
            n=one.n,
            string=strings.get(code, ""),
            is_slt=one.is_slt,
            n_strings=one.n_strings,
            n_ids=one.n_ids,
        )
        for one, code in zip(found.details, codes, strict=True)
    ]
