"""Files that the site sends."""

from io import BytesIO

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from web.downloads import download


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("qrels.tsv", "text/tab-separated-values; charset=utf-8"),
        ("table.CSV", "text/csv; charset=utf-8"),
        ("pool.json", "application/json; charset=utf-8"),
        ("board.tex", "application/x-tex; charset=utf-8"),
        ("qrels.zip", "application/zip"),
        ("run", "application/octet-stream"),
        ("page.html", "application/octet-stream"),
    ],
)
def test_extension_gives_the_content_type(name: str, content_type: str) -> None:
    assert download("1", name)["Content-Type"] == content_type


def test_unchecked_file_is_sent_as_plain_bytes() -> None:
    response = download(b"<svg>", "run.json", is_checked=False)

    assert response["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("run.tsv", 'attachment; filename="run.tsv"'),
        ('a"b.tsv', 'attachment; filename="a\\"b.tsv"'),
        ("../../etc/run.tsv", 'attachment; filename="run.tsv"'),
        ("C:\\runs\\run.tsv", 'attachment; filename="run.tsv"'),
        ("run\r\nSet-Cookie: a=b.tsv", 'attachment; filename="runSet-Cookie: a=b.tsv"'),
        ("größe.tsv", "attachment; filename*=utf-8''gr%C3%B6%C3%9Fe.tsv"),
        ("", 'attachment; filename="download"'),
    ],
)
def test_file_name_cannot_leave_its_header(name: str, header: str) -> None:
    assert download("1", name)["Content-Disposition"] == header


def test_no_cache_keeps_a_file() -> None:
    assert "no-store" in download("1", "run.tsv")["Cache-Control"]


def test_text_and_bytes_are_sent_whole() -> None:
    response = download("größe", "run.tsv")

    assert isinstance(response, HttpResponse)
    assert response.content == "größe".encode()


def test_lines_are_streamed() -> None:
    response = download((f"{n}\n" for n in range(2)), "run.tsv")

    assert isinstance(response, StreamingHttpResponse)
    assert response.getvalue() == b"0\n1\n"


@pytest.mark.django_db  # closing a response closes old connections
def test_open_file_is_streamed_and_closed() -> None:
    file = BytesIO(b"q1 0 d1 1\n")

    response = download(file, "qrels.tsv")
    content = response.getvalue()  # type: ignore[attr-defined]
    response.close()

    assert isinstance(response, FileResponse)
    assert content == b"q1 0 d1 1\n"
    assert file.closed
