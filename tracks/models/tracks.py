"""Protocols in use, and tracks."""

import tomllib
from functools import lru_cache

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.models import User
from assay.extensions import ExtensionMissing
from assay.protocols.loader import read_checked
from assay.protocols.schema import Protocol
from corpus.models import Collection
from web.links import address_of
from web.names import NameField


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
        """The protocol.

        Raises:
            ExtensionMissing: It needs an extension that is not installed.
        """
        self.check_extensions()
        return self.as_written

    def check_extensions(self) -> None:
        """Refuse work with a protocol that needs an extension that is not installed.

        Raises:
            ExtensionMissing: It does.
        """
        if self.missing:
            raise ExtensionMissing(
                f"The protocol {self.slug} needs the extension {', '.join(self.missing)}, which this site does "
                "not have. Ask its operator to install it."
            )

    @property
    def as_written(self) -> Protocol:
        """The protocol, also if it cannot be used: its measures may be unknown."""
        return _parsed(self.slug, self.text)

    @property
    def missing(self) -> list[str]:
        """The extensions that it needs and this site does not have."""
        return sorted(self.as_written.missing)


class ProtocolDraft(models.Model):
    """A protocol that a person is writing in the browser; only they see it. `revision` counts its changes.

    `good` is the last text that was TOML, which the form shows while the text is not.
    """

    owner = models.ForeignKey(User, models.CASCADE, related_name="+")
    base = models.ForeignKey(StoredProtocol, models.SET_NULL, null=True, blank=True, related_name="+")
    text = models.TextField("TOML", blank=True)
    good = models.TextField("last TOML", blank=True)
    revision = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-edited_at"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return address_of("tracks:draft", self.pk)

    @property
    def name(self) -> str:
        """Its title, if it has one."""
        return str(tomllib.loads(self.good).get("title") or "New protocol")

    @property
    def base_text(self) -> str:
        """The text that the draft began with; empty if it began empty or with a file."""
        return self.base.text if self.base else ""


@lru_cache(maxsize=64)
def _parsed(slug: str, text: str) -> Protocol:
    """A stored file never changes, so it is parsed once."""
    return read_checked(text, name=f"{slug}.toml")


class Track(models.Model):
    """One task of a campaign: a protocol, the collection that runs search, and topics."""

    class Status(models.TextChoices):
        DRAFT = "draft", gettext_noop("draft")
        OPEN = "open", gettext_noop("open for runs")
        CLOSED = "closed", gettext_noop("closed for runs")

    slug = models.SlugField(unique=True, max_length=100)
    name = NameField(max_length=200)
    description = models.TextField(
        blank=True,
        help_text="A few lines of Markdown, shown to everyone once the track is open. Lists of tracks show the first "
        "paragraph.",
    )
    protocol = models.ForeignKey(StoredProtocol, models.PROTECT, related_name="tracks")
    collection = models.ForeignKey(
        Collection,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="tracks",
        help_text="The collection that runs search.",
    )
    topic_collection = models.ForeignKey(
        Collection,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="topic_tracks",
        help_text="Only for topics made from threads: the collection with these threads and their answers. "
        "Participants never see it.",
    )
    status = models.CharField("state", max_length=10, choices=Status, default=Status.DRAFT)
    is_closed_by_deadline = models.BooleanField(
        default=False,
        editable=False,
        help_text="Runs that arrived before the deadline are still accepted while they are checked.",
    )
    guidelines = models.ForeignKey(
        "tracks.GuidelinesVersion",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        help_text="The version in force.",
    )
    agreement = models.ForeignKey(
        "tracks.AgreementVersion",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        help_text="The version of the data agreement in force.",
    )
    shows_labels = models.BooleanField(
        "labels are public",
        default=False,
        help_text="Everyone sees the labels of the topics, and gets them with the topics. Otherwise, only "
        "organizers and assessors see them.",
    )
    reminder_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        default=3,
        help_text="Teams that owe runs or documents get an e-mail so many days before a closing time. Empty: none.",
    )
    names_hidden_until = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Until then, only organizers and the team itself read the names of a run. Empty: everybody does.",
    )
    derived_from = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="derived_tracks",
        help_text="The track from whose topics the formulas of the topics come.",
    )
    skipped = ArrayField(
        models.CharField(max_length=20),
        default=list,
        db_default=[],
        blank=True,
        editable=False,
        help_text="The recommended points of the checklist that the organizers do without.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return address_of("tracks:track", self.slug)

    @property
    def names_are_hidden(self) -> bool:
        """Return whether the names of teams and runs are hidden now from all but organizers and the team itself."""
        return self.names_hidden_until is not None and timezone.now() < self.names_hidden_until
