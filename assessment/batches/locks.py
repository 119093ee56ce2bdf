"""The two locks of a batch: assessors share it while they judge; managing it excludes them. And that of an assessor."""

from django.db import DEFAULT_DB_ALIAS, connection

from assessment.models import Batch
from pooling.models import Pool

_POOL = ["id", "track_id", "protocol_id", "order"]
_SHARE = """
SELECT batch.*, pool.track_id AS pool_track, pool.protocol_id AS pool_protocol, pool.order AS pool_order,
    EXISTS (
        SELECT 1 FROM assessment_batch other JOIN pooling_pool other_pool ON other_pool.id = other.pool_id
        WHERE other.id <> batch.id AND other.kind IN ('main', 'dual')
          AND other_pool.track_id = pool.track_id AND other_pool.protocol_id = pool.protocol_id
    ) AS has_others
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


def has_others(batch: Batch) -> bool:
    """Whether the track has other main or dual batches of the same protocol, of a batch from `lock_for_judging`."""
    return bool(vars(batch)["has_others"])


_ASSESSOR = "SELECT id FROM tracks_assessor WHERE user_id = %s AND track_id = %s FOR NO KEY UPDATE"


def hold_assessor(batch: Batch, assessor_id: int) -> bool:
    """Lock the assessor's row in the track, so that their windows take turns. False if there is no row."""
    with connection.cursor() as cursor:
        cursor.execute(_ASSESSOR, [assessor_id, batch.pool.track_id])
        return cursor.fetchone() is not None


def lock_for_managing(batch_id: int) -> Batch:
    """The batch; until the transaction ends, nobody else can judge in it, change it or close it."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol").defer("pool__statistics")
    return batches.select_for_update(of=("self",), no_key=True).get(pk=batch_id)
