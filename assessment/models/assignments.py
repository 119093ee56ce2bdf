"""Topics of a batch, assigned to assessors."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from assessment.models.batches import Batch
from tracks.models import Topic


class TopicAssignment(models.Model):
    """A topic of a batch assigned to an assessor. It is withdrawn, never deleted: judgments keep their assignment.

    If several assessors judge a topic in the batch, each has a `seat`, numbered from 1. An assessor who takes over a
    withdrawn topic takes its seat and judges its remaining entries. `cursor` is a hint to the position of the next
    entry; a wrong one costs time only.
    """

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="topic_assignments")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="topic_assignments")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="topic_assignments")
    is_withdrawn = models.BooleanField("withdrawn", default=False)
    seat = models.PositiveSmallIntegerField(default=1, editable=False)
    cursor = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["batch", "topic"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "topic", "assessor"], name="topic_assignment_unique"),
            models.UniqueConstraint(
                fields=["batch", "topic", "seat"], condition=Q(is_withdrawn=False), name="topic_seat_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic} to {self.assessor}"
