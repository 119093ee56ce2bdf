"""Create batches that judge only the units on which assessors disagree."""

from collections.abc import Sequence

from django.db import transaction

from accounts.models import User
from assessment.adjudication.errors import NothingToAdjudicate
from assessment.adjudication.selectors import entries_to_adjudicate
from assessment.agreement.rules import Difference
from assessment.agreement.selectors import Round
from assessment.assignments import services as assignment_services
from assessment.batches import services as batch_services
from assessment.models import Batch
from pooling.models import Pool
from tracks.models import Track


@transaction.atomic
def create(
    *,
    track: Track,
    of_round: Round,
    difference: Difference,
    name: str,
    adjudicators: Sequence[User],
    is_blind: bool,
    minutes_allotted: int = 120,
    by: User,
) -> list[Batch]:
    """Create a draft for each pool with disagreements, and share its topics evenly among the adjudicators.

    Units that an adjudication batch has already are left out, so that the action can be repeated while assessors
    still judge.

    Raises
    ------
    NothingToAdjudicate, BatchNameTaken, NoAssessorsChosen, NotAnAssessor, TeamMemberCannotJudge
    """
    entries = entries_to_adjudicate(track, of_round, difference)
    if not entries:
        raise NothingToAdjudicate
    batches = []
    for pool in Pool.objects.filter(pk__in=set(entries.values())).order_by("pk"):
        batch = batch_services.create(
            pool=pool,
            name=name,
            kind=Batch.Kind.ADJUDICATION,
            minutes_allotted=minutes_allotted,
            is_blind=is_blind,
            by=by,
        )
        own = [entry for entry, pool_id in entries.items() if pool_id == pool.pk]
        batch_services.select_entries(batch=batch, entries=own)
        assignment_services.share(batch=batch, assessors=adjudicators)
        batches.append(batch)
    return batches
