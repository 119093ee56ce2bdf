"""The machines of a track, for organizers."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Token
from accounts.selectors import tokens_of
from assay.errors import Refused
from assay_extensions.machines.site.calling import check
from assay_extensions.machines.site.models import Hold, JudgeRecord
from assessment.agreement.machines import Comparison, comparisons
from assessment.batches.progress import BatchProgress, track_progress
from assessment.batches.selectors import pools_to_plan
from assessment.models import Batch
from jobs.models import Job
from pooling.models import Pool
from tracks.models import Machine, Track

KIND = "machines.judge"  # of the jobs that let a machine judge
SHOWN = 3  # jobs


def machines() -> QuerySet[Machine]:
    """Every machine, with its track."""
    return Machine.objects.select_related(
        "assessor__track__protocol", "assessor__user", "owner", "created_by"
    )


@dataclass(frozen=True)
class ShownMachine:
    """A machine with its batches and its agreement with people."""

    machine: Machine
    batches: list[BatchProgress]
    comparison: Comparison

    @property
    def judged(self) -> int:
        return sum(progress.judged for progress in self.batches)

    @property
    def total(self) -> int:
        return sum(progress.total for progress in self.batches)


@dataclass(frozen=True)
class MachinePage:
    """A machine, and the pools that it has not begun."""

    track: Track
    machine: Machine
    shown: ShownMachine
    pools: list[Pool]
    tokens: QuerySet[Token]
    judge: JudgeRecord | None
    n_held: int
    jobs: list[Job]
    unfinished: list[BatchProgress]  # batches that a job of the site could judge
    why_not_called: str  # by the site; empty if it can


def machine_page(machine: Machine) -> MachinePage:
    """Read what the machine has judged, and what it can judge."""
    track = machine.assessor.track
    shown = next(shown_machine for shown_machine in shown_machines(track) if shown_machine.machine == machine)
    begun = {progress.batch.pool_id for progress in shown.batches}
    pools = [pool for pool in pools_to_plan().filter(track=track) if pool.pk not in begun]
    user = machine.assessor.user
    judge = JudgeRecord.objects.filter(machine=machine).first()
    n_held = Hold.objects.filter(lease__assessor=user, lease__expires_at__gt=timezone.now()).count()
    jobs = list(Job.objects.filter(kind=KIND, arguments__machine_id=machine.pk).order_by("-pk")[:SHOWN])
    unfinished = [
        item
        for item in shown.batches
        if judge is not None and item.batch.status == Batch.Status.OPEN and item.judged < item.total
    ]
    why_not = ""
    if unfinished:
        try:
            check(judge, track)
        except Refused as error:
            why_not = str(error)
    return MachinePage(
        track, machine, shown, pools, tokens_of(user), judge, n_held, jobs, unfinished, why_not
    )


def shown_machines(track: Track) -> list[ShownMachine]:
    """The machines of a track, by name and version, in a fixed number of queries."""
    compared = comparisons(track)
    if not compared:
        return []
    batches = [progress for progress in track_progress(track) if progress.batch.kind == Batch.Kind.MACHINE]
    return [
        ShownMachine(
            comparison.machine,
            [batch for batch in batches if comparison.machine.assessor.user in batch.assessors],
            comparison,
        )
        for comparison in compared
    ]
