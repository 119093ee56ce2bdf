"""Topics of a track, the rows of a form that belong to them, and checks of them for leaks."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import User
from assay.formats.runs.rows import MAX_TOPIC
from assay.formats.topics.facts import TopicFacts
from jobs.models import Job
from tracks.models.tracks import Track
from web.models import JsonField

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
    code = models.CharField(max_length=MAX_TOPIC, db_collation="C")
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
    labels = JsonField(default=dict, blank=True)
    subtopics = JsonField(
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

    @property
    def facts(self) -> TopicFacts:
        """The topic as files have it."""
        return TopicFacts(**{name: getattr(self, name) for name in TopicFacts.__dataclass_fields__})


class TopicCorrection(models.Model):
    """The texts that a topic of an opened track had until a correction, and its reason. Rows are only added."""

    topic = models.ForeignKey(Topic, models.PROTECT, related_name="corrections")
    texts = JsonField(help_text="The texts until then, by the names of the fields of a topic.")
    reason = models.TextField()
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"correction of {self.topic}"


class TopicImport(models.Model):
    """A file of topics or labels that was imported into a track. Imports of earlier versions did not keep the file."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="topic_imports")
    format = models.CharField(max_length=40)
    name = models.TextField("file name")
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    counts = JsonField(default=dict)
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


class Row(models.Model):
    """A row of a track whose protocol judges rows. It never changes: what was judged stays as it was shown."""

    id = models.BigAutoField(primary_key=True)
    topic = models.ForeignKey(Topic, models.CASCADE, related_name="rows")
    docno = models.TextField(db_collation="C")
    fields = JsonField(help_text="The text of each column, besides topic and docno.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["topic", "docno"], name="row_unique")]

    def __str__(self) -> str:
        return f"{self.topic_id} {self.docno}"


class LeakCheck(models.Model):
    """One check of the topics of a track against its collection."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="leak_checks")
    job = models.ForeignKey(Job, models.PROTECT, related_name="+")
    overlap = models.FloatField(help_text="The part of their word shingles that two near-duplicates share.")
    leaks = JsonField(default=list)
    unknown = JsonField(default=list, help_text="Topics whose own question is not known.")
    n_topics = models.PositiveIntegerField(default=0)
    digest = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        help_text="That of the topics, collections and candidates that were read; see `tracks.leaks.selectors`.",
    )
    n_forbidden = models.PositiveIntegerField(default=0)
    is_complete = models.BooleanField(default=False)
    reason = models.TextField(blank=True, help_text="Why the track may open with these leaks.")
    accepted_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(reason="", accepted_by=None) | ~Q(reason="") & Q(accepted_by__isnull=False),
                name="leak_check_reason_has_a_person",
            )
        ]

    def __str__(self) -> str:
        return f"check {self.pk} of {self.track} for leaks"
