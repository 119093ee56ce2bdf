"""Answers of the API that are kept, so that a repeated request changes nothing twice."""

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now


class KeptAnswer(models.Model):
    """The answer to a request with an `Idempotency-Key`. `digest` covers the address and the content of the request."""

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
