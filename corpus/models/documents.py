"""Documents of a collection and their images."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_noop

from accounts.models import User
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class Collection(models.Model):
    """A set of documents. Readers see it when its first import is complete, and during later imports."""

    class Status(models.TextChoices):
        EMPTY = "empty", gettext_noop("empty")
        IMPORTING = "importing", gettext_noop("importing")
        READY = "ready", gettext_noop("ready")
        INCOMPLETE = "incomplete", gettext_noop("incomplete: its first import failed")

    slug = models.SlugField(unique=True, max_length=100)
    name = NameField(max_length=200)
    description = models.TextField(blank=True)
    license = NameField(max_length=200, blank=True)
    hosts = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        help_text="Links to these hosts lead into this collection, such as math.stackexchange.com.",
    )
    status = models.CharField("state", max_length=20, choices=Status, default=Status.EMPTY)
    counts = JsonField(default=dict, blank=True, editable=False)
    votes_counted_by = models.BigIntegerField(
        default=0, editable=False, help_text="The job whose counts of votes are valid."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    imported_by = models.ForeignKey(
        User, models.PROTECT, null=True, editable=False, related_name="+", help_text="Empty: by a command."
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return address_of("corpus:collection", self.slug)


class Document(models.Model):
    """A post or another text. `thread` is the docno of the question of its thread, or of the thread of a forum.

    `title` and `body` are HTML that was sanitized on import (`assay.html.sanitize`). `docno` and `thread` are compared
    by bytes.
    """

    class Kind(models.TextChoices):
        QUESTION = "question", gettext_noop("question")
        ANSWER = "answer", gettext_noop("answer")
        DOCUMENT = "document", gettext_noop("document")
        THREAD = "thread", gettext_noop("thread")  # of a forum: its headline, under its own docno
        POST = "post", gettext_noop("post")  # of a forum

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="documents")
    docno = models.TextField(db_collation="C")
    kind = models.CharField(max_length=10, choices=Kind)
    thread = models.TextField(db_collation="C")
    title = models.TextField(blank=True)
    body = models.TextField(blank=True)
    tags = ArrayField(models.TextField(), default=list, blank=True)
    score = models.IntegerField(null=True, blank=True)
    accepted = models.TextField(
        blank=True, db_collation="C", help_text="Docno of the accepted answer of a question."
    )
    author_code = models.TextField(blank=True)
    author_name = models.TextField(blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    language = models.CharField(
        max_length=20,
        blank=True,
        db_default="",
        help_text="A code such as eng or arz; empty if it is not known.",
    )

    source = models.TextField(
        blank=True,
        db_default="",
        help_text="Of a post of a forum: what its file contains between its tags, of which citations count characters.",
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "docno"], name="document_docno_unique")]
        indexes = [models.Index(fields=["collection", "thread"], name="document_thread")]

    def __str__(self) -> str:
        return self.docno


class Author(models.Model):
    """The author of documents and comments, with the name in the collection."""

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="authors")
    code = models.TextField(db_collation="C")
    name = models.TextField()
    reputation = models.IntegerField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "code"], name="author_code_unique")]

    def __str__(self) -> str:
        return self.name


class Comment(models.Model):
    """A comment on a document; `text` is sanitized HTML."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.PROTECT, related_name="comments")
    code = models.TextField(db_collation="C")
    text = models.TextField()
    score = models.IntegerField(default=0)
    author_code = models.TextField(blank=True)
    author_name = models.TextField(blank=True)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "code"], name="comment_code_unique")]

    def __str__(self) -> str:
        return self.code


class DocumentLink(models.Model):
    """A link from a document to another document of the same collection."""

    class Kind(models.TextChoices):
        RELATED = "related", "related"
        DUPLICATE = "duplicate", "duplicate"

    id = models.BigAutoField(primary_key=True)
    source = models.ForeignKey(Document, models.PROTECT, related_name="links_out")
    target = models.ForeignKey(Document, models.PROTECT, related_name="links_in")
    kind = models.CharField(max_length=10, choices=Kind)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "target", "kind"], name="link_unique")]

    def __str__(self) -> str:
        return f"{self.source_id} {self.kind} {self.target_id}"


class VoteCount(models.Model):
    """The number of votes of one type that a document got.

    An import of votes counts them in rows of its own. They count when the collection names its job
    (`Collection.votes_counted_by`), so that no row is rewritten at the end.
    """

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.PROTECT, related_name="votes")
    vote_type = models.SmallIntegerField(help_text="The dump's VoteTypeId: 1 accepted, 2 up, 3 down, ...")
    n = models.PositiveIntegerField()
    counted_by = models.BigIntegerField(
        default=0, editable=False, help_text="The job that counted the votes."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "vote_type", "counted_by"], name="vote_type_unique")
        ]

    def __str__(self) -> str:
        return f"{self.document_id}: {self.n} of type {self.vote_type}"


class Tag(models.Model):
    """A tag, and how often it is used according to the collection."""

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="tags")
    name = models.TextField()
    n = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="tag_name_unique")]

    def __str__(self) -> str:
        return self.name


class Image(models.Model):
    """An image that Assay serves itself, in the place of one to which posts refer.

    The file is not the imported one: Assay decodes that and encodes it again (`corpus.images.encoding`).
    """

    class ContentType(models.TextChoices):
        PNG = "image/png", "PNG"
        JPEG = "image/jpeg", "JPEG"
        WEBP = "image/webp", "WebP"

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="images")
    name = models.TextField(
        db_collation="C", help_text="Path in the imported folder. The URLs in posts end in it."
    )
    file = models.FileField(max_length=255)
    sha256 = models.CharField(max_length=64, help_text="Of the file.")
    content_type = models.CharField(max_length=20, choices=ContentType)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    n_bytes = models.PositiveIntegerField()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="image_name_unique")]
        indexes = [models.Index(fields=["collection", "sha256"], name="image_sha256")]

    def __str__(self) -> str:
        return self.name
