"""Reads the body of a request that is a file."""

from collections.abc import Mapping
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MAX_NAME = 200
CHUNK = 1024 * 1024


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
        headers = (parser_context or {})["request"].headers
        file = SpooledTemporaryFile(max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE)  # noqa: SIM115
        n_bytes = 0
        while chunk := stream.read(CHUNK):
            n_bytes += file.write(chunk)
        file.seek(0)
        name = _name(headers.get("Content-Disposition", ""))
        return {"file": UploadedFile(file, name, media_type, n_bytes)}


def _name(disposition: str) -> str:
    try:
        parameters = parse_header_parameters(disposition)[1]
    except ValueError as error:
        raise ParseError("The header Content-Disposition is malformed.") from error
    return parameters.get("filename", "")[-MAX_NAME:] or "run"
