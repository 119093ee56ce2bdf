"""Which hidden check an assessor gets next. Nothing here writes or locks."""

from django.db import connection

from assessment.models import Batch, Task

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


def due(batch: Batch, assessor_id: int, *, at_end: bool = False) -> int | None:
    """The id of the check that the assessor gets now; None for an ordinary task.

    A check never follows another one, except `at_end`, when no ordinary tasks are left: then all known grades are due,
    and all repeats for which enough tasks are between.
    """
    row = _first(batch, assessor_id, at_end=at_end) if batch.has_checks else None
    return None if row is None else row[0]


def following(batch: Batch, task: Task, *, at_end: bool = False) -> int | None:
    """The entry of the check that the assessor gets after an open task; None for an ordinary task."""
    row = _first(batch, task.assessor_id, at_end=at_end, after=task)
    return None if row is None else row[1]


def _first(
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
    with connection.cursor() as cursor:
        cursor.execute(_DUE, parameters)
        row = cursor.fetchone()
    return None if row is None else (row[0], row[1])
