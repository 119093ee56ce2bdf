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
from datetime import timedelta
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

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
P = ParamSpec("P")
V = TypeVar("V", bound=APIView)
Handler = Callable[Concatenate[V, Request, P], Response]


def idempotent(handler: Handler[V, P]) -> Handler[V, P]:
    """Wrap the method `post` of an endpoint. Without the header, or for a visitor, nothing changes."""

    @wraps(handler)
    def once(view: V, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        key = request.headers.get(HEADER)
        if key is None or not request.user.is_authenticated:
            return handler(view, request, *args, **kwargs)
        if not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
            accepted = f"Use 1 to {MAX_KEY} printable ASCII characters, such as a UUID."
            raise ValidationError({HEADER: accepted})
        with _locked(_user_id(request), key):
            return _once(view, request, key, lambda: handler(view, request, *args, **kwargs))

    return once


@contextmanager
def _locked(user_id: int, key: str) -> Iterator[None]:
    """Hold the lock of a key.

    Raises:
        Conflict: Another request with the key is being worked on.
    """
    number = int.from_bytes(hashlib.sha256(f"{user_id} {key}".encode()).digest()[:8], "big", signed=True)
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


def _once(view: APIView, request: Request, key: str, handle: Callable[[], Response]) -> Response:
    digest = digest_of(request)
    kept = KeptAnswer.objects.filter(
        user_id=_user_id(request), key=key, expires_at__gt=timezone.now()
    ).first()
    if kept is not None:
        if kept.digest != digest:
            raise Unprocessable(f"You used this {HEADER} for another request. Use a new key.", "key-reused")
        headers = {**kept.headers, "Idempotency-Replayed": "true"}
        return Response(kept.data, status=kept.status, headers=headers)
    secrets: tuple[str, ...] = getattr(view, "secrets", ())
    keep = partial(_keep, request, key, digest, secrets)
    # A service that stores files commits their names first, so it cannot be inside a transaction of ours.
    stores_files: bool = getattr(view, "stores_files", False)
    if stores_files:
        view.keep_answer = keep  # type: ignore[attr-defined]
    with nullcontext() if stores_files else transaction.atomic():
        response = handle()
        if response.status_code < 300:
            keep(response)
    return response


def _user_id(request: Request) -> int:
    return int(request.user.pk or 0)


def _keep(request: Request, key: str, digest: str, secrets: tuple[str, ...], response: Response) -> None:
    headers = {name: response[name] for name in KEPT_HEADERS if name in response}
    data = {**response.data, **dict.fromkeys(secrets)} if secrets else response.data
    fields = {"digest": digest, "status": response.status_code, "headers": headers, "data": data}
    expires_at = timezone.now() + KEPT
    KeptAnswer.objects.update_or_create(
        user_id=_user_id(request), key=key, defaults={**fields, "expires_at": expires_at}
    )


def digest_of(request: Request) -> str:
    """The SHA-256 of method, address and content of a request; of a file, that of its bytes."""
    parts = [request.method, request.get_full_path(), _plain(request.data)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, cls=DjangoJSONEncoder).encode()).hexdigest()


def _plain(data: Any) -> Any:
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
