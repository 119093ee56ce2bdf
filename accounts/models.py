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

    class Meta(AbstractUser.Meta):
        pass

    @property
    def is_organizer(self) -> bool:
        return self.is_active and self.is_staff
