"""The two ways to hold a batch. Whoever judges shares it; whoever manages it has it alone."""

from assessment.models import Batch


def share(batch_id: int) -> Batch:
    """The batch, which can be neither managed nor closed before the transaction ends; judging goes on beside."""
    [batch] = Batch.objects.raw("SELECT * FROM assessment_batch WHERE id = %s FOR SHARE", [batch_id])
    return batch


def manage(batch_id: int) -> Batch:
    """The batch, with nobody judging or managing it before the transaction ends."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol")
    return batches.select_for_update(of=("self",), no_key=True).get(pk=batch_id)
