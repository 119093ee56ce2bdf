"""Formulas of a collection."""

from django.db import models
from django.db.models import Q

from corpus.models.collections import Collection


class Formula(models.Model):
    """One instance of a formula, as a formula index names it: where it stands, and what it looks like.

    There are tens of millions, so a row is small and its posts are docnos, not foreign keys: an index may come before
    the posts, and name posts that the collection leaves out. All ids compare by bytes.
    """

    class Place(models.IntegerChoices):
        """Indices into `assay.formulas.columns.PLACES`."""

        TITLE = 0, "title"
        QUESTION = 1, "question"
        ANSWER = 2, "answer"
        COMMENT = 3, "comment"

    id = models.BigAutoField(primary_key=True)
    # No foreign key in the database: checking the one collection for each of 28 million rows is a third of an import.
    collection = models.ForeignKey(
        Collection, models.PROTECT, related_name="formulas", db_index=False, db_constraint=False
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
        help_text="Formulas that look alike share it. Empty until it is known.",
    )
    is_visual_given = models.BooleanField(
        "visual id given by the index", default=False, help_text="If not, clustering has made it."
    )
    old_visual = models.TextField(blank=True, help_text="What the index says that its visual id once was.")
    issue = models.TextField(blank=True, help_text="What the index says is wrong with it.")
    latex = models.TextField("LaTeX", blank=True, help_text="Empty until a LaTeX index is imported.")

    class Meta:
        verbose_name_plural = "formulas"
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
        verbose_name_plural = "MathML of formulas"
        constraints = [
            models.UniqueConstraint(fields=["collection", "form", "code"], name="formula_mathml_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.code} as {self.form}"
