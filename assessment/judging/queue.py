"""Find the entry of a batch that an assessor judges next, and the one that will probably follow.

Nothing here writes or locks.

The statements that every submission needs are prepared: planning them takes longer than running them.
"""

from typing import Any, NamedTuple

from assessment.batches.other_batches import COUNTING, HAS_OTHERS, open_in_other_batches, settled_entries
from assessment.judging import move_to_front
from assessment.models import Batch, Task
from pooling.models import Pool
from web.statements import Statement, read_rows


class NextEntry(NamedTuple):
    """The entry for a new task, and the entry that follows it as far as known now.

    `task_id` is the assessor's expired task for the entry; `has_others` is true if other batches count in this one.
    With `position` -1 the topic's cursor stays at the start.
    """

    assignment_id: int
    topic_id: int
    seat: int
    cursor: int
    entry_id: int
    position: int
    task_id: int | None
    has_others: bool
    following: int | None = None


class Search(NamedTuple):
    """The next place, and the assignments in whose topics nothing is left."""

    place: NextEntry | None
    exhausted: list[int]


# An entry is open if nobody has judged it in the batch in the seat, and the assessor has no task for it. Where a batch
# is open to join, others judge in the same seat, so nobody may be judging it there now.
OPEN_ENTRY = """
    entry.pool_id = %(pool)s AND entry.topic_id = assignment.topic_id
    AND (NOT %(is_selective)s OR EXISTS (
        SELECT 1 FROM assessment_batchentry selected
        WHERE selected.batch_id = %(batch)s AND selected.entry_id = entry.id
    ))
    AND NOT EXISTS (
        SELECT 1 FROM assessment_task task
        WHERE task.batch_id = %(batch)s AND task.entry_id = entry.id
          AND ((task.seat = assignment.seat AND (
                  task.status = 'submitted' OR %(is_shared)s AND task.status = 'accepted' AND task.expires_at > now()
                ))
               OR (task.assessor_id = %(assessor)s AND task.status <> 'expired' AND NOT task.is_check))
    )
"""
OWN_TASK = "own.batch_id = %(batch)s AND own.assessor_id = %(assessor)s AND NOT own.is_check"
_FIRST = f"""
SELECT assignment.id, assignment.topic_id, assignment.seat, assignment.cursor, first.id, first.position, own.id,
    {HAS_OTHERS}
FROM assessment_topicassignment assignment
JOIN assessment_batch batch ON batch.id = assignment.batch_id
JOIN tracks_topic topic ON topic.id = assignment.topic_id
CROSS JOIN LATERAL (
    SELECT entry.id, entry.position FROM pooling_poolentry entry
    WHERE {OPEN_ENTRY} {{after}}
    ORDER BY entry.position LIMIT 2
) first
LEFT JOIN assessment_task own ON {OWN_TASK} AND own.entry_id = first.id
WHERE assignment.batch_id = %(batch)s AND assignment.assessor_id = %(assessor)s AND NOT assignment.is_withdrawn
  AND assignment.id <> ALL(%(exhausted)s)
ORDER BY topic.natural_code, topic.code, first.position LIMIT 2
"""  # noqa: S608 - of constants
# Two statements, because the plan of one for both would not use the position in the index.
_FROM_CURSOR = Statement(_FIRST.format(after="AND entry.position >= assignment.cursor"))
_ANYWHERE = Statement(_FIRST.format(after=""))
_LEFT = f"""
SELECT entry.id, entry.position, own.id
FROM assessment_topicassignment assignment
JOIN pooling_poolentry entry ON {OPEN_ENTRY}
LEFT JOIN assessment_task own ON {OWN_TASK} AND own.entry_id = entry.id
WHERE assignment.id = %(assignment)s
ORDER BY entry.position
"""  # noqa: S608 - of constants


def next_place(batch: Batch, assessor_id: int) -> Search:
    """The next entry that the assessor must judge: after each topic's cursor, or else anywhere.

    Looking anywhere costs an index lookup per entry. It happens when the cursors are at the end, and finds entries
    before them, because a pool grew or its order changed. If other batches count, or judgments decide the order, all
    entries of the current topic are read.
    """
    is_moving = batch.pool.order == Pool.Order.MOVE_TO_FRONT
    search = _search(batch, assessor_id, anywhere=is_moving)
    if search.place is not None:
        return search
    again = _search(batch, assessor_id, anywhere=True)
    return Search(again.place, search.exhausted + again.exhausted)


def open_entries(batch: Batch, assessor_id: int, assignment_id: int) -> set[int]:
    """All entries of a topic that the assessor can still get, in any order."""
    rows = read_rows(_LEFT, **parameters_of(batch, assessor_id), assignment=assignment_id)
    settled = settled_entries([assignment_id])[assignment_id] if batch.kind in COUNTING else set()
    return {row[0] for row in rows} - settled


def following(batch: Batch, assessor_id: int) -> int | None:
    """The entry that the assessor will probably get after the open task. Others may judge it first."""
    place = next_place(batch, assessor_id).place
    return None if place is None else place.entry_id


def entry_after(batch: Batch, task: Task) -> int | None:
    """The entry that the assessor will probably get after an open task: of a hidden check, or of an ordinary task."""
    ordinary = following(batch, task.assessor_id)
    if not batch.has_checks:
        return ordinary
    check = following_check(batch, task)
    return check or ordinary or following_check(batch, task, at_end=True)


