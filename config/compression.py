"""Brotli for pages and static files. Decision: ADR 81."""

import re
import secrets
from functools import cached_property
from typing import Any

import brotli
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

QUALITY = 9  # above it, the time grows tenfold
PAGE_WINDOW = 16  # 64 kB; level 9 prepares a larger window for 5 ms
LEAST = 200  # bytes, as in GZipMiddleware
PACKED_TYPES = re.compile(r"text/(html|css|javascript)\b")
ACCEPTS_BROTLI = re.compile(r"\bbr\b")


class CompressionMiddleware(GZipMiddleware):
    """Compresses pages, and the styles and scripts of the documentation. Files are sent as they are."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not isinstance(response, HttpResponse) or not PACKED_TYPES.match(response.get("Content-Type", "")):
            return response
        if not ACCEPTS_BROTLI.search(request.headers.get("Accept-Encoding", "")):
            return super().process_response(request, response)
        patch_vary_headers(response, ["Accept-Encoding"])
        if len(response.content) >= LEAST:
            response.content = padded_brotli(response.content)
            response["Content-Length"] = str(len(response.content))
            response["Content-Encoding"] = "br"
            if response.get("ETag", "").startswith('"'):
                response["ETag"] = f"W/{response['ETag']}"
        return response


def padded_brotli(content: bytes) -> bytes:
    """Compress a page, with up to 100 random bytes that decoders skip, so that its length leaks no secret (BREACH).

    GZipMiddleware puts them into the name of the file. Here they are a metadata block (RFC 7932, section 9.2), whose
    first 14 bits are: not the last block, metadata, one byte of length, length - 1.
    """
    padding = secrets.token_bytes(1 + secrets.randbelow(100))
    block = (0b010110 | (len(padding) - 1) << 6).to_bytes(2, "little") + padding
    compressor = brotli.Compressor(quality=QUALITY, lgwin=PAGE_WINDOW)
    return b"".join([compressor.process(content), compressor.flush(), block, compressor.finish()])


class _Compressor(Compressor):  # type: ignore[misc]
    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        packed: bytes = brotli.compress(data, quality=QUALITY)
        return packed


class StaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """That of WhiteNoise with another quality of brotli: its own would take half a minute at each change of a file.

    Names have 8 digits of the hash of a file, not 12: a page names a dozen files.
    """

    def file_hash(self, name: str, content: object = None) -> str | None:
        digits: str | None = super().file_hash(name, content)
        return digits and digits[:8]

    def url(self, name: str | None, force: bool = False) -> str:
        """The address of a file, found once: a page names fifteen, and the files stay while the process runs."""
        if (name, force) not in self._addresses:
            self._addresses[name, force] = super().url(name, force)
        return self._addresses[name, force]

    @cached_property
    def _addresses(self) -> dict[tuple[str | None, bool], str]:
        return {}

    def create_compressor(self, **options: Any) -> Compressor:
        return _Compressor(**options)
