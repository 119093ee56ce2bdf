"""Formulas of a collection."""

from django.db import models
from django.db.models import Q

from corpus.models.documents import Collection
from jobs.models import Job
from web.models import JsonField


class Formula(models.Model):
    """One instance of a formula from a formula index: its place in a post, and what it looks like.

    There are tens of millions, so a row is small. Posts are docnos instead of foreign keys, because an index may be
    imported before the posts, and may refer to posts that are missing. All ids are compared by bytes.
    """

    class Place(models.IntegerChoices):
        """Indices into `assay.formulas.columns.PLACES`."""

        TITLE = 0, "title"
        QUESTION = 1, "question"
        ANSWER = 2, "answer"
        COMMENT = 3, "comment"
        DOCUMENT = 4, "document"

    id = models.BigAutoField(primary_key=True)
    # No foreign key in the database: checking it for each of 28 million rows would take a third of an import.
    collection = models.ForeignKey(
        Collection, models.PROTECT, related_name="formulas", db_index=False, db_constraint=False
    )
    code = models.TextField("formula id", db_collation="C")
    post = models.TextField(
        db_collation="C", help_text="Docno of the post that contains it; for a comment, the post above."
    )
    thread = models.TextField(db_collation="C", help_text="Docno of the question of the thread.")
    comment = models.TextField(
        blank=True, db_collation="C", help_text="Id of the comment that contains it, if any."
    )
    place = models.SmallIntegerField(choices=Place)
    visual = models.TextField(
        "visual id",
        blank=True,
        db_collation="C",
        help_text="Shared by formulas that look alike. Empty if it is not known yet.",
    )
    is_visual_given = models.BooleanField(
        "visual id given by the index", default=False, help_text="Otherwise, clustering assigned it."
    )
    old_visual = models.TextField(blank=True, help_text="An earlier visual id, from the index.")
    issue = models.TextField(blank=True, help_text="A problem of the formula, from the index.")
    latex = models.TextField("LaTeX", blank=True, help_text="Empty until a LaTeX index is imported.")

    class Meta:
        verbose_name_plural = "formulas"
        constraints = [models.UniqueConstraint(fields=["collection", "code"], name="formula_code_unique")]
        indexes = [
            models.Index(fields=["collection", "visual"], name="formula_visual", condition=~Q(visual=""))
        ]

    def __str__(self) -> str:
        return self.code


class FormulaMathML(models.Model):
    """A formula as MathML, from a separate index. `code` is the id of the formula, without a foreign key."""

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
        verbose_name_plural = "MathML of formulas"
        constraints = [
            models.UniqueConstraint(fields=["collection", "form", "code"], name="formula_mathml_unique")
        ]

    def __str__(self) -> str:
        return f"{self.code} as {self.form}"


class Clustering(models.Model):
    """One clustering of the formulas of a collection. Its job leads; helper jobs compute parts.

    Visual ids that an index gave are kept. Those that an earlier clustering assigned are kept unless
    `is_from_scratch` is set.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="clusterings")
    job = models.OneToOneField(Job, models.PROTECT, related_name="clustering")
    is_from_scratch = models.BooleanField("replaces ids that the index did not give", default=False)
    is_complete = models.BooleanField(default=False)
    counts = JsonField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"clustering {self.pk} of {self.collection}"


class ClusteringPart(models.Model):
    """A range of formula ids, by bytes, and the keys of its formulas. Deleted when the clustering is complete.

    `holder` is the job that computes the keys. Its claim is void if that job is lost, finished or taken over.
    """

    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="parts")
    first = models.TextField(db_collation="C")
    last = models.TextField(db_collation="C")
    holder = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    holder_attempt = models.PositiveIntegerField(default=0)
    keys = models.BinaryField(null=True)
    counts = JsonField(default=dict)
    is_stored = models.BooleanField("its visual ids are stored", default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["clustering", "first"], name="clustering_part_unique")]

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"


class Disagreement(models.Model):
    """Formulas with one string and one given visual id, if that id has other strings or that string other ids."""

    id = models.BigAutoField(primary_key=True)
    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="disagreements")
    visual = models.TextField("visual id", db_collation="C")
    formula = models.TextField("first formula", db_collation="C")
    n = models.PositiveIntegerField("formulas")
    string = models.TextField(help_text="The SLT string, or LaTeX if the formulas have no SLT string.")
    is_slt = models.BooleanField("is an SLT string")
    n_strings = models.PositiveIntegerField("strings of the id")
    n_ids = models.PositiveIntegerField("ids of the string")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.visual}: {self.string}"
