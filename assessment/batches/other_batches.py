"""Find the entries that need no judgment in a batch because other batches of the track have judged them.

A judgment of a main batch counts in all main batches of the track, whatever their pools. In second judgments, assessors
do not see what they have judged themselves. A machine never judges a document twice. Training and adjudication batches
judge all their entries. Only judgments made with the same protocol count, because only these can be frozen together. An
entry with members is settled when all of its shown members are judged.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Q

from assessment.models import MAIN_AND_DUAL, Batch, Judgment, Task, TopicAssignment
from pooling.models import Pool, PoolEntry
from web.statements import read_rows

# For each kind of batch: the kinds of batches whose judgments count in it.
COUNTING: dict[str, tuple[str, ...]] = {
    Batch.Kind.MAIN.value: (Batch.Kind.MAIN.value,),
    Batch.Kind.DUAL.value: (Batch.Kind.MAIN.value, Batch.Kind.DUAL.value),
    Batch.Kind.MACHINE.value: (Batch.Kind.MACHINE.value,),
}
OWN_ONLY = (Batch.Kind.DUAL, Batch.Kind.MACHINE)  # where only the assessor's own judgments count
_PAIRS = ", ".join(f"('{kind}', '{other}')" for kind, others in COUNTING.items() for other in others)
# `counting`: the batches whose judgments count in another one, which are so few that the planner starts with them;
# `asked`: the documents that each assignment still has to judge; `judged`: those judged in other batches.
# It uses joins because for nested subqueries the planner reads the judgments of the complete track.
# The assignments are those of a statement that is put in front.
_SETTLED = f"""
, counting AS MATERIALIZED (
    SELECT batch.id AS batch_id, other.id AS other_id, batch.kind = 'main' AS is_by_seat
    FROM assessment_batch batch
    JOIN pooling_pool pool ON pool.id = batch.pool_id
    JOIN pooling_pool other_pool ON other_pool.track_id = pool.track_id AND other_pool.protocol_id = pool.protocol_id
    JOIN assessment_batch other ON other.pool_id = other_pool.id AND other.id <> batch.id
    WHERE batch.id IN (SELECT batch_id FROM assignment) AND (batch.kind, other.kind) IN ({_PAIRS})
), asked AS (
    SELECT assignment.id AS assignment_id, assignment.seat, assignment.assessor_id, assignment.batch_id,
           entry.id AS entry_id, entry.topic_id, coalesce(member.docno, entry.docno) AS docno
    FROM assignment
    JOIN assessment_batch batch ON batch.id = assignment.batch_id
    JOIN pooling_poolentry entry ON entry.pool_id = batch.pool_id AND entry.topic_id = assignment.topic_id
    LEFT JOIN pooling_poolmember member ON member.entry_id = entry.id AND member.position > 0
    WHERE (NOT batch.is_selective OR EXISTS (
          SELECT 1 FROM assessment_batchentry selected
          WHERE selected.batch_id = batch.id AND selected.entry_id = entry.id
      ))
      AND NOT EXISTS (
        SELECT 1 FROM assessment_task task
        WHERE task.batch_id = assignment.batch_id AND task.entry_id = entry.id
          AND task.seat = assignment.seat AND task.status = 'submitted'
    )
), judged AS (
    SELECT DISTINCT asked.assignment_id, asked.entry_id, asked.docno
    FROM asked
    JOIN counting ON counting.batch_id = asked.batch_id
    JOIN assessment_judgment judgment ON judgment.topic_id = asked.topic_id AND judgment.docno = asked.docno
        AND judgment.is_current AND judgment.batch_id = counting.other_id
    JOIN assessment_task task ON task.id = judgment.task_id
    WHERE judgment.assessor_id = asked.assessor_id OR (counting.is_by_seat AND task.seat = asked.seat)
)
SELECT asked.assignment_id, asked.entry_id
FROM asked LEFT JOIN judged USING (assignment_id, entry_id, docno)
GROUP BY asked.assignment_id, asked.entry_id
HAVING bool_and(judged.docno IS NOT NULL)
"""  # noqa: S608 - of constants
# Whether judgments of other batches count in the `batch` of a statement.
HAS_OTHERS = f"""EXISTS (
    SELECT 1
    FROM pooling_pool pool
    JOIN pooling_pool other_pool ON other_pool.track_id = pool.track_id AND other_pool.protocol_id = pool.protocol_id
    JOIN assessment_batch other ON other.pool_id = other_pool.id
    WHERE pool.id = batch.pool_id AND other.id <> batch.id AND (batch.kind, other.kind) IN ({_PAIRS})
)"""  # noqa: S608 - of constants
# In a query of tracks: the number of entries that other batches have settled, by assignment, in batches of the track
# that are not closed
SETTLED_IN_TRACK = f"""(
    SELECT coalesce(json_object_agg(assignment_id, n), '{{}}')
    FROM (SELECT assignment_id, count(*) AS n FROM (
        WITH assignment AS (
            SELECT assigned.*
            FROM assessment_topicassignment assigned
            JOIN assessment_batch batch ON batch.id = assigned.batch_id AND batch.status <> 'closed'
            JOIN pooling_pool of_batch ON of_batch.id = batch.pool_id AND of_batch.track_id = tracks_track.id
            WHERE NOT assigned.is_withdrawn AND {HAS_OTHERS}
        ) {_SETTLED}
    ) entries GROUP BY assignment_id) settled
)"""  # noqa: S608 - of constants
_WITH_OTHERS = f"SELECT batch.id FROM assessment_batch batch WHERE batch.id = ANY(%(ids)s) AND {HAS_OTHERS}"  # noqa: S608
_STORED = "WITH assignment AS (SELECT * FROM assessment_topicassignment WHERE id = ANY(%s))"
_PLANNED = """
WITH assignment AS (
    SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::int[])
        AS given (id, batch_id, topic_id, assessor_id, seat)
)"""


def with_others(batches: Collection[Batch]) -> set[int]:
    """The ids of those batches for which judgments of other batches count. One query."""
    return {pk for (pk,) in read_rows(_WITH_OTHERS, ids=[batch.pk for batch in batches])}


def settled_entries(assignment_ids: Collection[int]) -> dict[int, set[int]]:
    """For each topic assignment, by id: the entries that other batches have settled. One query.

    Entries judged in the assignment's own batch are not included.
    """
    return _settled(_STORED, [list(assignment_ids)], assignment_ids)


def settled_by_plan(assignments: Sequence[TopicAssignment]) -> dict[int, set[int]]:
    """As `settled_entries`, for assignments that may not be stored as they are; each has an id of its own."""
    rows = [
        (assignment.pk, assignment.batch_id, assignment.topic_id, assignment.assessor_id, assignment.seat)
        for assignment in assignments
    ]
    return _settled(_PLANNED, [list(column) for column in zip(*rows, strict=True)], [row[0] for row in rows])


def _settled(source: str, parameters: list[list[int]], ids: Collection[int]) -> dict[int, set[int]]:
    settled: dict[int, set[int]] = {pk: set() for pk in ids}
    if not ids:
        return settled
    with connection.cursor() as cursor:
        cursor.execute(source + _SETTLED, parameters)
        for assignment_id, entry_id in cursor.fetchall():
            settled[assignment_id].add(entry_id)
    return settled


class JudgedUnits(NamedTuple):
    """The number of units of a topic with all their judges, and of units that a judge called relevant."""

    n_judged: int
    n_relevant: int


_UNITS = """
WITH asked AS (
    SELECT entry.id AS entry_id, entry.topic_id, coalesce(member.docno, entry.docno) AS docno
    FROM pooling_poolentry entry
    LEFT JOIN pooling_poolmember member ON member.entry_id = entry.id AND member.position > 0
    WHERE entry.pool_id = %(pool)s
), judged AS (
    SELECT judgment.topic_id, judgment.docno, count(DISTINCT task.seat) AS n, max(judgment.grade) AS grade
    FROM assessment_judgment judgment
    JOIN assessment_task task ON task.id = judgment.task_id
    JOIN assessment_batch batch ON batch.id = judgment.batch_id AND batch.kind = 'main'
    JOIN pooling_pool pool ON pool.id = batch.pool_id AND pool.protocol_id = %(protocol)s
    WHERE judgment.track_id = %(track)s AND judgment.is_current
    GROUP BY judgment.topic_id, judgment.docno
), unit AS (
    SELECT asked.topic_id, min(coalesce(judged.n, 0)) AS n, max(judged.grade) AS grade
    FROM asked LEFT JOIN judged USING (topic_id, docno)
    GROUP BY asked.topic_id, asked.entry_id
), wanted AS (
    SELECT assignment.topic_id, max(coalesce(batch.judges, %(judges)s)) AS judges
    FROM assessment_topicassignment assignment
    JOIN assessment_batch batch ON batch.id = assignment.batch_id AND batch.kind = 'main' AND batch.pool_id = %(pool)s
    WHERE NOT assignment.is_withdrawn
    GROUP BY assignment.topic_id
)
SELECT topic_id, count(*) FILTER (WHERE n >= coalesce(wanted.judges, %(judges)s)),
    count(*) FILTER (WHERE grade >= %(level)s)
