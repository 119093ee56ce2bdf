"""People."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person. `is_staff` makes an organizer; assessors and team members get their part from a track."""

    uses_shortcuts = models.BooleanField(
        "single-key shortcuts",
        default=True,
        help_text="Judge with single keys. Switch off if you use speech input or another tool that sends keys.",
    )

    class Meta(AbstractUser.Meta):
        pass

    @property
    def is_organizer(self) -> bool:
        return self.is_active and self.is_staff
