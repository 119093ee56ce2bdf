"""Let a machine judge a pool."""

from django.db import transaction

from accounts.models import User
from assessment.batches import services as batches
from assessment.batches.selectors import pooled_topics
from assessment.models import Batch
from assessment.planning import services as assignments
from pooling.models import Pool
from tracks.models import Machine

DAY = 24 * 60  # minutes; a program that stops goes on with the same task


@transaction.atomic
def start(*, machine: Machine, pool: Pool, by: User) -> Batch:
    """Create a machine batch of a pool with all its topics, and open it."""
    name = f"Machine {machine}"[:100]
    batch = batches.create(pool=pool, name=name, kind=Batch.Kind.MACHINE, minutes_allotted=DAY, by=by)
    user = machine.assessor.user
    assignments.assign(batch=batch, assessor=user, topics=pooled_topics(batch))
    return batches.open_for_judging(batch=batch)
