"""Jobs: long work that Celery workers do."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import get_script_prefix

from accounts.models import User
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class Job(models.Model):
    """Long work and its state. This row counts, not the message in the queue.

    `attempt` is a fencing token. A worker that lost the job, because it was killed or cut off, finds another number
    under the row's lock and cannot store its result.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    UNFINISHED = (State.QUEUED, State.RUNNING)

    kind = models.CharField(max_length=100)
    title = NameField(max_length=200)
    arguments = JsonField(default=dict)
    place = models.CharField(
        max_length=255,
        blank=True,
        help_text="The queue of the workers that can run the job. Empty: any worker.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    message = models.TextField(blank=True)
    result = JsonField(default=dict)
    error = models.TextField(blank=True)
    attempt = models.PositiveIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(
        default=0, help_text="How many workers were lost during this job."
    )
    losses_in_a_row = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="How many of them since the job last stored a part of its work."
    )
    heartbeat_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    queued_at = models.DateTimeField(
        db_default=Now(), editable=False, help_text="When it was requested, or retried the last time."
    )
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    subject = models.CharField(
        max_length=200, blank=True, help_text="What the job is for, such as a track or a collection."
    )
    subject_path = models.CharField(max_length=500, blank=True, help_text="Path of the subject's page.")
    request_id = models.CharField(
        max_length=64, blank=True, help_text="Id of the request that asked for the job, as in the logs."
    )

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["state", "heartbeat_at"],
                name="job_unfinished",
                condition=Q(state__in=["queued", "running"]),
            )
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.get_state_display()})"

    def get_absolute_url(self) -> str:
        return address_of("jobs:job", self.pk)

    @property
    def subject_url(self) -> str:
        """URL of the subject's page; empty if it has none."""
        return get_script_prefix() + self.subject_path if self.subject_path else ""

    @property
    def needs(self) -> str:
        """The workers that can run the job, in words; empty if any can."""
        if not self.place:
            return ""
        host = self.place.removeprefix("host.")
        if host != self.place:
            return f"on the machine {host}"
        return "that has BACKUP_DIR" if self.place == "backups" else "that sees the import folder"

    @property
    def is_finished(self) -> bool:
        return self.state not in self.UNFINISHED

    @property
    def percent(self) -> int | None:
        """Progress, rounded down; None while the total is unknown."""
        return min(100, 100 * self.done // self.total) if self.total else None


class UnclaimedFile(models.Model):
    """The name of a file that is being stored or deleted.

    It is committed before the file is stored, and deleted in the transaction that stores the name in another row. So
    what a killed process leaves in the storage is known, and deleted when its time has come.
    """

    name = models.CharField(max_length=255, unique=True)
    delete_after = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.name
