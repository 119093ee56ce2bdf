"""The audit log."""

from django.db import models
from django.db.models.functions import Now
from django.urls import get_script_prefix

from accounts.models.users import User
from web.models import JsonField

# Actions whose words are not those of their key, a noun and a participle. The subject follows.
WORDS = {
    "archive.requested": "made the archive",
    "blinding.map-taken": "took the map of the names",
    "checklist.accepted": "skipped a remark of the checklist",
    "checklist.marked": "marked a step of the checklist as done",
    "checklist.skipped": "skipped a step of the checklist",
    "code.refused": "entered a wrong code",
    "estimate.requested": "estimated the values",
    "estimate-sample.requested": "drew the sample",
    "judge-board.requested": "compared the judges",
    "labels.imported": "imported labels from",
    "leaderboard.requested": "scored the runs",
    "login.failed": "failed to log in",
    "login.succeeded": "logged in",
    "machine.judge": "let the judge work",
    "machine.probes": "probed the judge",
    "nuggets.segments-chosen": "chose the segments of nuggets",
    "people.added": "added people",
    "phase.scored": "scored the phase",
    "pool.requested": "built the pool",
    "publication.requested": "started the publication of",
    "run.answered": "answered questions about the run",
    "run.metadata-added": "added metadata to the run",
    "run.models-changed": "changed the models of the run",
    "run.scored-later": "scored the later run",
    "run.submitted-for-team": "submitted for its team the run",
    "session.taken-back": "took back the session",
    "topics.assigned": "assigned topics of the batch",
    "topics.imported": "imported topics from",
}
# Verbs whose past tense differs from the participle; who requested something started it
VERBS = {
    "chosen": "chose",
    "drawn": "drew",
    "frozen": "froze",
    "hidden": "hid",
    "requested": "started",
    "shown": "showed",
    "withdrawn": "withdrew",
    "written": "wrote",
}


class Event(models.Model):
    """One change that a person or a program made. The database refuses to change or delete it.

    The subject and the track are kept as text too: the log stays readable when they are renamed. This app is below
    the tracks, so it has no foreign key to a track.
    """

    class Via(models.TextChoices):
        SITE = "site", "site"
        ADMIN = "admin", "admin"
        API = "api", "API"
        COMMAND = "command", "command or worker"

    at = models.DateTimeField("time", db_default=Now(), editable=False)
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", verbose_name="person")
    via = models.CharField(max_length=10, choices=Via)
    action = models.CharField(max_length=60, help_text="A noun and a participle: pool.requested.")
    subject = models.CharField(max_length=200, blank=True)
    subject_path = models.CharField(max_length=500, blank=True, help_text="Path of the subject's page.")
    track_id = models.BigIntegerField("track", null=True)
    track_slug = models.CharField(max_length=100, blank=True)
    details = JsonField(default=dict)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["track_id", "-id"], name="audit_of_track"),
            models.Index(fields=["action", "-id"], name="audit_of_action"),
            models.Index(fields=["by", "-id"], name="audit_of_person"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(action__regex=r"^[a-z-]+\.[a-z-]+$"), name="audit_action_form"
            )
        ]

    def __str__(self) -> str:
        return f"{self.label}: {self.subject}"

    @property
    def label(self) -> str:
        """The words for what the person has done, such as `opened the batch`; the subject follows."""
        return action_in_words(self.action)

    @property
    def subject_url(self) -> str:
        return get_script_prefix() + self.subject_path if self.subject_path else ""


def action_in_words(action: str) -> str:
    """`batch.opened` as `opened the batch`."""
    if action in WORDS:
        return WORDS[action]
    noun, participle = action.replace("-", " ").split(".")
    return f"{VERBS.get(participle, participle)} the {noun}"
