"""Create, edit, open and close batches.

Assessors share the lock of a batch while they judge; managing excludes them. Each assessor has a lock of their own.
"""

from collections.abc import Callable, Collection, Iterable

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, QuerySet
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assessment.batches.progress import progress_of_each
from assessment.errors import batch_not_open, not_an_assessor
from assessment.models import MAIN_AND_DUAL, MOST_JUDGES, Batch, BatchEntry, Task
from jobs.files.deletion import check_unused, delete_unused, parts_in_words
from participation.invitations.services import revoke
from pooling.models import Pool, PoolEntry
from tracks.models import Assessor, Track
from web.pages import counted
from web.statements import Prepared, read_rows

_OTHERS = Batch.objects.filter(
    kind__in=MAIN_AND_DUAL, pool__track=OuterRef("pool__track"), pool__protocol=OuterRef("pool__protocol")
)
# What judging needs of the pool; its other fields are read when they are used
_OF_POOL = ("pool__track", "pool__protocol", "pool__order")
_SHARED = Prepared(
    lambda batch: (
        Batch.objects.filter(pk=batch)
        .select_related("pool")
        .only(*[field.name for field in Batch._meta.concrete_fields], *_OF_POOL)
        .annotate(has_others=Exists(_OTHERS.exclude(pk=OuterRef("pk"))))
    ),
    locking="FOR SHARE OF assessment_batch",
)
_ASSESSOR = Prepared(
    lambda assessor, track: (
        Assessor.objects.filter(user=assessor, track=track)
        .only("pk")
        .order_by()
        .select_for_update(no_key=True)
    )
)


def lock_for_judging(batch_id: int) -> Batch:
    """The batch; until the transaction ends, others can judge in it, but nobody can change or close it."""
    [batch] = _SHARED(batch=batch_id)
    return batch


def return_tasks(tasks: QuerySet[Task]) -> None:
    """Return locked tasks to their queues, whatever time they had left. They are not overdue."""
    tasks.update(status=Task.Status.EXPIRED, expires_at=F("accepted_at"), submitted_at=None)


def lock_open(batch_id: int) -> Batch:
    """`lock_for_judging`, for a batch that must be open."""
    batch = lock_for_judging(batch_id)
    if batch.status != Batch.Status.OPEN:
        raise batch_not_open(batch)
    return batch


def hold_place(batch_id: int, assessor: User) -> Batch:
    """`lock_open`, for an assessor who takes tasks: their windows take turns, and so do people in a shared batch."""
    batch = lock_open(batch_id)
    if not hold_assessor(batch, assessor.pk):
        raise not_an_assessor(assessor, batch.pool.track)
    if batch.is_shared:
        # no two people get the same unit
        read_rows(
            "SELECT pg_advisory_xact_lock(hashtext('assessment.batch'), %(batch)s::int)", batch=batch.pk
        )
    return batch


def has_others(batch: Batch) -> bool:
    """True if the track has other main or second judgments of the protocol of a batch from `lock_for_judging`."""
    return bool(vars(batch)["has_others"])


def hold_assessor(batch: Batch, assessor_id: int) -> bool:
    """Lock the assessor's row in the track, so that their windows take turns. False if there is no row."""
    return _ASSESSOR.first(assessor=assessor_id, track=batch.pool.track_id) is not None


