"""Requests that are rejected before any view."""

import pytest
from django.test import Client, RequestFactory

from config.wsgi import application
from tests.helpers.factories import make_collection, make_organizer

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("place", ["?after=%00", "find/?docno=a%00", "threads/%00/"])
def test_nul_in_an_address_is_a_bad_request(client: Client, place: str) -> None:
    collection = make_collection()
    client.force_login(make_organizer())

    answer = client.get(f"/collections/{collection.slug}/{place}")

    assert answer.status_code == 400
    assert "default-src 'self'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("charset", ["charset=hex", "charset=nosuch", "charset=utf-16", "charset*=hex''x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_charset_than_utf8_is_a_bad_request(method: str, charset: str) -> None:
    for media in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert sent(method, f"{media}; {charset}") == "400 Bad Request"


@pytest.mark.parametrize("charset", ["", "; charset=UTF-8", '; charset="utf-8"', "; boundary=x"])
def test_utf8_is_accepted_in_any_spelling(charset: str) -> None:
    assert sent("GET", f"text/plain{charset}") == "200 OK"


def sent(method: str, content_type: str) -> str:
    """The status with which the application that gunicorn serves responds."""
    statuses: list[str] = []
    environ = RequestFactory().generic(method, "/login/?a=%ff", b"a=%ff", content_type="text/plain").environ
    application(environ | {"CONTENT_TYPE": content_type}, lambda status, headers: statuses.append(status))
    return statuses[0]
