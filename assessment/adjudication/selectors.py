"""What needs an adjudication, and what its assessor sees of the judgments that disagree."""

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from assessment.agreement.rules import Difference
from assessment.agreement.selectors import Round, disagreements
from assessment.judgments.follow_ups import Answered, in_words
from assessment.judgments.rules import judging_rules, label_of
from assessment.models import Batch, BatchEntry, Judgment, Task
from tracks.models import Track

KINDS = (Batch.Kind.MAIN, Batch.Kind.DUAL)


def entries_to_adjudicate(track: Track, of_round: Round, difference: Difference) -> dict[int, int]:
    """The entries of units that differ as asked, each with its pool, without those in an adjudication batch."""
    ids = [unit.votes[0].judgment for unit in disagreements(track, of_round, difference)]
    rows = Judgment.objects.filter(pk__in=ids).order_by("pk").values_list("task__entry", "batch__pool")
    of_track = BatchEntry.objects.filter(batch__pool__track=track, batch__kind=Batch.Kind.ADJUDICATION)
    adjudicated = set(of_track.values_list("entry", flat=True))
    return {entry: pool for entry, pool in rows if entry not in adjudicated}


class EarlierJudgment(NamedTuple):
    """A judgment that an adjudicator sees, without the name of its assessor."""

    label: str
    grade: int | None
    comment: str
    answers: list[Answered]


def earlier_judgments(task: Task, docnos: Collection[str]) -> dict[str, list[EarlierJudgment]]:
    """The current main and dual judgments of some documents of a task, oldest first.

    Empty for a blind adjudication, and for tasks of other batches.
    """
    batch = task.batch
    if batch.kind != Batch.Kind.ADJUDICATION or batch.is_blind:
        return {}
    current = Judgment.objects.filter(topic=task.entry.topic_id, docno__in=docnos, is_current=True)
    current = current.filter(batch__kind__in=KINDS, batch__pool__protocol=batch.pool.protocol_id)
    rules = judging_rules(batch.pool.protocol)
    earlier: defaultdict[str, list[EarlierJudgment]] = defaultdict(list)
    for judgment in current.order_by("pk"):
        shown = EarlierJudgment(
            label_of(rules, judgment.choice),
            judgment.grade,
            judgment.comment,
            in_words(rules, judgment.follow_ups),
        )
        earlier[judgment.docno].append(shown)
    return dict(earlier)
