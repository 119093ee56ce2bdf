"""User accounts."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person who can log in. `is_staff` marks organizers; a track names its assessors, a team its members."""

    uses_shortcuts = models.BooleanField(
        "single-key shortcuts",
        default=True,
        help_text="Judge with single keys. Switch this off if you use speech input or another tool that sends keys.",
    )

    accepts_next = models.BooleanField(
        "next task at once",
        default=True,
        help_text="After a submission, take the next task at once. Off: first ask whether to go on.",
    )
    judging_keys = models.JSONField(
        default=dict, editable=False, help_text="The user's own keys on the judging page, by action."
    )
    highlights_topic_words = models.BooleanField(
        default=False, help_text="The judging page highlights the words of the topic in the document."
    )

    link_sent_at = models.DateTimeField(
        null=True, editable=False, help_text="The latest e-mail with a login link."
    )

    class Meta(AbstractUser.Meta):
        pass

    @property
    def is_organizer(self) -> bool:
        return self.is_active and self.is_staff


class Lockout(models.Model):
    """The latest time at which wrong passwords locked the login to an account from an address."""

    user = models.ForeignKey(User, models.CASCADE, related_name="lockouts")
    address = models.GenericIPAddressField(null=True)
    locked_at = models.DateTimeField()
    is_mailed = models.BooleanField(default=False)

    class Meta:
        ordering = ["-locked_at"]
        constraints = [
            models.UniqueConstraint(fields=["user", "address"], nulls_distinct=False, name="lockout_unique")
        ]

    def __str__(self) -> str:
        return f"{self.locked_at:%Y-%m-%d %H:%M} UTC from {self.address or 'an unknown address'}"