def lock_for_managing(batch_id: int) -> Batch:
    """The batch; until the transaction ends, nobody else can judge in it, change it or close it."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol").defer("pool__statistics")
    return batches.select_for_update(of=("self",), no_key=True).get(pk=batch_id)


Follower = Callable[..., None]  # with the arguments of `work_changed`
_followers: list[Follower] = []


def follows_work(function: Follower) -> Follower:
    """Call a function when a batch opens and when its topics change hands."""
    _followers.append(function)
    return function


def work_changed(
    *, batch: Batch, assessors: Collection[int] | None = None, lost: Iterable[tuple[int, int]] = ()
) -> None:
    """Tell those who follow the work of a batch. The caller holds the lock of the batch.

    Concerned are the topics of some assessors (by id), or of all. `lost` are the topics that were taken from assessors:
    topic and assessor, by id.
    """
    for follow in _followers:
        follow(batch=batch, assessors=assessors, lost=lost)


def check_name(*, pool: Pool, name: str, batch: Batch | None = None) -> None:
    """Refuse the name of another batch of the pool."""
    others = Batch.objects.filter(pool=pool, name=name)
    if (others if batch is None else others.exclude(pk=batch.pk)).exists():
        raise Refused(
            f"The pool already has a batch “{name}”; choose another name.",
            code="batch-name-taken",
            field="name",
        )


def _check_judges(batch: Batch) -> None:
    """Refuse a number of people per unit, or an open batch, that the kind of the batch or its protocol forbids."""
    protocol, kind, judges = batch.pool.protocol.parsed, batch.get_kind_display(), batch.judges
    rules, usual, groups = protocol.qrels, protocol.judging.judges, ", ".join(protocol.judging.groups)
    is_main = batch.kind == Batch.Kind.MAIN
    if batch.is_shared and not is_main:
        refusal = f"Only main batches can be open to join; this is a batch of kind {kind}."
    elif batch.is_shared and groups:
        refusal = f"{protocol.slug} asks for one assessor of each group ({groups}), so assign topics to them instead."
    elif judges is None:
        return
    elif not is_main:
        refusal = f"People per unit are for main batches; this is a batch of kind {kind}."
    elif not 1 <= judges <= MOST_JUDGES:
        refusal = f"A unit has 1 to {MOST_JUDGES} judges; got {judges}."
    elif judges == usual:
        return
    elif "sum" in {rules.aggregate, *(set_rules.aggregate for set_rules in rules.sets)}:
        refusal = (
            f"A grade of {protocol.slug} is the sum of {counted(usual, 'judgment')}, so {judges} people per unit "
            "would make other grades. Leave the field empty."
        )
    elif groups:
        refusal = f"{protocol.slug} asks for one assessor of each group ({groups}). Leave the field empty."
    else:
        return
    raise Refused(
        refusal, code="judges-refused", field="judges" if judges is not None and not batch.is_shared else ""
    )


def _check_places(batch: Batch) -> None:
    """Refuse fewer people per unit than have a topic, or have judged a unit."""
    if batch.kind != Batch.Kind.MAIN or batch.pk is None:
        return
    few = counted(batch.n_judges, "person per unit is,people per unit are")
    held = batch.topic_assignments.filter(is_withdrawn=False, seat__gt=batch.n_judges)
    if (assignment := held.select_related("topic").order_by("-seat").first()) is not None:
        raise Refused(
            f"{few} too few: topic {assignment.topic} is assigned to {assignment.seat}. "
            "Withdraw it from some of them first.",
            code="judges-refused",
            field="judges",
        )
    submitted = batch.tasks.filter(status=Task.Status.SUBMITTED)
    most = submitted.aggregate(most=Max("seat"))["most"] or 0
    if most > batch.n_judges:
        raise Refused(
            f"{few} too few: units of this batch have up to {most} judges already.",
            code="judges-refused",
            field="judges",
        )


@transaction.atomic
def create(
    *,
    pool: Pool,
    name: str,
    kind: str = Batch.Kind.MAIN,
    minutes_allotted: int = 120,
    judges: int | None = None,
    is_shared: bool = False,
    is_blind: bool = False,
    by: User | None,
) -> Batch:
    """Create a batch of a pool, as a draft without topics. `is_blind` concerns adjudications only.

    `judges` is the number of people who judge each unit of a main batch; without it, the protocol's. A main batch that
    `is_shared` can be joined by the assessors of the track.
    """
    if pool.status != Pool.Status.READY:
        raise Refused(
            f"The pool “{pool}” is not ready. Create a batch once the pool is built.", code="pool-not-ready"
        )
    check_name(pool=pool, name=name)
    batch = Batch(
        pool=pool,
        name=name,
        kind=kind,
        minutes_allotted=minutes_allotted,
        judges=judges,
        is_shared=is_shared,
        is_blind=is_blind,
        created_by=by,
    )
    _check_judges(batch)
    batch.save()
    details: dict[str, object] = {"kind": batch.get_kind_display(), "pool": pool.name}
    details |= {"people per unit": judges} if judges else {}
    audit.record(action="batch.created", subject=batch, track=pool.track, details=details, by=by)
    return batch


@transaction.atomic
def select_entries(*, batch: Batch, entries: Iterable[int]) -> Batch:
    """Let a draft judge only some entries of its pool, by id, instead of the ones selected before or all."""
    locked = lock_for_managing(batch.pk)
    if locked.status != Batch.Status.DRAFT:
        raise _wrong_state(locked, "changed to other units")
    if locked.topic_assignments.exists():
        raise Refused(
            f"The batch “{locked}” has assigned topics, so its units are fixed. "
            "Create another batch for other units.",
            code="topics-assigned",
        )
    chosen = PoolEntry.objects.filter(pool=locked.pool_id, pk__in=list(entries)).values_list("pk", flat=True)
    locked.selected.all().delete()
    BatchEntry.objects.bulk_create([BatchEntry(batch=locked, entry_id=pk) for pk in chosen], batch_size=5_000)
    locked.is_selective = True
    locked.save(update_fields=["is_selective"])
    return locked


@transaction.atomic
def edit(*, batch: Batch, name: str, minutes_allotted: int, judges: int | None, is_shared: bool) -> Batch:
    """Change a batch's name, the minutes for a task, the people per unit, and whether it is open to join.

    Tasks already taken keep their time.
    """
    locked = lock_for_managing(batch.pk)
    check_name(pool=locked.pool, name=name, batch=locked)
    before = {
        "name": locked.name,
        "minutes_allotted": locked.minutes_allotted,
        "judges": locked.judges,
        "is_shared": locked.is_shared,
    }
    if is_shared != locked.is_shared and locked.topic_assignments.exists():
        raise Refused(
            f"People have topics of “{locked}”, so whether it is open to join cannot change. Create another batch.",
            code="topics-assigned",
        )
    locked.name, locked.minutes_allotted, locked.judges = name, minutes_allotted, judges
    locked.is_shared = is_shared
    _check_judges(locked)
    _check_places(locked)
    locked.save(update_fields=list(before))
    differences = audit.changes(Batch(**before), locked, before)
    audit.record(action="batch.edited", subject=locked, track=locked.pool.track, details=differences)
    return locked


@transaction.atomic
def open_for_judging(*, batch: Batch) -> Batch:
    """Let the assessors take tasks; a closed batch can be opened again."""
    locked = lock_for_managing(batch.pk)
    if locked.status == Batch.Status.OPEN:
        raise _wrong_state(locked, "opened")
    if not (locked.is_shared or locked.topic_assignments.filter(is_withdrawn=False).exists()):
        raise Refused(
            f"The batch “{locked}” has no assigned topics. Assign topics before you open it.",
            code="no-topics",
        )
    locked.status, locked.closed_at = Batch.Status.OPEN, None
    locked.save(update_fields=["status", "closed_at"])
    work_changed(batch=locked)
    audit.record(action="batch.opened", subject=locked, track=locked.pool.track)
    return locked


# Extensions add those of their own
PARTS = {"assessment.BatchEntry", "assessment.TopicAssignment", "assessment.BatchLink"}


def _wrong_state(batch: Batch, wanted: str) -> Refused:
    message = f"The batch “{batch}” is {batch.get_status_display()}; it cannot be {wanted}."
    return Refused(message, code="wrong-state")


def check_deletion(batch: Batch) -> None:
    """Refuse to delete a batch that was opened, or that judgments refer to.

    Raises:
        Refused: It was opened, or something refers to it.
    """
    if batch.status != Batch.Status.DRAFT:
        raise Refused(
            f"The batch “{batch}” is {batch.get_status_display()}, so it cannot be deleted. Its judgments are kept.",
            code="wrong-state",
        )
    check_unused(batch, PARTS)


@transaction.atomic
def delete(*, batch: Batch, by: User) -> None:
    """Delete a draft with its assignments and its link, which then leads nowhere.

    Raises:
        Refused: As `check_deletion`.
    """
    locked = lock_for_managing(batch.pk)
    check_deletion(locked)
    details = {"pool": locked.pool.name, "deleted": parts_in_words(locked, PARTS)}
    audit.record(action="batch.deleted", subject=locked.name, track=locked.pool.track, details=details, by=by)
    for link in locked.links.select_related("invitation"):
        revoke(invitation=link.invitation)
    delete_unused(locked, PARTS)


def check_closing(batch: Batch) -> None:
    """Refuse to close a batch that is not open."""
    if batch.status != Batch.Status.OPEN:
        raise _wrong_state(batch, "closed")


@transaction.atomic
def close(*, batch: Batch) -> Batch:
    """Stop tasks and revisions. Tasks that are already taken can still be submitted, once."""
    locked = lock_for_managing(batch.pk)
    check_closing(locked)
    locked.status, locked.closed_at = Batch.Status.CLOSED, timezone.now()
    locked.save(update_fields=["status", "closed_at"])
    audit.record(action="batch.closed", subject=locked, track=locked.pool.track)
    return locked


@transaction.atomic
def close_finished(*, track: Track) -> list[Batch]:
    """Close the open batches of people in which everything is judged."""
    batches = Batch.objects.filter(pool__track=track, status=Batch.Status.OPEN)
    progress = progress_of_each(batches.exclude(kind=Batch.Kind.MACHINE)).values()
    finished = [batch_progress.batch for batch_progress in progress if batch_progress.is_finished]
    if not finished:
        raise Refused(
            f"No open batch of {track} is finished: units are left to judge.", code="nothing-finished"
        )
    return [close(batch=batch) for batch in finished]
