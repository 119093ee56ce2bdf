"""Data agreements of tracks, and who accepted them."""

from django.db import models

from accounts.models import User
from tracks.models.tracks import Track


class AgreementVersion(models.Model):
    """A published version of a track's data agreement; `Track.agreement` is the one in force.

    The database refuses to change or delete it. `html` is what `text` was rendered to when it was published.
    """

    track = models.ForeignKey(Track, models.PROTECT, related_name="agreement_versions")
    number = models.PositiveIntegerField()
    text = models.TextField("Markdown")
    html = models.TextField(editable=False)
    sha256 = models.CharField(max_length=64, help_text="Of the text in UTF-8.")
    published_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["track", "-number"]
        constraints = [models.UniqueConstraint(fields=["track", "number"], name="agreement_number_unique")]

    def __str__(self) -> str:
        return f"version {self.number}"


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
