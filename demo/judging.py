"""The choices of the demo's assessors: the grades of the truth table, some mistakes, and a few comments."""

import zlib
from collections.abc import Mapping
from uuid import NAMESPACE_URL, uuid5

from django.db import transaction
from django.db.models import Count

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.judging.services import accept_next
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Task
from demo import content
from pooling.models import PoolEntry

Given = Mapping[str, tuple[str, ...]]  # assessor -> codes of topics
Judged = Mapping[str, float]  # code of a topic -> the judged share of it, if it is not complete

REMARKS = {  # (topic, docno) -> choice ("" for the grade of the table) and comment
    ("A.101", "1011"): ("", "Complete, with the limit at the end justified. Exactly what was asked for."),
    ("A.101", "1014"): ("", "The right idea, but the estimate for the exchange is left out."),
    ("A.102", "1073"): ("system-failure", "A missing image, and a formula in red. This post looks broken."),
    ("A.104", "1102"): ("", "The table even has the number for HHH."),
    ("A.105", "1222"): ("do-not-know", "I know too little about group actions."),
    ("A.202", "1183"): ("", "Uses only school mathematics."),
}
OPINIONS = {  # (assessor, topic, docno) -> a grade that differs from the table
    ("ada", "A.103", "1072"): 1,
    ("ada", "A.103", "1082"): 2,
    ("ada", "A.103", "1091"): 0,
}
MISTAKES = 40  # one in this number of answers without relevance is judged Low
DOUBTS = 4  # of the second judgments, one in this number is one grade away


def is_done(batch: Batch, given: Given, judged: Judged) -> bool:
    """Return whether every assessor has submitted their share."""
    done = _done(batch)
    return all(done.get(name, 0) >= n for name, n in _shares(batch, given, judged).items())


def judge(batch: Batch, given: Given, judged: Judged) -> None:
    """Judge for each assessor until their share is done. Tasks come by topic and position."""
    rules = batch.pool.protocol.parsed.judging
    grades = content.truth()
    done = _done(batch)
    for name, n in _shares(batch, given, judged).items():
        assessor = User.objects.get(username=name)
        # One commit for hundreds of judgments, because each commit takes time on disk.
        with transaction.atomic():
            for _ in range(n - done.get(name, 0)):
                task = accept_next(batch=batch, assessor=assessor)
                if task is None:
                    break
                _submit(task, rules, grades)


def _done(batch: Batch) -> dict[str, int]:
    """Number of submitted tasks by assessor."""
    submitted = Task.objects.filter(batch=batch, status=Task.Status.SUBMITTED)
    return dict(submitted.values_list("assessor__username").annotate(n=Count("pk")).order_by())


def _shares(batch: Batch, given: Given, judged: Judged) -> dict[str, int]:
    """The number of tasks that each assessor submits."""
    entries = PoolEntry.objects.filter(pool=batch.pool_id)
    sizes = dict(entries.values_list("topic__code").annotate(n=Count("pk")).order_by())
    return {
        name: sum(int(sizes[code] * judged.get(code, 1)) for code in codes) for name, codes in given.items()
    }


def _submit(task: Task, rules: JudgingRules, grades: Mapping[tuple[str, str], int]) -> None:
    name, topic, docno = task.assessor.username, task.entry.topic.code, task.entry.docno
    chance = zlib.crc32(f"{name} {topic} {docno}".encode())
    by_table = grades.get((topic, docno), 1 if chance % MISTAKES == 0 else 0)
    if task.batch.kind == Batch.Kind.DUAL and by_table and chance % DOUBTS == 0:
        by_table += 1 if by_table < max(level.value for level in rules.grades) else -1
    grade = OPINIONS.get((name, topic, docno), by_table)
    choice, comment = REMARKS.get((topic, docno), ("", ""))
    judgment_services.submit(
        task=task,
        choice=choice or next(level.key for level in rules.grades if level.value == grade),
        comment=comment,
        request_id=uuid5(NAMESPACE_URL, f"{content.HOST}/{task.pk}"),
        seconds=15 + 20 * grade + chance % 60,
    )
