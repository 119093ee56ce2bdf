"""What other batches have judged already: nobody judges a document of a topic twice, unless a batch is there for that.

The judgments of a main batch stand for all main batches of the track, whatever pools these are made from; a dual batch
shows nobody what they have judged themselves. Training and adjudication judge what they are given. Only judgments
by the same protocol count, because only they can be frozen together. An entry with members is settled when all of them
that are shown are judged.
"""

from collections.abc import Collection

from django.db import connection
from django.db.models import Q, QuerySet

from assessment.models import Batch, Judgment, Task
from pooling.models import Pool

# Kinds of batch whose judgments count in a batch of a kind.
COUNTING: dict[str, tuple[str, ...]] = {
    Batch.Kind.MAIN.value: (Batch.Kind.MAIN.value,),
    Batch.Kind.DUAL.value: (Batch.Kind.MAIN.value, Batch.Kind.DUAL.value),
}

# `asked`: what each holder of a topic would have to judge; `judged`: what of it counts as judged elsewhere. Joins, not
# nested subqueries: these the planner reads the judgments of the whole track for.
_SETTLED = """
WITH asked AS (
    SELECT given.id AS given_id, given.seat, given.assessor_id, given.batch_id, batch.kind, pool.protocol_id,
           entry.id AS entry_id, entry.topic_id, coalesce(member.docno, entry.docno) AS docno
    FROM assessment_topicassignment given
    JOIN assessment_batch batch ON batch.id = given.batch_id
    JOIN pooling_pool pool ON pool.id = batch.pool_id
    JOIN pooling_poolentry entry ON entry.pool_id = batch.pool_id AND entry.topic_id = given.topic_id
    LEFT JOIN pooling_poolmember member ON member.entry_id = entry.id AND member.position > 0
    WHERE given.id = ANY(%s) AND NOT EXISTS (
        SELECT 1 FROM assessment_task task
        WHERE task.batch_id = given.batch_id AND task.entry_id = entry.id
          AND task.seat = given.seat AND task.status = 'submitted'
    )
), judged AS (
    SELECT DISTINCT asked.given_id, asked.entry_id, asked.docno
    FROM asked
    JOIN assessment_judgment judgment ON judgment.topic_id = asked.topic_id AND judgment.docno = asked.docno
        AND judgment.is_current AND judgment.batch_id <> asked.batch_id
    JOIN assessment_task task ON task.id = judgment.task_id
    JOIN assessment_batch batch ON batch.id = judgment.batch_id
    JOIN pooling_pool pool ON pool.id = batch.pool_id AND pool.protocol_id = asked.protocol_id
    WHERE (asked.kind = 'main' AND batch.kind = 'main'
           AND (task.seat = asked.seat OR judgment.assessor_id = asked.assessor_id))
       OR (asked.kind = 'dual' AND batch.kind IN ('main', 'dual') AND judgment.assessor_id = asked.assessor_id)
)
SELECT asked.given_id, asked.entry_id
FROM asked LEFT JOIN judged USING (given_id, entry_id, docno)
GROUP BY asked.given_id, asked.entry_id
HAVING bool_and(judged.docno IS NOT NULL)
"""


def counting_batches(batch: Batch) -> QuerySet[Batch]:
    """The other batches whose judgments may count in this one."""
    pool = Pool.objects.filter(pk=batch.pool_id)
    others = Batch.objects.filter(kind__in=COUNTING.get(batch.kind, ())).exclude(pk=batch.pk)
    return others.filter(pool__track__in=pool.values("track"), pool__protocol__in=pool.values("protocol"))


def settled_entries(given: Collection[int]) -> dict[int, set[int]]:
    """For topics given to assessors, by their ids: the entries that need no judgment here, thanks to other batches.

    One query, which reads what the topics hold and what was judged of them. What was judged here is not among it.
    """
    found: dict[int, set[int]] = {pk: set() for pk in given}
    with connection.cursor() as cursor:
        cursor.execute(_SETTLED, [list(given)])
        for given_id, entry_id in cursor.fetchall():
            found[given_id].add(entry_id)
    return found


def judged_elsewhere(task: Task, docnos: Collection[str]) -> set[str]:
    """Those of some documents of a task's topic that need no judgment in its batch, thanks to others."""
    kind = task.batch.kind
    if kind not in COUNTING:
        return set()
    judgments = Judgment.objects.filter(topic=task.entry.topic_id, docno__in=docnos, is_current=True)
    judgments = judgments.filter(
        batch__kind__in=COUNTING[kind], batch__pool__protocol=task.batch.pool.protocol_id
    )
    own = Q(assessor=task.assessor_id)
    counting = own if kind == Batch.Kind.DUAL else own | Q(task__seat=task.seat)
    return set(judgments.exclude(batch=task.batch_id).filter(counting).values_list("docno", flat=True))
