"""Topics of a batch, assigned to assessors."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from assessment.models.batches import Batch
from tracks.models import Topic


class TopicAssignment(models.Model):
    """A topic of a batch given to an assessor. Withdrawn rather than deleted: what was judged stays judged.

    `seat` numbers the times that a topic is judged in the batch. Who takes over a withdrawn topic takes its seat,
    and judges what is not judged from it yet. `cursor` is a hint where the next entry stands: nothing is lost if
    it is wrong, only time.
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
