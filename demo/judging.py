"""What the demo's assessors choose: the grades of the truth table, now and then a slip, and a few remarks."""

import zlib
from collections.abc import Iterator, Mapping
from uuid import NAMESPACE_URL, uuid5

from django.db import transaction
from django.db.models import Count

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.judgments import services as judgment_services
from assessment.judgments.rules import judging_rules
from assessment.models import Batch, Task
from assessment.tasks.services import accept_next
from demo import content
from pooling.models import PoolEntry

Given = Mapping[str, tuple[str, ...]]  # assessor -> codes of topics
Judged = Mapping[str, float]  # code of a topic -> how much of it is judged, where that is not all

REMARKS = {  # (topic, docno) -> choice, or "" for the grade of the table; comment
    ("A.101", "1011"): ("", "Complete, with the limit at the end justified. Exactly what was asked for."),
    ("A.101", "1014"): ("", "The right idea, but the estimate for the exchange is left out."),
    ("A.102", "1073"): (
        "system-failure",
        "An image that is not there, and a formula in red: this post looks broken.",
    ),
    ("A.104", "1102"): ("", "The table even has the number for HHH."),
    ("A.105", "1122"): ("do-not-know", "I know nothing about martingales."),
    ("A.202", "1183"): ("", "Uses only what pupils know."),
}
OPINIONS = {  # (assessor, topic, docno) -> a grade that is not the table's, because people differ
    ("ada", "A.103", "1072"): 1,
    ("ada", "A.103", "1082"): 2,
    ("ada", "A.103", "1091"): 0,
}
SLIPS = 40  # of so many answers that are not relevant, one is taken for Low


def is_done(batch: Batch, given: Given, judged: Judged) -> bool:
    """Whether every assessor has judged their share."""
    done = _done(batch)
    return all(done.get(name, 0) >= n for name, n in _shares(batch, given, judged).items())


def judge(batch: Batch, given: Given, judged: Judged) -> None:
    """Judge as the assessors, task by task, until each has done their share. Tasks come by topic and position."""
    rules = judging_rules(batch.pool.protocol)
    grades = content.truth()
    done = _done(batch)
    for name, n in _shares(batch, given, judged).items():
        assessor = User.objects.get(username=name)
        with transaction.atomic():  # one commit for hundreds of judgments: a disk takes its time for each
            for task in _tasks(batch, assessor, n - done.get(name, 0)):
                _submit(task, rules, grades)


def _tasks(batch: Batch, assessor: User, n: int) -> Iterator[Task]:
    for _ in range(n):
        task = accept_next(batch=batch, assessor=assessor)
        if task is None:
            return
        yield task


def _done(batch: Batch) -> dict[str, int]:
    """Number of submitted tasks by assessor."""
    submitted = Task.objects.filter(batch=batch, status=Task.Status.SUBMITTED)
    return dict(submitted.values_list("assessor__username").annotate(n=Count("pk")).order_by())


def _shares(batch: Batch, given: Given, judged: Judged) -> dict[str, int]:
    """Number of tasks that each assessor shall have submitted."""
    entries = PoolEntry.objects.filter(pool=batch.pool_id)
    sizes = dict(entries.values_list("topic__code").annotate(n=Count("pk")).order_by())
    return {
        name: sum(int(sizes[code] * judged.get(code, 1)) for code in codes) for name, codes in given.items()
    }


def _submit(task: Task, rules: JudgingRules, grades: Mapping[tuple[str, str], int]) -> None:
    name, topic, docno = task.assessor.username, task.entry.topic.code, task.entry.docno
    chance = zlib.crc32(f"{name} {topic} {docno}".encode())
    by_table = grades.get((topic, docno), 1 if chance % SLIPS == 0 else 0)
    grade = OPINIONS.get((name, topic, docno), by_table)
    choice, comment = REMARKS.get((topic, docno), ("", ""))
    judgment_services.submit(
        task=task,
        choice=choice or next(known.key for known in rules.grades if known.value == grade),
        comment=comment,
        request_id=uuid5(NAMESPACE_URL, f"{content.HOST}/{task.pk}"),
        seconds=15 + 20 * grade + chance % 60,
    )
