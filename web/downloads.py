"""The one way to send a file to a browser: a safe name, the right type, and copies in caches only of what is public."""

import re
from collections.abc import Callable, Iterable
from io import BufferedIOBase
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile

from django.core.files.base import File
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import add_never_cache_headers
from django.utils.http import content_disposition_header
from rest_framework.request import Request

from assay.digests import RunningSha256, sha256_of
from web.api.conditional import RELEASED, identify, unless_known

CONTENT_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".ics": "text/calendar; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".jsonl": "application/jsonl; charset=utf-8",
    ".tex": "application/x-tex; charset=utf-8",
    ".tsv": "text/tab-separated-values; charset=utf-8",
    ".xml": "application/xml; charset=utf-8",
    ".gz": "application/gzip",
    ".zip": "application/zip",
}
SPOOL_BYTES = 4 * 1024 * 1024
UNKNOWN = "application/octet-stream"

_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))")

Read = Callable[[int, int], Iterable[bytes]]  # (start, stop) -> these bytes of a file, in pieces
Content = str | bytes | Iterable[str] | Iterable[bytes] | File[bytes] | BufferedIOBase


def download(content: Content, name: str, *, is_checked: bool = True) -> HttpResponseBase:
    """A file to save under a name; an open file and an iterable are streamed.

    The extension of the name gives the content type. A file whose content nobody checked (`is_checked=False`) is sent
    as plain bytes, whatever its name. Every file depends on who asks for it, so no cache may keep it.

    Content that is not streamed gets an ETag and a `Repr-Digest`. A view gives those of a stored file (`unless_known`).
    """
    name = safe_name(name)
    content_type = CONTENT_TYPES.get(PurePosixPath(name).suffix.lower(), UNKNOWN) if is_checked else UNKNOWN
    response: HttpResponseBase
    if isinstance(content, (str, bytes)):
        response = HttpResponse(content, content_type=content_type)
        identify(response, sha256_of(response.content))
    elif isinstance(content, (File, BufferedIOBase)):
        response = FileResponse(content, content_type=content_type)
    else:
        response = StreamingHttpResponse(content, content_type=content_type)
    header = content_disposition_header(as_attachment=True, filename=name)
    response["Content-Disposition"] = header or "attachment"
    add_never_cache_headers(response)
    return response


def stored_file(
    request: HttpRequest | Request, file: File[bytes], sha256: str, name: str, *, is_checked: bool = True
) -> HttpResponseBase:
    """A stored file to save under a name, by its digest: who has it already does not get it again."""
    return unless_known(request, sha256, lambda: download(file.open("rb"), name, is_checked=is_checked))


def spooled(request: HttpRequest | Request, content: Content, name: str) -> HttpResponseBase:
    """A file that is made line by line, by its digest: a large one waits on the disk until it is complete."""
    pieces = [content] if isinstance(content, (str, bytes)) else content
    size = 0
    file, digest = SpooledTemporaryFile(SPOOL_BYTES), RunningSha256()  # noqa: SIM115 -- the response closes a large one
    for raw in pieces:
        piece = raw.encode() if isinstance(raw, str) else raw
        digest.update(piece)
        size += file.write(piece)
    is_large = size > SPOOL_BYTES
    file.seek(0)
    complete: Content = File(file) if is_large else file.read()
    response = unless_known(request, digest.value, lambda: download(complete, name))
    if response.status_code != 200 or not is_large:
        file.close()
    return response


def for_visitors(request: HttpRequest | Request, response: HttpResponseBase) -> HttpResponseBase:
    """Let caches keep a file that a visitor gets: everybody gets the same. What a user gets stays out of them."""
    if request.user.is_authenticated or response.status_code not in (200, 304):
        return response
    response["Cache-Control"] = RELEASED
    del response["Expires"]
    return response


def safe_name(name: str) -> str:
    """The last part of a path, without control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in last if character.isprintable()) or "download"


def download_range(
    request: HttpRequest, name: str, *, n_bytes: int, sha256: str, read: Read
) -> HttpResponseBase:
    """A large file to save under a name, or the part of it that the request asks for, so that it can be resumed.

    `sha256` is the strong ETag. One range of bytes is answered with 206, one that the file does not have with 416, a
    copy that is still the same with 304. Several ranges, and a range of another version (`If-Range`), get the file.
    """
    etag = f'"{sha256}"'
    if etag in [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]:
        return _described(HttpResponse(status=304), name, sha256)
    part = _part(request, etag, n_bytes)
    if part is None:
        response: HttpResponseBase = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{n_bytes}"
        return _described(response, name, sha256)
    start, stop = part
    is_whole = (start, stop) == (0, n_bytes)
    content = () if request.method == "HEAD" else read(start, stop)
    response = StreamingHttpResponse(content, status=200 if is_whole else 206, content_type=UNKNOWN)
    response["Content-Length"] = str(stop - start)
    if not is_whole:
        response["Content-Range"] = f"bytes {start}-{stop - 1}/{n_bytes}"
    return _described(response, name, sha256)


def is_first_part(request: HttpRequest) -> bool:
    """Return whether a request asks for a file from its first byte, and does not go on with a download."""
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    return match is None or (match[1] is not None and int(match[1]) == 0)


def _part(request: HttpRequest, etag: str, n_bytes: int) -> tuple[int, int] | None:
    """The bytes to send; None if the file does not have those asked for."""
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    is_other = request.headers.get("If-Range", etag).strip() != etag
    if match is None or is_other:
        return 0, n_bytes
    if match[3] is not None:
        start, stop = max(n_bytes - int(match[3]), 0), n_bytes
    else:
        start, stop = int(match[1]), min(int(match[2]) + 1 if match[2] else n_bytes, n_bytes)
        if match[2] and int(match[2]) < start:  # not a range
            return 0, n_bytes
    return (start, stop) if start < stop else None


def _described(response: HttpResponseBase, name: str, sha256: str) -> HttpResponseBase:
    header = content_disposition_header(as_attachment=True, filename=safe_name(name))
    response["Content-Disposition"] = header or "attachment"
    response["Accept-Ranges"] = "bytes"
    identify(response, sha256)
    response["Cache-Control"] = "private, no-cache"  # a browser may keep it, and asks before it uses it
    return response
