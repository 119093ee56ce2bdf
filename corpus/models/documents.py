"""What exists before any run: people, protocols, collections, documents, tracks, topics; and jobs, for long work."""

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse

from protocols.loader import parse_protocol
from protocols.schema import Protocol


class User(AbstractUser):
    """A person. `is_staff` makes an organizer; assessors and team members get their part from a track."""

    uses_shortcuts = models.BooleanField(
        "single-key shortcuts",
        default=True,
        help_text="Judge with single keys. Switch off if you use speech input or another tool that sends keys.",
    )

    class Meta(AbstractUser.Meta):
        pass

    @property
    def is_organizer(self) -> bool:
        return self.is_active and self.is_staff


class StoredProtocol(models.Model):
    """A protocol file as it stood when a track took it. Never edited: a change is a new slug."""

    slug = models.SlugField(unique=True, max_length=100)
    title = models.TextField()
    text = models.TextField("TOML")
    digest = models.CharField("sha256", max_length=64)
    is_shipped = models.BooleanField("comes with Assay", default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        verbose_name = "protocol"
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug

    @property
    def parsed(self) -> Protocol:
        return parse_protocol(self.text, name=f"{self.slug}.toml")


class Collection(models.Model):
    """A set of documents. Readers see it once its first import is complete; later imports leave it in sight."""

    class Status(models.TextChoices):
        EMPTY = "empty", "empty"
        IMPORTING = "importing", "importing"
        READY = "ready", "ready"
        INCOMPLETE = "incomplete", "incomplete: its first import failed"

    slug = models.SlugField(unique=True, max_length=100)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    licence = models.CharField(max_length=200, blank=True)
    hosts = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        help_text="Hosts whose links lead into this collection, such as math.stackexchange.com.",
    )
    status = models.CharField(max_length=20, choices=Status, default=Status.EMPTY)
    counts = models.JSONField(default=dict, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("corpus:collection", args=[self.slug])


class Document(models.Model):
    """A post or any other unit of text; `thread` is the docno of the question that heads its thread.

    `title` and `body` are sanitised HTML: `corpus.sanitise` has made them fit for a page. `docno` and `thread`
    compare by bytes.
    """

    class Kind(models.TextChoices):
        QUESTION = "question", "question"
        ANSWER = "answer", "answer"
        DOCUMENT = "document", "document"

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="documents")
    docno = models.TextField(db_collation="C")
    kind = models.CharField(max_length=10, choices=Kind)
    thread = models.TextField(db_collation="C")
    title = models.TextField(blank=True)
    body = models.TextField(blank=True)
    tags = ArrayField(models.TextField(), default=list, blank=True)
    score = models.IntegerField(null=True, blank=True)
    is_accepted = models.BooleanField(default=False)
    accepted = models.TextField(
        blank=True, db_collation="C", help_text="A question's: docno of the accepted answer."
    )
    author_code = models.TextField(blank=True)
    author_name = models.TextField(blank=True)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["collection", "docno"], name="document_docno_unique"),
        ]
        indexes = [models.Index(fields=["collection", "thread"], name="document_thread")]

    def __str__(self) -> str:
        return self.docno


class Author(models.Model):
    """Who wrote a document or a comment, as the collection names them."""

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="authors")
    code = models.TextField(db_collation="C")
    name = models.TextField()
    reputation = models.IntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["collection", "code"], name="author_code_unique"),
        ]

    def __str__(self) -> str:
        return self.name


class Comment(models.Model):
    """A remark under a document; `text` is sanitised HTML."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.PROTECT, related_name="comments")
    code = models.TextField(db_collation="C")
    text = models.TextField()
    score = models.IntegerField(default=0)
    author_code = models.TextField(blank=True)
    author_name = models.TextField(blank=True)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "code"], name="comment_code_unique"),
        ]

    def __str__(self) -> str:
        return self.code


class DocumentLink(models.Model):
    """One document's pointer to another of the same collection."""

    class Kind(models.TextChoices):
        RELATED = "related", "related"
        DUPLICATE = "duplicate", "duplicate"

    id = models.BigAutoField(primary_key=True)
    source = models.ForeignKey(Document, models.PROTECT, related_name="links_out")
    target = models.ForeignKey(Document, models.PROTECT, related_name="links_in")
    kind = models.CharField(max_length=10, choices=Kind)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "target", "kind"], name="link_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.kind} {self.target_id}"


