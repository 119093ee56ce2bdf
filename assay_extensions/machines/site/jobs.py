"""The job in which the site lets a machine judge a batch."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone
from rest_framework.utils.encoders import JSONEncoder

from accounts.models import User
from assay_extensions.machines.model.asking import Judged, UnitJudge, merged
from assay_extensions.machines.site import leases
from assay_extensions.machines.site.calling import CONNECTIONS, call_refused, check, judge_of_site
from assay_extensions.machines.site.examples import examples_for
from assay_extensions.machines.site.leases import Item, Taken
from assay_extensions.machines.site.models import Hold, JudgeRecord
from assay_extensions.machines.site.selectors import KIND
from assay_extensions.machines.work.batches import MAX_REASON
from assay_extensions.machines.work.parallel import in_parallel
from assessment.batches.progress import progress_of
from assessment.judging.api import TaskSerializer, submit_task
from assessment.judging.units import shown_task
from assessment.models import Batch, Task
from jobs import services as jobs
from jobs.models import Job
from tracks.models import Machine
from web.pages import counted

SECONDS = 600  # of a lease; less than a block of tasks takes
IN_A_ROW = 20  # failures after which the job ends


def request(*, machine: Machine, batch: Batch, by: User) -> Job:
    """Queue the job that judges what is left of a batch of a machine.

    Raises:
        Refused: The site cannot call the judge, the batch is not open, or a job judges it already.
    """
    check(JudgeRecord.objects.filter(machine=machine).first(), machine.assessor.track)
    if batch.status != Batch.Status.OPEN:
        raise call_refused(f"The batch “{batch}” is not open.")
    arguments = {"machine_id": machine.pk, "batch_id": batch.pk}
    with transaction.atomic():
        Machine.objects.select_for_update(no_key=True).get(pk=machine.pk)
        if Job.objects.filter(kind=KIND, arguments=arguments, state__in=Job.UNFINISHED).exists():
            raise call_refused(f"A job judges the batch “{batch}” already.")
        title = f"Let {machine} judge {batch}"
        return jobs.request(kind=KIND, title=title, arguments=arguments, by=by, subject=machine)


@jobs.handler(KIND, words=lambda result: f"{counted(result['judged'], 'unit')} judged.")
def judge(progress: jobs.Progress, *, machine_id: int, batch_id: int) -> dict[str, Any]:
    """Judge what is left of a batch. Each block is stored as a whole, so that a job that is repeated goes on."""
    machine = Machine.objects.select_related("assessor__track__protocol", "assessor__user").get(pk=machine_id)
    batch = Batch.objects.select_related("pool__protocol", "pool__track").get(pk=batch_id)
    stored = JudgeRecord.objects.filter(machine=machine).first()
    check(stored, machine.assessor.track)
    assert stored is not None
    # What an earlier attempt of the job held; processes of a person keep theirs
    Hold.objects.filter(lease__job_id=progress.job_id).delete()
    total, done, failed, in_a_row = progress_of(batch).total, progress_of(batch).judged, set[int](), 0
    reason = ""
    with judge_of_site(stored, machine.assessor.track) as (unit_judge, client):
        stop = client.stop if client else (lambda: None)
        while taken := leases.take(
            batch=batch, machine=machine, n=4 * CONNECTIONS, seconds=SECONDS, job_id=progress.job_id
        ):
            if failed & {task.pk for task in taken.tasks}:  # only those that failed are left
                leases.release(lease=taken.lease)
                break
            items = list[Item]()
            for item in _judged(taken, unit_judge, stop, progress, done, total):
                items.append(item)
                reason = item.reason or reason
                in_a_row = in_a_row + 1 if item.submit is None else 0
                if in_a_row == IN_A_ROW:
                    break
            with progress.storing(is_part=True):
                results = leases.judge(lease=taken.lease, machine=machine, items=items)
                leases.release(lease=taken.lease)
            failed |= {item.task for item in items if item.submit is None}
            kept = {result.task for result in results if result.status == "stored"}
            done += len(kept - failed)
            progress.update(min(done, total), total, "judging")
            if in_a_row >= IN_A_ROW:
                raise call_refused(f"{IN_A_ROW} units in a row failed. The last reason: {reason}")
    return {"judged": done, "skipped": len(failed), "last reason": reason}


def _judged(
    taken: Taken,
    unit_judge: UnitJudge,
    stop: Callable[[], None],
    progress: jobs.Progress,
    done: int,
    total: int,
) -> Iterator[Item]:
    examples = [example._asdict() for example in examples_for(taken.lease.batch)]
    units = {task.pk: _unit(task) | {"examples": examples} for task in taken.tasks}
    renewed = timezone.now()

    def work(task: int) -> list[tuple[str, Judged]]:
        results = list[tuple[str, Judged]]()
        for member in units[task]["members"] or [{}]:
            question = {key: value for key, value in (units[task] | member).items() if key != "members"}
            results.append((question["docno"], unit_judge(question)))
            if results[-1][1].problem:
                break
        return results

    def tick() -> None:
        nonlocal renewed
        progress.update(min(done, total), total, "judging")
        if (timezone.now() - renewed).total_seconds() > SECONDS / 3:
            leases.renew(lease=taken.lease, seconds=SECONDS)
            renewed = timezone.now()

    for task, results in in_parallel(iter(units), work, connections=CONNECTIONS, stop=stop, tick=tick):
        yield _item(task, bool(units[task]["members"]), results)


def _unit(task: Task) -> dict[str, Any]:
    """The unit of a task, as programs get it."""
    data = TaskSerializer(shown_task(task, is_html=False), context={}).data["unit"]
    unit: dict[str, Any] = json.loads(json.dumps(data, cls=JSONEncoder))
    return unit


def _item(task: int, has_members: bool, results: list[tuple[str, Judged]]) -> Item:
    evidence = merged(results)
    problem = next((judged.problem for _, judged in results if judged.problem), "")
    if problem:
        return Item(task, reason=problem[:MAX_REASON], evidence=evidence)
    request_id = uuid4()
    chosen: list[Mapping[str, Any]] = [
        {"docno": docno, "choice": judged.choice, "comment": ""} for docno, judged in results
    ]
    content: dict[str, Any] = {"members": chosen} if has_members else {**chosen[0], "docno": None}
    content.pop("docno", None)
    seconds = round(sum(judged.seconds for _, judged in results))
    content |= {"request_id": request_id, "seconds": seconds, "shown": 0}
    if not has_members:
        content["answers"] = {}
    return Item(
        task, submit=lambda task: submit_task(task, content), request_id=request_id, evidence=evidence
    )