def _search(batch: Batch, assessor_id: int, *, anywhere: bool) -> Search:
    is_moving = batch.pool.order == Pool.Order.MOVE_TO_FRONT
    statement, parameters = _ANYWHERE if anywhere else _FROM_CURSOR, parameters_of(batch, assessor_id)
    exhausted: list[int] = []
    while rows := statement.rows(**parameters, exhausted=exhausted):  # by topic and position
        place = NextEntry(*rows[0])._replace(following=rows[1][4] if rows[1:] else None)
        chosen = _chosen(batch, assessor_id, place) if is_moving or place.has_others else place
        if chosen is not None:
            return Search(chosen, exhausted)
        exhausted.append(place.assignment_id)
    return Search(None, exhausted)


def parameters_of(batch: Batch, assessor_id: int) -> dict[str, Any]:
    return {
        "batch": batch.pk,
        "pool": batch.pool_id,
        "is_selective": batch.is_selective,
        "is_shared": batch.is_shared,
        "assessor": assessor_id,
    }


def _chosen(batch: Batch, assessor_id: int, place: NextEntry) -> NextEntry | None:
    """The next entry of the place's topic that is neither settled nor open in another batch; None if there is none."""
    settled = set()
    if batch.kind in COUNTING:
        settled = settled_entries([place.assignment_id])[place.assignment_id]
        settled |= open_in_other_batches(batch, assessor_id, place.topic_id)
    rows = read_rows(_LEFT, **parameters_of(batch, assessor_id), assignment=place.assignment_id)
    left = {row[0]: row for row in rows if row[0] not in settled}
    if not left:
        return None
    is_moving = batch.pool.order == Pool.Order.MOVE_TO_FRONT
    if is_moving:
        ahead = move_to_front.next_entries(batch, place.topic_id, place.seat, is_open=set(left), n=2)
    else:  # from the cursor on; at the end, the first ones that are left
        after = [pk for pk, row in left.items() if row[1] >= place.cursor]
        ahead = (after or list(left))[:2]
    entry_id, position, task_id = left[ahead[0]]
    position = -1 if is_moving else position
    return place._replace(
        entry_id=entry_id, position=position, task_id=task_id, following=ahead[1] if ahead[1:] else None
    )


# `done`: the tasks that the assessor has submitted in the batch, numbered in their order.
# A check that was given out and not submitted comes back when its task has expired. A unit is not repeated while its
# judgment is undone.
_DUE = """
WITH done AS (
    SELECT task_id, row_number() OVER (ORDER BY min(id)) AS n, bool_or(is_check) AS is_check
    FROM assessment_judgment
    WHERE assessor_id = %(assessor)s AND batch_id = %(batch)s AND task_id IS DISTINCT FROM %(open)s
    GROUP BY task_id
), state AS (
    SELECT count(*) AS n, coalesce((array_agg(is_check ORDER BY n DESC))[1], false) AS is_check FROM done
)
SELECT planned.id, planned.entry_id
FROM assessment_check planned
CROSS JOIN state
LEFT JOIN assessment_task given ON given.id = planned.task_id
LEFT JOIN assessment_task first ON first.batch_id = planned.batch_id AND first.entry_id = planned.entry_id
    AND first.assessor_id = planned.assessor_id AND NOT first.is_check
LEFT JOIN done ON done.task_id = first.id
WHERE planned.batch_id = %(batch)s AND planned.assessor_id = %(assessor)s
  AND (planned.kind <> 'repeat' OR first.status = 'submitted' OR first.id = %(open)s)
  AND (given.status = 'expired'
       OR given.id IS NULL AND (%(at_end)s OR NOT coalesce(%(follows_check)s, state.is_check)) AND (
      planned.kind = 'gold' AND (%(at_end)s OR planned.after <= state.n + %(ahead)s)
      OR planned.kind = 'repeat'
         AND state.n + %(ahead)s - done.n >= CASE WHEN %(at_end)s THEN %(least)s ELSE planned.after END))
ORDER BY given.id, planned.id
LIMIT 1
"""


def due_check(batch: Batch, assessor_id: int, *, at_end: bool = False) -> int | None:
    """The id of the check that the assessor gets now; None for an ordinary task.

    A check never follows another one, except `at_end`, when no ordinary tasks are left: then all known grades are due,
    and all repeats for which enough tasks are between.
    """
    row = _first_check(batch, assessor_id, at_end=at_end) if batch.has_checks else None
    return None if row is None else row[0]


def following_check(batch: Batch, task: Task, *, at_end: bool = False) -> int | None:
    """The entry of the check that the assessor gets after an open task; None for an ordinary task."""
    row = _first_check(batch, task.assessor_id, at_end=at_end, after=task)
    return None if row is None else row[1]


def _first_check(
    batch: Batch, assessor_id: int, *, at_end: bool, after: Task | None = None
) -> tuple[int, int] | None:
    """The id and the entry of the first check that is due, now or after an open task is submitted."""
    parameters = {
        "batch": batch.pk,
        "assessor": assessor_id,
        "at_end": at_end,
        "least": batch.repeat_after,
        "ahead": 0 if after is None else 1,
        "open": None if after is None else after.pk,
        "follows_check": None if after is None else after.is_check,
    }
    return next(((check, entry) for check, entry in read_rows(_DUE, **parameters)), None)
