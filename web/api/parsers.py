"""Reads the body of a request: JSON, or a file."""

import os
from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import InMemoryUploadedFile, TemporaryUploadedFile, UploadedFile
from django.utils.datastructures import MultiValueDict
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.parsers import JSONParser as BaseJSONParser

from web.models import UNSTORABLE
from web.names import in_one_line

MAX_NAME = 200
CANNOT = "has a character that cannot be stored: NUL, or half a surrogate pair."
CHUNK = 1024 * 1024
MAX_DEPTH = 50  # of lists and objects in each other; no endpoint needs ten
TOO_DEEP = f"The JSON is nested too deeply: more than {MAX_DEPTH} lists and objects in each other."


class JSONParser(BaseJSONParser):
    """A body of JSON. What Python or PostgreSQL cannot take is an error of the request, wherever it is."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError(TOO_DEEP) from None
        if _is_too_deep(data):
            raise ParseError(TOO_DEEP)
        fields = data.items() if isinstance(data, dict) else [("", data)]
        for name, value in fields:
            if not _is_storable(name):
                raise ValidationError(f"The name of a field {CANNOT}")
            if not _is_storable(value):
                raise ValidationError({name: f"A text {CANNOT}"} if name else f"A text {CANNOT}")
        return data


def _is_too_deep(data: object) -> bool:
    """Look level by level, without recursion: what follows may then recurse."""
    level = [data]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for container in level
            if isinstance(container, (dict, list))
            for inner in (container.values() if isinstance(container, dict) else container)
        ]
    return bool(level)


def _is_storable(value: object) -> bool:
    if isinstance(value, str):
        return not UNSTORABLE.search(value)
    if isinstance(value, dict):
        return all(map(_is_storable, [*value, *value.values()]))
    return not isinstance(value, list) or all(map(_is_storable, value))


class FileParser(BaseParser):
    """A body that is a file, packed or not. It becomes `{"file": …}`, as the file of a form would.

    A large file goes to the disk while it arrives. `Content-Disposition` may name it.
    """

    media_type = "application/octet-stream"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        request = (parser_context or {})["request"]
        try:
            disposition = parse_header_parameters(request.headers.get("Content-Disposition", ""))[1]
        except ValueError as error:
            raise ParseError("The header Content-Disposition is malformed.") from error
        name, kind = disposition.get("filename", "")[-MAX_NAME:], media_type or self.media_type
        if not _is_storable(name):
            raise ParseError(f"The name of the file {CANNOT}")
        name = in_one_line(name) or "run"
        file: UploadedFile[Any]
        # As Django's own handlers do it
        if int(request.META.get("CONTENT_LENGTH") or 0) <= settings.FILE_UPLOAD_MAX_MEMORY_SIZE:
            file = InMemoryUploadedFile(BytesIO(), "file", name, kind, 0, None)
        else:
            file = TemporaryUploadedFile(name, kind, 0, None)
        while chunk := stream.read(CHUNK):
            file.write(chunk)
        file.size = file.seek(0, os.SEEK_CUR)
        file.seek(0)
        request._request._files = MultiValueDict({"file": [file]})  # Django closes it after the response
        return {"file": file}
