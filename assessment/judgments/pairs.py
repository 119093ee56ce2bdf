"""Judgments of pairs: the sides of a task, and the votes that the judgments are."""

from collections.abc import Mapping
from hashlib import sha256

from django.db.models import QuerySet

from assay.preferences.votes import BAD, Vote, vote_of
from assay.protocols.units import documents_of
from assessment.models import MAIN_AND_DUAL, Batch, Judgment, Task
from pooling.models import Pool
from pooling.pools.selectors import chain, gives_votes

COUNTED = (*MAIN_AND_DUAL, Batch.Kind.ADJUDICATION)
CHUNK = 5_000


def sides_of(task: Task) -> tuple[str, str] | None:
    """The documents on the left and on the right of a task; None if its unit is one document.

    The sides are drawn from batch, entry and assessor, so that the page that is prepared ahead has them too. A hidden
    repeat has the other order.
    """
    pair = task.batch.pool.protocol.parsed.judged.documents(task.entry.docno)
    if len(pair) != 2:
        return None
    drawn = sha256(f"{task.batch_id} {task.entry_id} {task.assessor_id}".encode()).digest()[0] % 2 == 1
    return pair[::-1] if drawn != task.is_check else pair


def left_of(task: Task) -> str:
    """The document on the left of a task; empty if its unit is no pair."""
    sides = sides_of(task)
    return sides[0] if sides else ""


def votes_of(judgments: QuerySet[Judgment], names: Mapping[int, str] | None = None) -> list[Vote]:
    """The votes of some judgments, oldest first; `names` are those of assessors by the id of their account."""
    fields = ("topic__code", "docno", "choice", "left", "assessor", "assessor__username")
    rows = judgments.order_by("pk").values_list(*fields)
    votes = (
        vote_of(topic, docno, choice, username if names is None else names[assessor], left)
        for topic, docno, choice, left, assessor, username in rows.iterator(chunk_size=CHUNK)
    )
    return [vote for vote in votes if vote is not None]


@gives_votes
def votes_for_next_round(pool: Pool) -> list[Vote]:
    """The votes on pairs of a pool, and of those that it tops up, without assessors.

    A pair that nobody could judge counts as one of which both documents are useless, so that it is not asked again.
    """
    of_pools = Judgment.objects.filter(task__entry__pool__in=chain(pool), batch__kind__in=COUNTED)
    rows = of_pools.filter(is_current=True).order_by("pk").values_list("topic__code", "docno", "choice")
    votes = []
    for n, (topic, docno, choice) in enumerate(rows.iterator(chunk_size=CHUNK), 1):
        pair = documents_of(docno)
        if pair is not None:
            votes.append(vote_of(topic, docno, choice, str(n)) or Vote(topic, *pair, BAD, str(n)))
    return votes
