"""The one way to send a file to a browser: a safe name, the right type, and no copy in any cache."""

from collections.abc import Iterable
from io import BufferedIOBase
from pathlib import PurePosixPath

from django.core.files.base import File
from django.http import FileResponse, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import add_never_cache_headers
from django.utils.http import content_disposition_header

CONTENT_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".jsonl": "application/jsonl; charset=utf-8",
    ".tex": "application/x-tex; charset=utf-8",
    ".tsv": "text/tab-separated-values; charset=utf-8",
    ".zip": "application/zip",
}
UNKNOWN = "application/octet-stream"

Content = str | bytes | Iterable[str] | Iterable[bytes] | File[bytes] | BufferedIOBase


def download(content: Content, name: str, *, is_checked: bool = True) -> HttpResponseBase:
    """A file to save under a name; an open file and an iterable are streamed.

    The extension of the name gives the content type. A file whose content nobody checked (`is_checked=False`) is sent
    as plain bytes, whatever its name. Every file depends on who asks for it, so no cache may keep it.
    """
    name = safe_name(name)
    content_type = CONTENT_TYPES.get(PurePosixPath(name).suffix.lower(), UNKNOWN) if is_checked else UNKNOWN
    response = _response(content, content_type)
    header = content_disposition_header(as_attachment=True, filename=name)
    response["Content-Disposition"] = header or "attachment"
    add_never_cache_headers(response)
    return response


def safe_name(name: str) -> str:
    """The last part of a path, without control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in last if character.isprintable()) or "download"


def _response(content: Content, content_type: str) -> HttpResponseBase:
    if isinstance(content, (str, bytes)):
        return HttpResponse(content, content_type=content_type)
    if isinstance(content, (File, BufferedIOBase)):
        return FileResponse(content, content_type=content_type)
    return StreamingHttpResponse(content, content_type=content_type)
