"""Collections of documents."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.urls import reverse

from accounts.models import User


class Collection(models.Model):
    """A set of documents. Readers see it when its first import is complete, and during later imports."""

    class Status(models.TextChoices):
        EMPTY = "empty", "empty"
        IMPORTING = "importing", "importing"
        READY = "ready", "ready"
        INCOMPLETE = "incomplete", "incomplete: its first import failed"

    slug = models.SlugField(unique=True, max_length=100)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    license = models.CharField(max_length=200, blank=True)
    hosts = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        help_text="Links to these hosts lead into this collection, such as math.stackexchange.com.",
    )
    status = models.CharField("state", max_length=20, choices=Status, default=Status.EMPTY)
    counts = models.JSONField(default=dict, blank=True, editable=False)
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
        return reverse("corpus:collection", args=[self.slug])
