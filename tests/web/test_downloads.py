"""Files that the site sends."""

import time
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from web import times
from web.downloads import download, download_range


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


TEN, ETAG = bytes(range(10)), "a" * 64


def ranged(method: str = "get", **headers: str) -> HttpResponse:
    request = getattr(RequestFactory(), method)(
        "/", headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    return download_range(
        request, "big.gz", n_bytes=10, sha256=ETAG, read=lambda start, stop: iter([TEN[start:stop]])
    )


@pytest.mark.parametrize(
    ("wanted", "status", "content", "content_range"),
    [
        ("", 200, TEN, None),
        ("bytes=0-", 200, TEN, None),
        ("bytes=4-", 206, TEN[4:], "bytes 4-9/10"),
        ("bytes=2-3", 206, TEN[2:4], "bytes 2-3/10"),
        ("bytes=8-99", 206, TEN[8:], "bytes 8-9/10"),
        ("bytes=-3", 206, TEN[7:], "bytes 7-9/10"),
        ("bytes=-99", 200, TEN, None),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=5-2", 200, TEN, None),
        ("bytes=0-1,4-5", 200, TEN, None),
        ("lines=1-2", 200, TEN, None),
    ],
)
def test_part_of_a_file_is_sent(wanted: str, status: int, content: bytes, content_range: str | None) -> None:
    response = ranged(Range=wanted)

    assert (response.status_code, response.getvalue()) == (status, content)
    assert response.get("Content-Range") == content_range
    assert response["ETag"] == f'"{ETAG}"'


def test_part_of_another_version_is_the_whole_file() -> None:
    assert ranged(Range="bytes=4-", If_Range='"other"').status_code == 200
    assert ranged(Range="bytes=4-", If_Range=f'"{ETAG}"').status_code == 206


def test_unchanged_copy_is_not_sent_again() -> None:
    assert ranged(If_None_Match=f'"x", "{ETAG}"').status_code == 304


def test_head_has_the_size_and_no_content() -> None:
    response = ranged("head")

    assert (response["Content-Length"], response.getvalue()) == ("10", b"")


SPRING, AUTUMN = (
    "2026-03-29T02:30",
    "2026-10-25T02:30",
)  # the clocks of Prague skip the first, and repeat the second


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("2026-05-01T23:59", "AoE", datetime(2026, 5, 2, 11, 59, tzinfo=UTC)),
        ("2026-05-01T23:59", "UTC", datetime(2026, 5, 1, 23, 59, tzinfo=UTC)),
        ("2026-05-01T23:59", "Europe/Prague", datetime(2026, 5, 1, 21, 59, tzinfo=UTC)),
        ("2026-12-01T12:00", "America/New_York", datetime(2026, 12, 1, 17, 0, tzinfo=UTC)),
        ("2026-12-01T12:00:30", "Asia/Kolkata", datetime(2026, 12, 1, 6, 30, 30, tzinfo=UTC)),
        (AUTUMN, "Europe/Prague", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
    ],
)
def test_local_time_becomes_an_instant_and_back(text: str, zone: str, instant: datetime) -> None:
    assert times.instant_of(text, zone) == instant
    assert times.local_text(instant, zone) == text[:16]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPRING, "02:30 does not exist in Europe/Prague: the clocks go forward over it"),
        ("tomorrow", "is not a date and time"),
        ("2026-05-01T23:59+02:00", "without an offset"),
        ("0001-01-01T00:00", "from 1970 to 9000"),
        ("9999-12-31T23:59", "from 1970 to 9000"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(times.NoSuchTime, match=message.replace("+", "\\+")):
        times.instant_of(text, "Europe/Prague")


@pytest.mark.django_db
def test_words_name_the_zone_and_utc() -> None:
    instant = datetime(2026, 5, 2, 11, 59, tzinfo=UTC)

    assert times.in_words(instant, "AoE") == "2026-05-01 23:59 AoE (2026-05-02 11:59 UTC)"
    assert times.in_words(instant, "UTC") == "2026-05-02 11:59 UTC"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("left", "words"),
    [
        (timedelta(days=3, hours=4, minutes=9), "3 days 4 hours"),
        (timedelta(days=1, minutes=9), "1 day"),
        (timedelta(hours=1, minutes=5), "1 hour 5 minutes"),
        (timedelta(seconds=59), "less than a minute"),
    ],
)
def test_time_left_has_the_two_largest_units(left: timedelta, words: str) -> None:
    assert times.time_left(left.total_seconds()) == words


@pytest.mark.django_db
@pytest.mark.parametrize(("waited", "counted"), [(60, 60), (3600, 300)])
def test_request_arrived_when_the_server_noted_it_but_not_long_ago(waited: int, counted: int) -> None:
    request = RequestFactory().get("/", **{times.ARRIVAL: time.monotonic() - waited})

    arrived_at = times.arrived_at(request)

    assert abs(times.now() - arrived_at - timedelta(seconds=counted)) < timedelta(seconds=10)


@pytest.mark.django_db
def test_request_that_no_server_noted_arrives_now() -> None:
    arrived_at = times.arrived_at(RequestFactory().get("/"))

    assert abs(times.now() - arrived_at) < timedelta(seconds=10)