FROM unit LEFT JOIN wanted USING (topic_id) GROUP BY topic_id
"""


def judged_units(pool: Pool, *, relevant_from: int) -> dict[int, JudgedUnits]:
    """Count what the main batches of a track have judged of each topic of a pool, each unit once. One query.

    `relevant_from` is the lowest grade of a relevant unit.
    """
    parameters = {
        "pool": pool.pk,
        "protocol": pool.protocol_id,
        "track": pool.track_id,
        "judges": pool.protocol.parsed.judging.judges,
        "level": relevant_from,
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNITS, parameters)
        return {topic: JudgedUnits(n_judged, n_relevant) for topic, n_judged, n_relevant in cursor.fetchall()}


def judged_in_other_batches(task: Task, docnos: Collection[str]) -> set[str]:
    """The documents of a task's topic, of those given, that other batches have judged for it."""
    kind = task.batch.kind
    if kind not in COUNTING:
        return set()
    judgments = Judgment.objects.filter(topic=task.entry.topic_id, docno__in=docnos, is_current=True)
    judgments = judgments.filter(
        batch__kind__in=COUNTING[kind], batch__pool__protocol=task.batch.pool.protocol_id
    )
    own = Q(assessor=task.assessor_id)
    counting = own if kind in OWN_ONLY else own | Q(task__seat=task.seat)
    return set(judgments.exclude(batch=task.batch_id).filter(counting).values_list("docno", flat=True))


