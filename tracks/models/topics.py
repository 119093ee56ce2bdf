"""Topics of a track."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tracks.models.tracks import Track

# Equals `assay.tables.natural`.
NATURAL = (
    "regexp_replace(regexp_replace(%(expressions)s, '([0-9]+)', '00000000000000000000\\1', 'g'),"
    " '[0-9]*([0-9]{20})', '\\1', 'g')"
)


def natural_order(name: str) -> models.Func:
    """The expression that sorts ids as people read them. It has no index: it is for short lists only."""
    return models.Func(name, template=NATURAL, output_field=models.TextField(db_collation="C"))


class Topic(models.Model):
    """An information need. `title`, `body` and `narrative` are sanitized HTML.

    Pages list topics in the natural order of their codes (A.9 before A.10), files by the bytes of the codes.
    `scenario` and `criteria` are plain text, in which empty lines separate paragraphs and LaTeX is between dollars.
    """

    track = models.ForeignKey(Track, models.PROTECT, related_name="topics")
    code = models.CharField(max_length=100, db_collation="C")
    natural_code = models.GeneratedField(
        expression=models.Func("code", template=NATURAL),
        output_field=models.TextField(db_collation="C"),
        db_persist=True,
    )
    title = models.TextField(blank=True)
    body = models.TextField(blank=True)
    narrative = models.TextField(blank=True)
    scenario = models.TextField(blank=True, db_default="", help_text="Who asks, and what for.")
    criteria = models.TextField(blank=True, db_default="", help_text="What makes a document relevant.")
    tags = ArrayField(models.TextField(), default=list, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    subtopics = models.JSONField(
        default=list,
        blank=True,
        help_text="Its parts or meanings, each with number, text and type; see `assay.formats.topics.subtopics`.",
    )
    split = models.CharField(
        max_length=200,
        blank=True,
        db_default="",
        help_text="Its part of the track, such as train or test. Tables of papers have a row for each.",
    )
    formula_id = models.CharField(
        max_length=100, blank=True, help_text="If the topic is a formula: its id in the body of the topic."
    )
    latex = models.TextField(blank=True, help_text="If the topic is a formula: its LaTeX.")
    source = models.TextField(
        blank=True, db_default="", help_text="Of a topic of BOLT: its XML, of which nothing is lost."
    )
    thread = models.TextField(
        blank=True, db_collation="C", help_text="Docno of the topic's question in the topic collection."
    )

    known_item = models.TextField(
        blank=True,
        db_default="",
        db_collation="C",
        help_text="Of a known-item task: docno of the only relevant document. Only organizers see it.",
    )

    class Meta:
        ordering = ["natural_code", "code"]
        constraints = [models.UniqueConstraint(fields=["track", "code"], name="topic_code_unique")]

    def __str__(self) -> str:
        return self.code


class TopicImport(models.Model):
    """A file of topics or labels that was imported into a track. Imports of earlier versions did not keep the file."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="topic_imports")
    format = models.CharField(max_length=40)
    name = models.TextField("file name")
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    counts = models.JSONField(default=dict)
    file = models.FileField(max_length=255, blank=True)
    is_replaced = models.BooleanField(
        default=False, help_text="A later file contains all topics, or has the same name."
    )
    has_private_parts = models.BooleanField(
        default=False, help_text="The file has labels or threads of topics, which participants may not see."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
