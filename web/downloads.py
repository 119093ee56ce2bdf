"""Files that a page hands out."""

from django.http import HttpResponse

TYPES = {
    "tsv": "text/tab-separated-values",
    "csv": "text/csv",
    "json": "application/json",
    "tex": "application/x-tex",
}


def download(content: str | bytes, name: str) -> HttpResponse:
    """A file of the name; its ending says what kind it is."""
    kind = TYPES[name.rpartition(".")[2]]
    response = HttpResponse(content, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