class VoteCount(models.Model):
    """How many votes of one type a document got."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.PROTECT, related_name="votes")
    vote_type = models.SmallIntegerField(help_text="The dump's VoteTypeId: 1 accepted, 2 up, 3 down, ...")
    n = models.PositiveIntegerField()
    n_counting = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text="What an import that runs has counted so far; it becomes `n` at its end.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "vote_type"], name="vote_type_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}: {self.n} of type {self.vote_type}"


class Tag(models.Model):
    """A tag of the collection and how often the collection says it stands."""

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="tags")
    name = models.TextField()
    n = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="tag_name_unique")]

    def __str__(self) -> str:
        return self.name


class Formula(models.Model):
    """One instance of a formula, as a formula index names it: where it stands, and what it looks like.

    There are tens of millions, so a row is small and its posts are docnos, not foreign keys: an index may come before
    the posts, and name posts that the collection leaves out. All ids compare by bytes.
    """

    class Place(models.IntegerChoices):
        """Indices into `corpus.formulae.PLACES`."""

        TITLE = 0, "title"
        QUESTION = 1, "question"
        ANSWER = 2, "answer"
        COMMENT = 3, "comment"

    id = models.BigAutoField(primary_key=True)
    # No foreign key in the database: checking the one collection for each of 28 million rows is a third of an import.
    collection = models.ForeignKey(
        Collection, models.PROTECT, related_name="formulae", db_index=False, db_constraint=False
    )
    code = models.TextField("formula id", db_collation="C")
    post = models.TextField(
        db_collation="C", help_text="Docno of the post that it stands in; a comment's: the post above."
    )
    thread = models.TextField(db_collation="C", help_text="Docno of the question that heads the thread.")
    comment = models.TextField(
        blank=True, db_collation="C", help_text="Where it stands in a comment: its id."
    )
    place = models.SmallIntegerField(choices=Place)
    visual = models.TextField(
        "visual id",
        blank=True,
        db_collation="C",
        help_text="Formulae that look alike share it. Empty until it is known.",
    )
    is_visual_given = models.BooleanField(
        "visual id given by the index", default=False, help_text="If not, clustering has made it."
    )
    old_visual = models.TextField(blank=True, help_text="What the index says that its visual id once was.")
    issue = models.TextField(blank=True, help_text="What the index says is wrong with it.")
    latex = models.TextField("LaTeX", blank=True, help_text="Empty until a LaTeX index is imported.")

    class Meta:
        verbose_name_plural = "formulae"
        constraints = [
            models.UniqueConstraint(fields=["collection", "code"], name="formula_code_unique"),
        ]
        indexes = [
            models.Index(fields=["collection", "visual"], name="formula_visual", condition=~Q(visual="")),
        ]

    def __str__(self) -> str:
        return self.code


class FormulaMathML(models.Model):
    """A formula as MathML, from an index of its own. `code` is the formula's id; the rows need no foreign key."""

    class Form(models.TextChoices):
        SLT = "slt", "Presentation MathML (SLT)"
        OPT = "opt", "Content MathML (OPT)"

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(
        Collection, models.PROTECT, related_name="mathml", db_index=False, db_constraint=False
    )
    form = models.CharField(max_length=3, choices=Form, db_collation="C")
    code = models.TextField("formula id", db_collation="C")
    content = models.TextField("MathML")

    class Meta:
        verbose_name = "MathML of a formula"
        verbose_name_plural = "MathML of formulae"
        constraints = [
            models.UniqueConstraint(fields=["collection", "form", "code"], name="formula_mathml_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.code} as {self.form}"


class Track(models.Model):
    """One task of one campaign: a protocol, the collection that is searched, and its topics."""

    class Status(models.TextChoices):
        DRAFT = "draft", "draft"
        OPEN = "open", "open for runs"
        CLOSED = "closed", "closed for runs"

    slug = models.SlugField(unique=True, max_length=100)
    name = models.CharField(max_length=200)
    description = models.TextField(
        blank=True, help_text="Plain text, shown to everybody once the track is open."
    )
    protocol = models.ForeignKey(StoredProtocol, models.PROTECT, related_name="tracks")
    collection = models.ForeignKey(
        Collection,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="tracks",
        help_text="What runs search.",
    )
    topic_collection = models.ForeignKey(
        Collection,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="topic_tracks",
        help_text="The topics' own threads, with the answers that they got later. Participants never see it.",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    closes_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="From this moment no run is taken or withdrawn. Empty: until closed by hand.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("corpus:track", args=[self.slug])


class Assessor(models.Model):
    """A person who judges for a track. Never a member of one of its teams."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="assessors")
    user = models.ForeignKey(User, models.PROTECT, related_name="assessor_of")
    group = models.CharField(
        max_length=50, blank=True, help_text="Where the protocol has judges of several kinds."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["track", "user"], name="assessor_unique")]

    def __str__(self) -> str:
        return self.user.username


class Topic(models.Model):
    """An information need. `title`, `body` and `narrative` are sanitised HTML; topics sort by the bytes of `code`."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="topics")
    code = models.CharField(max_length=100, db_collation="C")
    title = models.TextField(blank=True)
    body = models.TextField(blank=True)
    narrative = models.TextField(blank=True)
    tags = ArrayField(models.TextField(), default=list, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    formula_id = models.CharField(
        max_length=100, blank=True, help_text="Where the topic is a formula: its id in the topic's own body."
    )
    latex = models.TextField(blank=True, help_text="Where the topic is a formula: its LaTeX.")
    thread = models.TextField(
        blank=True, db_collation="C", help_text="Docno of the topic's own question in the topic collection."
    )

    class Meta:
        ordering = ["code"]
        constraints = [models.UniqueConstraint(fields=["track", "code"], name="topic_code_unique")]

    def __str__(self) -> str:
        return self.code


class Job(models.Model):
    """Long work. This row, not the message queue, is the truth about its state.

    `attempt` is a fencing token: a worker that lost the job (killed, or cut off and taken for dead) finds another
    number under the row's lock, and may not store its result.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    kind = models.CharField(max_length=100)
    title = models.CharField(max_length=200)
    arguments = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    message = models.TextField(blank=True)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    attempt = models.PositiveIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(
        default=0, help_text="How often a worker was lost while doing it."
    )
    heartbeat_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    collection = models.ForeignKey(Collection, models.PROTECT, null=True, related_name="jobs")
    track = models.ForeignKey(Track, models.PROTECT, null=True, related_name="jobs")

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
        return reverse("corpus:job", args=[self.pk])

    @property
    def is_finished(self) -> bool:
        return self.state in {self.State.DONE, self.State.FAILED}

    @property
    def percent(self) -> int | None:
        """Progress in whole percent; None while the total is unknown."""
        return min(100, 100 * self.done // self.total) if self.total else None


class Import(models.Model):
    """One file going into a collection (or topics into a track), with what it brought and what it skipped, and why.

    `position` is the byte of the unpacked file up to which everything is committed: a killed import goes on there.
    The files of one job go in in the order of their ids.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, null=True, blank=True, related_name="imports")
    track = models.ForeignKey(Track, models.PROTECT, null=True, blank=True, related_name="imports")
    format = models.CharField(max_length=40)
    name = models.TextField("file name")
    location = models.TextField(help_text="Where the worker reads the file.")
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(default=0)
    position = models.BigIntegerField(default=0)
    is_complete = models.BooleanField(default=False)
    counts = models.JSONField(default=dict, blank=True)
    skipped = models.JSONField(default=dict, blank=True)
    skipped_lines = models.JSONField(
        default=dict, blank=True, help_text="The first lines that were skipped for each reason."
    )
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="imports")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class Clustering(models.Model):
    """One clustering of a collection's formulae by what they look like. Its job does it; helpers' jobs take parts.

    Ids that an index gave are kept. So are those that an earlier clustering made, unless this one begins anew.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="clusterings")
    job = models.OneToOneField(Job, models.PROTECT, related_name="clustering")
    is_anew = models.BooleanField("makes all new ids again", default=False)
    is_complete = models.BooleanField(default=False)
    counts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"clustering {self.pk} of {self.collection}"


class ClusteringPart(models.Model):
    """Formulae from one id to another by bytes, and their keys once they are made. Gone when the clustering is done.

    `holder` makes the keys. The claim of a job that is lost, ended or taken over counts for nothing.
    """

    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="parts")
    first = models.TextField(db_collation="C")
    last = models.TextField(db_collation="C")
    holder = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    holder_attempt = models.PositiveIntegerField(default=0)
    keys = models.BinaryField(null=True)
    counts = models.JSONField(default=dict)
    is_stored = models.BooleanField("its new ids are stored", default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["clustering", "first"], name="clustering_part_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"


class Disagreement(models.Model):
    """Formulae of one string and one given visual id, where the id has other strings, or the string other ids."""

    id = models.BigAutoField(primary_key=True)
    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="disagreements")
    visual = models.TextField("visual id", db_collation="C")
    formula = models.TextField("first formula", db_collation="C")
    n = models.PositiveIntegerField("formulae")
    string = models.TextField(help_text="The SLT string; LaTeX where the formulae have none.")
    is_slt = models.BooleanField("is an SLT string")
    n_strings = models.PositiveIntegerField("strings of the id")
    n_ids = models.PositiveIntegerField("ids of the string")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.visual}: {self.string}"
