"""Rejects a request whose body is too large for the site or for its disk, and shortens the names of files.

Django limits forms but not files, and its CSRF check reads the body before any view checks permissions.
"""

import contextlib
from typing import Any

from django.conf import settings
from django.core.files import uploadhandler
from django.http import HttpRequest, HttpResponse, UnreadablePostError

from config.middleware import Middleware
from home import errors
from web.api.problems import FULL, is_api, problem_response

MAX_NAME = 200  # bytes of a file's name


class UploadLimitMiddleware(Middleware):
    """Responds with 413 above UPLOAD_MAX_MB, to a visitor above one megabyte, and with 507 if the disk is full."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        authorization = request.META.get("HTTP_AUTHORIZATION", "").lower()
        if is_api(request) and authorization.startswith("bearer "):
            # the endpoint knows its user only later, and checks the size itself
            return self.get_response(request)
        limit = settings.ANONYMOUS_UPLOAD_MAX_BYTES
        if _length(request) > limit and request.user.is_authenticated:
            limit = settings.UPLOAD_MAX_BYTES
        if _length(request) > limit:
            message = f"The upload is larger than {limit // 1024 // 1024} MB, the largest size accepted."
            return _refusal(request, "The upload is too large", message, status=413)
        if not _can_store(request):
            message = "The disk of the server is full. Tell an organizer, and try again later."
            return _refusal(request, "The upload could not be stored", message, status=507)
        return self.get_response(request)


def _length(request: HttpRequest) -> int:
    """The declared length of the body, which is enough: WSGI reads no more than that."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdigit() else 0


def _can_store(request: HttpRequest) -> bool:
    """Read a body that is too large for memory into temporary files; false if the disk is full. Nothing of it stays."""
    if (
        _length(request) > settings.FILE_UPLOAD_MAX_MEMORY_SIZE
        and request.content_type == "multipart/form-data"
    ):
        try:
            request.FILES  # noqa: B018  # reading it stores the files
        except UnreadablePostError:  # the client is gone
            return True
        except OSError as error:
            if error.errno in FULL:
                return False
            raise
    return True


def _refusal(request: HttpRequest, title: str, message: str, *, status: int) -> HttpResponse:
    if is_api(request):
        return problem_response(status, title=title, detail=message, code="upload-refused")
    return errors.refusal(request, title, message, status=status)


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

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Write a part of the file. If the disk is full, nothing of the file stays."""
        try:
            super().receive_data_chunk(raw_data, start)
        except OSError:
            with contextlib.suppress(OSError):  # closing writes what is left
                self.file.close()
            raise
