"""Create batches by the rules of a protocol: second judgments, training rounds and adjudications."""

from collections.abc import Mapping, Sequence

from django.db import transaction

from accounts.models import User
from assay.errors import Refused
from assessment.batches import services as batch_services
from assessment.judgments.disagreements import Difference, Round
from assessment.models import Batch
from assessment.planning import services as assignment_services
from assessment.rounds.selectors import entries_to_adjudicate, spread_entries
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track
from web.pages import counted


@transaction.atomic
def create_dual(
    *,
    pool: Pool,
    name: str,
    second: Mapping[Topic, User],
    minutes_allotted: int = 120,
    is_open: bool = False,
    by: User,
) -> Batch:
    """Create a batch of second judgments, a draft unless `is_open`: each topic has another assessor."""
    if not second:
        raise Refused(
            "No topic has a second assessor. Choose one for at least one topic.", code="nothing-chosen"
        )
    batch = batch_services.create(
        pool=pool, name=name, kind=Batch.Kind.DUAL, minutes_allotted=minutes_allotted, by=by
    )
    for assessor in sorted(set(second.values()), key=lambda user: user.pk):
        own = [topic for topic, user in second.items() if user == assessor]
        assignment_services.assign(batch=batch, assessor=assessor, topics=own)
    return batch_services.open_for_judging(batch=batch) if is_open else batch


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
    is_open: bool = False,
    by: User,
) -> Batch:
    """Create a training round, in which every assessor judges the same units; a draft unless `is_open`.

    The units are the pool entries `units` (by id) and the documents `docnos` of the topics. Without both, they are
    `n_units` of each topic, spread over the ranks of the runs.
    """
    batch = batch_services.create(
        pool=pool, name=name, kind=Batch.Kind.TRAINING, minutes_allotted=minutes_allotted, by=by
    )
    picked = list(units)
    if docnos:
        rows = PoolEntry.objects.filter(pool=pool, topic__in=topics, docno__in=docnos)
        of_pool = dict(rows.values_list("pk", "docno"))
        if missing := sorted(set(docnos) - set(of_pool.values())):
            raise Refused(
                f"{counted(len(missing), 'document is,documents are')} not in the pool for these topics: "
                f"{', '.join(missing[:5])}",
                code="unknown-units",
            )
        picked += of_pool
    entries = picked or spread_entries(pool, list(topics), n_units or 1)
    batch_services.select_entries(batch=batch, entries=entries)
    assignment_services.share(batch=batch, assessors=assessors)
    return batch_services.open_for_judging(batch=batch) if is_open else batch


@transaction.atomic
def create_adjudications(
    *,
    track: Track,
    of_round: Round,
    difference: Difference,
    name: str,
    adjudicators: Sequence[User],
    is_blind: bool,
    minutes_allotted: int = 120,
    is_open: bool = False,
    by: User,
) -> list[Batch]:
    """Create a batch for each pool with disagreements, and share its topics evenly among the adjudicators.

    It is a draft unless `is_open`.

    Units that an adjudication batch has already are left out, so that the action can be repeated while assessors
    still judge.
    """
    entries = entries_to_adjudicate(track, of_round, difference)
    if not entries:
        raise Refused(
            "Every unit that differs like this is in an adjudication batch already. Choose another difference.",
            code="nothing-to-adjudicate",
        )
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
        batches.append(batch_services.open_for_judging(batch=batch) if is_open else batch)
    return batches
