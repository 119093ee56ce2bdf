"""Texts that people write and publish in versions: guidelines and data agreements of tracks, pages of the site."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.models import User
from tracks.models.tracks import Track


class Version(models.Model):
    """A published text. The database refuses to change or delete it.

    `html` is what `text` was rendered to when it was published.
    """

    number = models.PositiveIntegerField()
    text = models.TextField("Markdown")
    html = models.TextField(editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"version {self.number}"


class GuidelinesVersion(Version):
    """A published version of a track's guidelines; `Track.guidelines` is the one in force.

    Judgments name the version under which they were made.
    """

    track = models.ForeignKey(Track, models.PROTECT, related_name="guidelines_versions")
    summary = models.CharField("what changed", max_length=500, blank=True)
    published_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    published_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["track", "-number"]
        constraints = [models.UniqueConstraint(fields=["track", "number"], name="guidelines_number_unique")]


class GuidelinesDraft(models.Model):
    """The text that organizers are writing for the next version. `revision` counts its saves."""

    track = models.OneToOneField(Track, models.PROTECT, related_name="guidelines_draft")
    text = models.TextField("Markdown", blank=True)
    revision = models.PositiveIntegerField(default=0)
    edited_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"draft of {self.track_id}"


class GuidelinesReading(models.Model):
    """A user has opened a version of the guidelines."""

    version = models.ForeignKey(GuidelinesVersion, models.PROTECT, related_name="readings")
    user = models.ForeignKey(User, models.PROTECT, related_name="+")
    read_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "user"], name="guidelines_reading_unique")]

    def __str__(self) -> str:
        return f"{self.user_id} read {self.version_id}"


class AgreementVersion(Version):
    """A published version of a track's data agreement; `Track.agreement` is the one in force."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="agreement_versions")
    sha256 = models.CharField(max_length=64, help_text="Of the text in UTF-8.")
    published_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["track", "-number"]
        constraints = [models.UniqueConstraint(fields=["track", "number"], name="agreement_number_unique")]


class AgreementAcceptance(models.Model):
    """A user has accepted a version. The database refuses to change or delete it."""

    version = models.ForeignKey(AgreementVersion, models.PROTECT, related_name="acceptances")
    user = models.ForeignKey(User, models.PROTECT, related_name="acceptances")
    sha256 = models.CharField(max_length=64, help_text="Of the text that was accepted.")
    accepted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "user"], name="acceptance_unique")]

    def __str__(self) -> str:
        return f"{self.user_id} accepted {self.version_id}"


class SitePage(Version):
    """A published version of a text of the site; the one with the highest number is shown."""

    class Name(models.TextChoices):
        ABOUT = "about", gettext_noop("About this site")
        CONTACT = "contact", gettext_noop("Contact")
        TERMS = "terms", gettext_noop("Terms of use")
        PRIVACY = "privacy", gettext_noop("Privacy")

    name = models.CharField(max_length=10, choices=Name)
    published_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "-number"]
        constraints = [models.UniqueConstraint(fields=["name", "number"], name="site_page_number_unique")]

    def __str__(self) -> str:
        return f"{self.name}, version {self.number}"
