"""Move to front: which entry of a topic comes next, computed for each task from the judgments so far."""

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from assay.pools.move_to_front import TopicLists, Verdict, next_unit
from assessment.models import Batch, Judgment
from pooling.models import Contribution, Pool, PoolEntry, PoolMember
from pooling.pools.recounts import disqualified_ids


class _Topic(NamedTuple):
    """A topic in a pool. Units are numbered by position; `units` lists the numbers of those that contain a docno."""

    entries: list[int]
    units: dict[str, list[int]]
    lists: TopicLists


@lru_cache(maxsize=256)
def _topic(pool_id: int, topic_id: int, without: frozenset[int]) -> _Topic:
    """Each process reads a topic once: the pool is ready, so it never changes.

    What the runs `without` contributed does not count. The other runs keep their precedence.
    """
    pool = Pool.objects.get(pk=pool_id)
    runs = {run["run"]: i for i, run in enumerate(pool.statistics["runs"])}
    entries = PoolEntry.objects.filter(pool=pool_id, topic=topic_id).order_by("position")
    rows = list(entries.values_list("pk", "docno", "topic__code"))
    number = {pk: i for i, (pk, _, _) in enumerate(rows)}
    units: defaultdict[str, list[int]] = defaultdict(list)
    for pk, docno, _ in rows:
        units[docno].append(number[pk])
    members = PoolMember.objects.filter(entry__pool=pool_id, entry__topic=topic_id, position__gt=0)
    for pk, docno in members.values_list("entry", "docno"):
        units[docno].append(number[pk])
    contributed = Contribution.objects.filter(entry__pool=pool_id, entry__topic=topic_id)
    contributed = contributed.exclude(run__in=without)
    contributions = [
        (number[pk], runs[run], rank) for pk, run, rank in contributed.values_list("entry", "run", "rank")
    ]
    code = rows[0][2] if rows else ""
    lists = TopicLists.of(contributions, n_units=len(rows), n_runs=len(runs), topic=code, seed=pool.seed)
    return _Topic(list(number), dict(units), lists)


def next_entries(batch: Batch, topic_id: int, seat: int, *, is_open: set[int], n: int) -> list[int]:
    """At most n open entries that a seat judges next, if no judgment comes between. Three queries, once in memory.

    Units that only disqualified runs contributed come last.
    """
    topic = _topic(batch.pool_id, topic_id, disqualified_ids(batch.pool_id))
    opened = np.array([pk in is_open for pk in topic.entries], dtype=np.bool_)
    # The verdicts of a seat, in the order of first submission; in a main batch, those of all pools
    judgments = Judgment.objects.filter(topic=topic_id, is_current=True, task__seat=seat)
    is_main = batch.kind == Batch.Kind.MAIN
    judgments = judgments.filter(batch__kind=Batch.Kind.MAIN) if is_main else judgments.filter(batch=batch)
    judgments = judgments.filter(batch__pool__protocol=batch.pool.protocol_id)
    least = batch.pool.protocol.parsed.agreement.binary_from
    is_relevant: dict[int, bool] = {}
    rows = judgments.order_by("task__submitted_at", "pk").values_list("docno", "grade")
    for docno, grade in rows:
        for judged in topic.units.get(docno, ()):
            is_relevant[judged] = is_relevant.get(judged, False) or (grade is not None and grade >= least)
    verdicts = [Verdict(judged, verdict) for judged, verdict in is_relevant.items()]
    entries: list[int] = []
    while len(entries) < n and (unit := next_unit(topic.lists, verdicts, opened)) is not None:
        opened[unit] = False
        entries.append(topic.entries[unit])
    return entries
