"""Topics of a track."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tracks.models.tracks import Track


class Topic(models.Model):
    """An information need. `title`, `body` and `narrative` are sanitized HTML. Topics sort by the bytes of `code`."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="topics")
    code = models.CharField(max_length=100, db_collation="C")
    title = models.TextField(blank=True)
    body = models.TextField(blank=True)
    narrative = models.TextField(blank=True)
    tags = ArrayField(models.TextField(), default=list, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    formula_id = models.CharField(
        max_length=100, blank=True, help_text="If the topic is a formula: its id in the body of the topic."
    )
    latex = models.TextField(blank=True, help_text="If the topic is a formula: its LaTeX.")
    thread = models.TextField(
        blank=True, db_collation="C", help_text="Docno of the topic's question in the topic collection."
    )

    class Meta:
        ordering = ["code"]
        constraints = [models.UniqueConstraint(fields=["track", "code"], name="topic_code_unique")]

    def __str__(self) -> str:
        return self.code


class TopicImport(models.Model):
    """A record that a file of topics or labels was imported into a track. The file itself is not stored."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="topic_imports")
    format = models.CharField(max_length=40)
    name = models.TextField("file name")
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    counts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
