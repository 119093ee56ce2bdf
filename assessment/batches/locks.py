"""The two locks of a batch: assessors share it while they judge; managing it excludes them."""

from assessment.models import Batch


def lock_for_judging(batch_id: int) -> Batch:
    """The batch; until the transaction ends, others can judge in it, but nobody can change or close it."""
    [batch] = Batch.objects.raw("SELECT * FROM assessment_batch WHERE id = %s FOR SHARE", [batch_id])
    return batch


def lock_for_managing(batch_id: int) -> Batch:
    """The batch; until the transaction ends, nobody else can judge in it, change it or close it."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol").defer("pool__statistics")
    return batches.select_for_update(of=("self",), no_key=True).get(pk=batch_id)
