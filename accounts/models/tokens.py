"""Access tokens for programs."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models.users import User
from web.models import Scope
from web.names import NameField


class Token(models.Model):
    """An access token of a user, for programs. Only the digest of its text is stored."""

    user = models.ForeignKey(User, models.PROTECT, related_name="tokens")
    name = NameField(max_length=100)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope))
    track_id = models.BigIntegerField(null=True, help_text="The only track where it is valid; empty: all.")
    shown = models.CharField(max_length=20, help_text="The first characters, to recognize it.")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the text.")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], condition=Q(revoked_at=None), name="token_name_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.shown}…)"

    @property
    def is_expired(self) -> bool:
        return self.expires_at <= timezone.now()

    @property
    def is_valid(self) -> bool:
        return self.revoked_at is None and not self.is_expired
