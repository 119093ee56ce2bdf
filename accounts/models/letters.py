"""E-mails to send."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from web.models import JsonField


class Letter(models.Model):
    """An e-mail to send. It is written when it is sent, from `data`: a link in it is stored nowhere."""

    kind = models.CharField(max_length=50)
    data = JsonField(default=dict)
    site = models.CharField(max_length=300, help_text="The origin of the links in it.")
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(null=True, default=timezone.now, help_text="Empty: sent, or given up.")
    n_tries = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=300, blank=True, help_text="Why the latest try failed.")
    delivered = JsonField(
        default=list, db_default=[], help_text="Who got the e-mail, while it is tried again for others."
    )

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="letter_due")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.created_at:%Y-%m-%d %H:%M}"
