"""Rejects a request whose body is too large before anything reads it, and shortens the names of files.

Django limits forms but not files, and its CSRF check reads the body before any view checks permissions.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.files import uploadhandler
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

MAX_NAME = 200  # bytes of a file's name


class UploadLimitMiddleware:
    """Responds with 413 above UPLOAD_MAX_MB, and above one megabyte to a visitor who is not logged in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        limit = _limit(request)
        if limit is None:
            return self.get_response(request)
        message = f"The upload is larger than {limit // 1024 // 1024} MB, the largest size accepted."
        context = {"title": "The upload is too large", "message": message}
        return render(request, "409.html", context, status=413)


def _limit(request: HttpRequest) -> int | None:
    """The limit that a request exceeds, or None. The declared length is enough: WSGI reads no more than that."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    size = int(length) if length.isdigit() else 0
    if size <= settings.ANONYMOUS_UPLOAD_MAX_BYTES:
        return None
    limit: int = settings.ANONYMOUS_UPLOAD_MAX_BYTES
    if request.user.is_authenticated:
        limit = settings.UPLOAD_MAX_BYTES
    return limit if size > limit else None


def short_name(name: str) -> str:
    """The last bytes of a file's name, short enough for a file system even with the prefix and suffix of storage."""
    return name.encode()[-MAX_NAME:].decode(errors="ignore")


class InMemory(uploadhandler.MemoryFileUploadHandler):
    """Django's handler, with names short enough to store."""

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, short_name(file_name), *args, **kwargs)


class Temporary(uploadhandler.TemporaryFileUploadHandler):
    """Django's handler, with names short enough to store: the extension becomes part of the temporary name."""

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, short_name(file_name), *args, **kwargs)
