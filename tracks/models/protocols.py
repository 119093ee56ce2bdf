"""Protocols that tracks use."""

from functools import lru_cache

from django.db import models

from accounts.models import User
from assay.protocols.loader import parse_protocol
from assay.protocols.schema import Protocol


class StoredProtocol(models.Model):
    """A protocol file. It is never edited: a changed protocol gets a new slug."""

    slug = models.SlugField(unique=True, max_length=100)
    title = models.TextField()
    text = models.TextField("TOML")
    digest = models.CharField("sha256", max_length=64)
    is_shipped = models.BooleanField("ships with Assay", default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        verbose_name = "protocol"
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug

    @property
    def parsed(self) -> Protocol:
        return _parsed(self.slug, self.text)


@lru_cache(maxsize=64)
def _parsed(slug: str, text: str) -> Protocol:
    """A stored file never changes, so it is parsed once."""
    return parse_protocol(text, name=f"{slug}.toml")
