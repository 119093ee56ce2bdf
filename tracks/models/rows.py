"""The rows of a table that a form shows."""

from django.db import models

from tracks.models.topics import Topic


class Row(models.Model):
    """A row of a track whose protocol judges rows. It never changes: what was judged stays as it was shown."""

    id = models.BigAutoField(primary_key=True)
    topic = models.ForeignKey(Topic, models.CASCADE, related_name="rows")
    docno = models.TextField(db_collation="C")
    fields = models.JSONField(help_text="The text of each column, besides topic and docno.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["topic", "docno"], name="row_unique")]

    def __str__(self) -> str:
        return f"{self.topic_id} {self.docno}"
