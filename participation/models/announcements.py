"""Announcements of organizers, and the people who get them by e-mail."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.models import Letter, User
from tracks.models import Track
from web.links import address_of
from web.names import NameField


class Announcement(models.Model):
    """A short text that organizers write to people of a track. `html` is what `text` was rendered to.

    `revision` counts its texts. One that is withdrawn is kept: only those who oversee the track still see it.
    """

    class Audience(models.TextChoices):
        TEAMS = "teams", "members of teams"
        ASSESSORS = "assessors", "assessors"
        EVERYONE = "everyone", "everyone who sees the track"

    track = models.ForeignKey(Track, models.PROTECT, related_name="announcements")
    title = NameField(max_length=200)
    text = models.TextField("Markdown")
    html = models.TextField(editable=False)
    audiences = ArrayField(models.CharField(max_length=10, choices=Audience), help_text="Who sees it.")
    revision = models.PositiveIntegerField(default=1)
    published_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    published_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-published_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=models.Q(audiences__len__gt=0), name="announcement_has_audience")
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return address_of("participation:announcements", self.track.slug)

    @property
    def readers(self) -> str:
        """Its readers, in words."""
        chosen = [label for value, label in self.Audience.choices if value in self.audiences]
        return (
            self.Audience.EVERYONE.label if self.Audience.EVERYONE in self.audiences else " and ".join(chosen)
        )


class AnnouncementMail(models.Model):
    """A person who gets an announcement by e-mail: once, also if several of their groups get it.

    `letter` is the latest one. It is deleted a month after it was sent or given up.
    """

    announcement = models.ForeignKey(Announcement, models.PROTECT, related_name="mails")
    user = models.ForeignKey(User, models.PROTECT, related_name="+")
    letter = models.ForeignKey(Letter, models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["announcement", "user"], name="announcement_mail_unique")
        ]

    def __str__(self) -> str:
        return f"{self.announcement_id} to {self.user_id}"

    @property
    def state(self) -> str:
        """The state of the e-mail, in words."""
        if self.letter is None:
            return "more than a month ago"
        if self.letter.due_at is not None:
            return "tried again later" if self.letter.n_tries else "waiting"
        return "sent" if self.letter.sent_at else "given up"
