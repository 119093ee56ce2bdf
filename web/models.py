"""The scopes of access tokens, and answers of the API that are kept."""

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_noop


class Scope(models.TextChoices):
    """The rights of an access token, which can do at most what its user can.

    A request that changes something needs exactly one of them.
    """

    READ = "read", gettext_noop("read: see whatever you see on the site")
    RUNS = "runs", gettext_noop("runs: check, submit, describe and withdraw runs")
    JUDGE = "judge", gettext_noop("judge: get tasks and record judgments")
    MANAGE = (
        "manage",
        gettext_noop("manage: change tracks, teams, pools, batches, qrels and people, if you may"),
    )


class KeptAnswer(models.Model):
    """The answer to a request with an `Idempotency-Key`, so that repeating the request changes nothing.

    `digest` covers the address and the content of the request.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255, db_collation="C")
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    headers = models.JSONField(default=dict)
    data = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="kept_answer_key_unique")]

    def __str__(self) -> str:
        return f"{self.status} for {self.key}"
