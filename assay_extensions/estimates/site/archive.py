"""Samples and estimates in archives of tracks: as records of the archive, and as rows again."""

from collections.abc import Iterable, Iterator, Mapping

from django.utils import timezone

from assay.archive.records import as_json
from assay_extensions.estimates.archive import (
    EstimateRecord,
    SampleRecord,
    estimate_file,
    estimates_in,
    sample_file,
    samples_in,
)
from assay_extensions.estimates.site.models import Estimate, Sample
from assay_extensions.estimates.site.selectors import estimates_page
from assessment.batches import services as batches
from assessment.models import Batch
from pooling.models import Pool
from publishing.archives.loading import Loading, Named
from publishing.archives.records import checked, record_of, row_of, save
from publishing.errors import load_refused
from publishing.models import Archive
from tracks.models import Machine


def gather(archive: Archive, names: Mapping[int, str]) -> Iterator[tuple[str, Iterable[str]]]:
    related = ("machine__assessor", "pool", "batch")
    samples = Sample.objects.filter(track=archive.track).exclude(batch=None).select_related(*related)
    numbers: dict[int, int] = {}
    for number, sample in enumerate(samples.order_by("pk").iterator(chunk_size=1), 1):
        numbers[sample.pk] = number
        record = record_of(
            SampleRecord,
            sample,
            machine=names[sample.machine.assessor.user_id],
            pool=sample.pool.name,
            batch=sample.batch.name if sample.batch else "",
            after=numbers[sample.after_id] if sample.after_id else None,
        )
        yield sample_file(number), [as_json(record)]
    estimates = Estimate.objects.filter(track=archive.track).exclude(result={})
    ordered = estimates.select_related("machine__assessor", "pool").order_by("pk")
    for number, estimate in enumerate(ordered.iterator(chunk_size=1), 1):
        own = record_of(
            EstimateRecord,
            estimate,
            machine=names[estimate.machine.assessor.user_id],
            pool=estimate.pool.name,
            sample=numbers[estimate.sample_id] if estimate.sample_id else None,
        )
        yield estimate_file(number), [as_json(own)]


def load(loading: Loading) -> None:
    """Store samples with their batches, and estimates. A batch of which nothing was judged is made again.

    Raises:
        Refused: A value cannot be stored, or the page cannot show it.
    """
    samples, pools = Named[int, Sample](), Named((pool.name, pool) for pool in loading.pools.values())
    machines = _machines(loading)
    for number, record in samples_in(loading.contents).items():
        sample = row_of(
            Sample,
            record,
            track=loading.track,
            machine=machines[record.machine],
            pool=pools[record.pool],
            batch=_batch(loading, pools[record.pool], record.batch),
            after=None if record.after is None else samples[record.after],
            job=None,
            created_by=loading.by,
        )
        samples[number] = save(checked(sample, sample_file(number)))
    for number, estimated in estimates_in(loading.contents).items():
        estimate = row_of(
            Estimate,
            estimated,
            track=loading.track,
            machine=machines[estimated.machine],
            pool=pools[estimated.pool],
            sample=None if estimated.sample is None else samples[estimated.sample],
            job=None,
            created_by=loading.by,
        )
        save(checked(estimate, estimate_file(number)))
        try:
            estimates_page(loading.track, estimate.machine_id)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise load_refused(f"{estimate_file(number)}: its tables cannot be shown ({error!r}).") from None


def _machines(loading: Loading) -> Named[str, Machine]:
    machines = Machine.objects.filter(assessor__track=loading.track)
    by_account = {
        machine.assessor.user.username: machine for machine in machines.select_related("assessor__user")
    }
    named = loading.assessors.items()
    return Named((name, by_account[account]) for name, account in named if account in by_account)


def _batch(loading: Loading, pool: Pool, name: str) -> Batch:
    batch = Batch.objects.filter(pool=pool, name=name).first()
    if batch is None:
        batch = batches.create(pool=pool, name=name[:100], by=loading.by)
        batch.status, batch.closed_at = Batch.Status.CLOSED, timezone.now()
        batch.save(update_fields=["status", "closed_at"])
    return batch
