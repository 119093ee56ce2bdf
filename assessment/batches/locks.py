"""The two locks of a batch: assessors share it while they judge; managing it excludes them."""

from django.db import DEFAULT_DB_ALIAS

from assessment.models import Batch
from pooling.models import Pool

_POOL = ["id", "track_id", "protocol_id", "order"]
_SHARE = """
SELECT batch.*, pool.track_id AS pool_track, pool.protocol_id AS pool_protocol, pool.order AS pool_order
FROM assessment_batch batch JOIN pooling_pool pool ON pool.id = batch.pool_id
WHERE batch.id = %s FOR SHARE OF batch
"""


def lock_for_judging(batch_id: int) -> Batch:
    """The batch; until the transaction ends, others can judge in it, but nobody can change or close it.

    Its pool has only what judging needs; the other fields are read when they are used.
    """
    [batch] = Batch.objects.raw(_SHARE, [batch_id])
    row = vars(batch)
    pool = [row[name] for name in ("pool_id", "pool_track", "pool_protocol", "pool_order")]
    batch.pool = Pool.from_db(DEFAULT_DB_ALIAS, _POOL, pool)
    return batch


def lock_for_managing(batch_id: int) -> Batch:
    """The batch; until the transaction ends, nobody else can judge in it, change it or close it."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol").defer("pool__statistics")
    return batches.select_for_update(of=("self",), no_key=True).get(pk=batch_id)
