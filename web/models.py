"""The field of JSON of all models, the scopes of access tokens, and answers of the API that are kept."""

import re
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

# PostgreSQL takes no NUL; halves of surrogate pairs have no UTF-8.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(value: object) -> Any:
    """A value of JSON with U+FFFD for each character that the database cannot store.

    >>> storable({"a\\0": ["b", "\\ud83d", 1]}) == {"a\\ufffd": ["b", "\\ufffd", 1]}
    True
    """
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {storable(key): storable(inner) for key, inner in value.items()}
    return [*map(storable, value)] if isinstance(value, (list, tuple)) else value


class JsonField(models.JSONField):
    """JSON, such as the report on a file: a text in it can come from any file, so each passes `storable`."""

    def deconstruct(self) -> Any:
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.JSONField", arguments, options

    def get_prep_value(self, value: object) -> Any:
        return storable(super().get_prep_value(value))


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
    headers = JsonField(default=dict)
    data = JsonField(null=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="kept_answer_key_unique")]

    def __str__(self) -> str:
        return f"{self.status} for {self.key}"
