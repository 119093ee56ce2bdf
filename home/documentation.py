"""The documentation site, as `make docs` built it.

It needs no exception from the Content-Security-Policy, and its links are relative, so that it works under any address.
"""

from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import condition, require_safe

START = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


def folder() -> Path:
    """The folder into which `make docs` puts the site."""
    return Path(settings.BASE_DIR) / "docs" / "_build" / "html"


def _file(page: str) -> Path | None:
    """A file of the documentation; None if there is none of the name, or if it is not part of the site."""
    if (
        Path(page).suffix not in TYPES
        or page.endswith("/")
        or any(part.startswith(".") for part in page.split("/"))
    ):
        return None
    root = folder().resolve()
    try:
        file = (root / page).resolve()
    except ValueError:  # a NUL in the name
        return None
    return file if file.is_relative_to(root) and file.is_file() else None


def _changed(request: HttpRequest, page: str = START) -> datetime | None:
    file = _file(page)
    return datetime.fromtimestamp(int(file.stat().st_mtime), tz=UTC) if file else None


@require_safe
@condition(last_modified_func=_changed)
def documentation(request: HttpRequest, page: str = START) -> HttpResponse:
    """A page of the documentation, or a file that it needs. Everybody."""
    if _file(START) is None:
        return render(request, "home/no_documentation.html", status=404)
    file = _file(page)
    if file is None:
        raise Http404
    return HttpResponse(file.read_bytes(), content_type=TYPES[file.suffix])
