"""`Idempotency-Key`: a POST that is repeated with the same key changes nothing again and gets the same answer.

The lock of a key is PostgreSQL's, of the session, so that it ends with the process that holds it. The answer is stored
in the transaction of the change, so that both are kept or neither. An endpoint whose service stores files lets the
service call `keep_answer` in its transaction; if it does not, the answer is kept just after. Only answers of success
are kept: a refused request changed nothing, and may be tried again.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any, ClassVar, Self

from django.core.files.uploadedfile import UploadedFile
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.http import QueryDict
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from assay.digests import sha256_of_file
from web.api.problems import Conflict, Unprocessable
from web.forms import bytes_of
from web.models import KeptAnswer

HEADER = "Idempotency-Key"
KEPT = timedelta(days=1)
MAX_KEY = 255
KEPT_HEADERS = ("Location",)


@dataclass(frozen=True)
class Key:
    """The key of a request. `secrets` are fields that are shown once: a repeated request gets null."""

    user_id: int
    text: str
    digest: str
    secrets: tuple[str, ...]

    @classmethod
    def of(cls, request: Request, secrets: tuple[str, ...]) -> Self | None:
        """The key that a request has; None without the header, or for a visitor."""
        text = request.headers.get(HEADER)
        if text is None or not request.user.is_authenticated:
            return None
        if not (1 <= len(text) <= MAX_KEY and text.isascii() and text.isprintable()):
            accepted = f"Use 1 to {MAX_KEY} printable ASCII characters, such as a UUID."
            raise ValidationError({HEADER: accepted})
        return cls(int(request.user.pk or 0), text, digest_of(request), secrets)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the key.

        Raises:
            Conflict: Another request with the key is being worked on.
        """
        name = f"{self.user_id} {self.text}".encode()
        number = int.from_bytes(hashlib.sha256(name).digest()[:8], "big", signed=True)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
            row = cursor.fetchone()
        if row is None or not row[0]:
            conflict = Conflict(
                f"A request with this {HEADER} is being worked on. Wait, then repeat it.", "in-progress"
            )
            conflict.wait = 1  # type: ignore[attr-defined]  # becomes Retry-After
            raise conflict
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [number])

    def kept_answer(self) -> Response | None:
        """The answer that an earlier request with the key got.

        Raises:
            Unprocessable: It was another request.
        """
        rows = KeptAnswer.objects.filter(user_id=self.user_id, key=self.text, expires_at__gt=timezone.now())
        kept = rows.first()
        if kept is None:
            return None
        if kept.digest != self.digest:
            raise Unprocessable(f"You used this {HEADER} for another request. Use a new key.", "key-reused")
        headers = {**kept.headers, "Idempotency-Replayed": "true"}
        return Response(kept.data, status=kept.status, headers=headers)

    def keep(self, response: Response) -> None:
        headers = {name: response[name] for name in KEPT_HEADERS if name in response}
        data = {**response.data, **dict.fromkeys(self.secrets)} if self.secrets else response.data
        fields = {"digest": self.digest, "status": response.status_code, "headers": headers, "data": data}
        expires_at = timezone.now() + KEPT
        KeptAnswer.objects.update_or_create(
            user_id=self.user_id, key=self.text, defaults={**fields, "expires_at": expires_at}
        )


class Repeatable(APIView):
    """An endpoint whose POST may be repeated.

    An operation that calls a service that stores files sets `stores_files`, and lets the service call `keep_answer` in
    its transaction. `secrets` names the fields of an answer that are shown once.
    """

    stores_files: ClassVar[bool] = False
    secrets: ClassVar[tuple[str, ...]] = ()
    key: Key | None = None  # of the request

    def keep_answer(self, response: Response) -> None:
        """Keep the answer for a repeated request, if this one has a key."""
        if self.key is not None:
            self.key.keep(response)


def idempotent(handler: Callable[..., Response]) -> Callable[..., Response]:
    """Answer a repeated request as the first one."""

    @wraps(handler)
    def once(view: Repeatable, request: Request, **kwargs: Any) -> Response:
        view.key = key = Key.of(request, view.secrets)
        if key is None:
            return handler(view, request, **kwargs)
        with key.locked():
            if (kept := key.kept_answer()) is not None:
                return kept
            # A service that stores files commits their names first, so it cannot be inside a transaction of ours.
            with nullcontext() if view.stores_files else transaction.atomic():
                response = handler(view, request, **kwargs)
                if response.status_code < 300:
                    key.keep(response)
            return response

    return once


def digest_of(request: Request) -> str:
    """The SHA-256 of method, address and content of a request; of a file, that of its bytes."""
    parts = [request.method, request.get_full_path(), _plain(request.data)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, cls=DjangoJSONEncoder).encode()).hexdigest()


def _plain(data: object) -> Any:
    if isinstance(data, QueryDict):
        return {name: [_plain(value) for value in data.getlist(name)] for name in data}
    if isinstance(data, dict):
        return {str(name): _plain(value) for name, value in data.items()}
    if isinstance(data, UploadedFile):
        digest = sha256_of_file(bytes_of(data))
        data.seek(0)
        return [data.name, digest]
    return data


def delete_expired() -> None:
    KeptAnswer.objects.filter(expires_at__lt=timezone.now()).delete()
