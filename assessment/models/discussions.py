"""What organizers write about the units of a training batch."""

from django.db import models

from accounts.models import User
from assessment.models.batches import Batch
from tracks.models import Topic


class DiscussionNote(models.Model):
    """The outcome of discussing a document of a topic after a training batch: the agreed grade, and why."""

    id = models.BigAutoField(primary_key=True)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="notes")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="discussion_notes")
    docno = models.TextField(db_collation="C")
    grade = models.SmallIntegerField(null=True, help_text="The agreed grade; empty if there is none.")
    text = models.TextField(blank=True)
    written_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    written_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["topic", "docno"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "topic", "docno"], name="discussion_note_unique")
        ]

    def __str__(self) -> str:
        return f"{self.topic_id} {self.docno}: {self.grade}"
