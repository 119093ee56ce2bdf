"""Create batches by the rules of a protocol: dual batches and training rounds."""

from collections.abc import Mapping, Sequence

from django.db import transaction

from accounts.models import User
from assessment.assignments import services as assignment_services
from assessment.batches import services as batch_services
from assessment.models import Batch
from assessment.planning.errors import NothingChosen, UnknownUnits
from assessment.planning.selectors import spread_entries
from pooling.models import Pool, PoolEntry
from tracks.models import Topic


@transaction.atomic
def create_dual(
    *, pool: Pool, name: str, second: Mapping[Topic, User], minutes_allotted: int = 120, by: User
) -> Batch:
    """Create the draft of a dual batch in which each topic has a second assessor: all topics, or nothing.

    Raises
    ------
    NothingChosen, PoolNotReady, BatchNameTaken, NotAnAssessor, TeamMemberCannotJudge, AlreadyJudgedTopic
    """
    if not second:
        raise NothingChosen
    batch = batch_services.create(
        pool=pool, name=name, kind=Batch.Kind.DUAL, minutes_allotted=minutes_allotted, by=by
    )
    for assessor in sorted(set(second.values()), key=lambda user: user.pk):
        own = [topic for topic, user in second.items() if user == assessor]
        assignment_services.assign(batch=batch, assessor=assessor, topics=own)
    return batch


@transaction.atomic
def create_training(
    *,
    pool: Pool,
    name: str,
    topics: Sequence[Topic],
    assessors: Sequence[User],
    n_units: int | None = None,
    docnos: Sequence[str] = (),
    units: Sequence[int] = (),
    minutes_allotted: int = 120,
    by: User,
) -> Batch:
    """Create the draft of a training round, in which every assessor judges the same units.

    The units are the pool entries `units` (by id) and the documents `docnos` of the topics. Without both, they are
    `n_units` of each topic, spread over the ranks of the runs.

    Raises
    ------
    UnknownUnits, PoolNotReady, BatchNameTaken, NoAssessorsChosen, NotAnAssessor, TeamMemberCannotJudge
    """
    batch = batch_services.create(
        pool=pool, name=name, kind=Batch.Kind.TRAINING, minutes_allotted=minutes_allotted, by=by
    )
    picked = [*units, *(_picked(pool, topics, docnos) if docnos else ())]
    entries = picked or spread_entries(pool, list(topics), n_units or 1)
    batch_services.select_entries(batch=batch, entries=entries)
    assignment_services.share(batch=batch, assessors=assessors)
    return batch


def _picked(pool: Pool, topics: Sequence[Topic], docnos: Sequence[str]) -> list[int]:
    entries = PoolEntry.objects.filter(pool=pool, topic__in=topics, docno__in=docnos)
    rows = dict(entries.values_list("pk", "docno"))
    missing = sorted(set(docnos) - set(rows.values()))
    if missing:
        raise UnknownUnits(missing)
    return list(rows)
