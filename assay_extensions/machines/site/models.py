"""Judges, leases and evidence: the rows about machines beyond their judgments."""

from django.db import models

from accounts.models import User
from assay_extensions.machines.judge_files.judges import Judge, judge_of
from assessment.models import Batch, Judgment, Task
from jobs.models import Job
from tracks.models import Machine
from web.models import JsonField


class JudgeRecord(models.Model):
    """The judge of a machine: `Judge.record`. It does not change once the machine has judged."""

    machine = models.OneToOneField(Machine, models.PROTECT, related_name="judge")
    record = JsonField(help_text="Facts of the judge file, and those of its template. It has no keys.")
    template_text = models.TextField(
        blank=True, help_text="Of a template that Assay does not have, if uploaded."
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.machine}: {self.record['model']}"

    @property
    def judge(self) -> Judge:
        return judge_of(self.record)


class ProbeReport(models.Model):
    """The report of `assay probe` about a machine, without the units. A later report takes its place."""

    machine = models.OneToOneField(Machine, models.PROTECT, primary_key=True, related_name="probes")
    report = JsonField(help_text="The protocol, the number of units, and the counts of each probe.")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"probes of {self.machine}"


class Lease(models.Model):
    """Tasks that one process of a machine holds until a time, and longer if no other process takes tasks then."""

    id = models.BigAutoField(primary_key=True)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="+")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    job = models.ForeignKey(
        Job, models.SET_NULL, null=True, related_name="+", help_text="If the site judges."
    )

    class Meta:
        indexes = [models.Index(fields=["batch", "assessor", "expires_at"], name="lease_open")]

    def __str__(self) -> str:
        return f"lease {self.pk} of {self.assessor}"


class Hold(models.Model):
    """A task of a lease that is not judged yet. A task has one holder."""

    task = models.OneToOneField(Task, models.PROTECT, primary_key=True, related_name="+")
    lease = models.ForeignKey(Lease, models.CASCADE, related_name="holds")

    def __str__(self) -> str:
        return f"{self.task} in {self.lease}"


class ReplyEvidence(models.Model):
    """Evidence of a judgment or of a skip: what the model replied, and what it cost. See `Evidence`."""

    class Status(models.TextChoices):
        READ = "read", "read"
        UNREADABLE = "unreadable", "unreadable"
        REFUSED = "refused", "refused"

    id = models.BigAutoField(primary_key=True)
    machine = models.ForeignKey(Machine, models.PROTECT, db_index=False, related_name="+")
    task = models.ForeignKey(Task, models.PROTECT, related_name="+")
    judgment = models.OneToOneField(
        Judgment,
        models.PROTECT,
        null=True,
        related_name="evidence",
        help_text="Empty if the task was skipped.",
    )
    prompt_sha256 = models.CharField(max_length=64)
    reply = models.TextField(blank=True)
    parser = models.CharField(max_length=100, blank=True)
    parse_status = models.CharField(max_length=10, choices=Status)
    probabilities = JsonField(null=True)
    model = models.CharField(max_length=300, blank=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    currency = models.CharField(max_length=10, blank=True)
    milliseconds = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    is_cached = models.BooleanField(default=False)
    round = models.PositiveSmallIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "evidence"
        indexes = [models.Index(fields=["machine", "id"], name="reply_evidence_of_machine")]

    def __str__(self) -> str:
        return f"evidence of {self.task}"

    @property
    def shown_cost(self) -> str:
        return "" if self.cost is None else f"{self.cost.normalize():f}"
