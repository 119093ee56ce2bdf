"""The two locks of a batch: assessors share it while they judge; managing it excludes them. And that of an assessor."""

from assessment.models import Batch
from pooling.models import Pool
from web.statements import Statement, Table, joined

_BATCH = Table(Batch, "batch")
_POOL = Table(Pool, "pool", only=("id", "track", "protocol", "order"))
_SHARE = Statement(f"""
SELECT {_BATCH.columns}, {_POOL.columns},
    EXISTS (
        SELECT 1 FROM assessment_batch other JOIN pooling_pool other_pool ON other_pool.id = other.pool_id
        WHERE other.id <> batch.id AND other.kind IN ('main', 'dual')
          AND other_pool.track_id = pool.track_id AND other_pool.protocol_id = pool.protocol_id
    )
FROM assessment_batch batch JOIN pooling_pool pool ON pool.id = batch.pool_id
WHERE batch.id = %(batch)s FOR SHARE OF batch
""")  # noqa: S608 - of constants


def lock_for_judging(batch_id: int) -> Batch:
    """The batch; until the transaction ends, others can judge in it, but nobody can change or close it.

    Its pool has only what judging needs; the other fields are read when they are used.
    """
    [row] = _SHARE.rows(batch=batch_id)
    batch: Batch
    batch, batch.pool = joined(row, _BATCH, _POOL)
    vars(batch)["has_others"] = row[-1]
    return batch


def has_others(batch: Batch) -> bool:
    """Whether the track has other main or dual batches of the same protocol, of a batch from `lock_for_judging`."""
    return bool(vars(batch)["has_others"])


_ASSESSOR = Statement("""
SELECT id FROM tracks_assessor WHERE user_id = %(assessor)s AND track_id = %(track)s FOR NO KEY UPDATE
""")


def hold_assessor(batch: Batch, assessor_id: int) -> bool:
    """Lock the assessor's row in the track, so that their windows take turns. False if there is no row."""
    return bool(_ASSESSOR.rows(assessor=assessor_id, track=batch.pool.track_id))


def lock_for_managing(batch_id: int) -> Batch:
    """The batch; until the transaction ends, nobody else can judge in it, change it or close it."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol").defer("pool__statistics")
    return batches.select_for_update(of=("self",), no_key=True).get(pk=batch_id)
