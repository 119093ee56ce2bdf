"""Grades of draft criteria, which tell whether a criterion separates systems before it is kept."""

from django.db import models

from accounts.models import User
from tracks.models import Topic


class DraftGrade(models.Model):
    """The grade of an answer by a criterion that is not frozen yet. It counts in no score.

    The criterion is the key of its text, so a rewritten one is graded again.
    """

    topic = models.ForeignKey(Topic, models.PROTECT, related_name="draft_grades")
    key = models.CharField(max_length=64)
    answer = models.CharField(max_length=64, help_text="The digest of the answer.")
    grade = models.PositiveSmallIntegerField()
    graded_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    graded_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["topic", "key", "answer"], name="draft_grade_unique")]

    def __str__(self) -> str:
        return f"{self.key} {self.answer}: {self.grade}"
