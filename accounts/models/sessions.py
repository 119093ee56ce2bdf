"""Logins, and locks after wrong passwords."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from accounts.models.users import User


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


class Login(models.Model):
    """A login, and the key of the session that it began, which changes and may be over."""

    KEPT = timedelta(days=90)

    user = models.ForeignKey(User, models.CASCADE, related_name="logins")
    session_key = models.CharField(max_length=40, blank=True, default="", db_index=True)
    browser = models.CharField(max_length=60, blank=True)
    address = models.GenericIPAddressField(null=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} UTC from {self.address or 'an unknown address'}"