def judged_by_assessor(batch: Batch, task: Task, docnos: Collection[str]) -> set[str]:
    """The documents of a task, of those given, that its assessor has judged in other batches of people."""
    own = Judgment.objects.filter(
        assessor=task.assessor_id, topic=task.entry.topic_id, docno__in=list(docnos)
    )
    counting = own.filter(
        is_current=True, batch__kind__in=MAIN_AND_DUAL, batch__pool__protocol=batch.pool.protocol_id
    )
    return set(counting.exclude(batch=batch.pk).values_list("docno", flat=True))


def open_in_other_batches(batch: Batch, assessor_id: int, topic_id: int) -> set[int]:
    """The batch's entries of a topic that an assessor has open in another batch whose judgments count in this one."""
    tasks = Task.objects.filter(assessor=assessor_id, entry__topic=topic_id, status=Task.Status.ACCEPTED)
    tasks = tasks.filter(
        is_check=False,
        batch__status=Batch.Status.OPEN,
        batch__kind__in=COUNTING[batch.kind],
        batch__pool__protocol=batch.pool.protocol_id,
    )
    docnos = tasks.exclude(batch=batch).values("entry__docno")
    entries = PoolEntry.objects.filter(pool=batch.pool_id, topic=topic_id, docno__in=docnos)
    return set(entries.values_list("pk", flat=True))
