"""Pages that are rendered once for all visitors: what has one of its own, and when they are rendered again."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.test import RequestFactory
from django.utils import translation

from accounts.audit.services import record
from accounts.models import User
from accounts.visitors import file_of, same_for_readers, same_for_visitors
from assay.digests import sha256_of
from tests.helpers.factories import make_user

Get = Callable[..., bytes]


@pytest.fixture
def get(db: None, pages_kept: None) -> Get:
    """Ask for a page that shows how often it was rendered."""
    renderings = iter(range(1000))

    @same_for_visitors
    def page(request: HttpRequest) -> HttpResponse:
        if "form" in request.GET:
            get_token(request)
        response = HttpResponse(str(next(renderings)), status=404 if "missing" in request.GET else 200)
        if "cookie" in request.GET:
            response.set_cookie("seen", "1")
        return response

    def get(
        address: str = "/",
        *,
        user: User | None = None,
        cookies: dict[str, str] | None = None,
        method: str = "GET",
        **headers: str,
    ) -> bytes:
        request = RequestFactory().generic(method, address, headers=headers or None)
        request.user, request.session = user or AnonymousUser(), SessionBase()
        request.COOKIES.update(cookies or {})
        response = page(request)
        assert isinstance(response, HttpResponse)
        return response.content

    return get


def test_visitors_share_a_page_for_an_address_a_host_and_a_language(get: Get) -> None:
    first = get()

    assert get() == first
    assert get(cookies={"csrftoken": "x" * 32, "theme": "dark"}) == first
    with translation.override("de"):
        assert get() != first
    assert get("/?page=2") != first
    assert get(host="127.0.0.1") != first
    assert get() == first


def test_page_of_a_person_is_neither_kept_nor_a_kept_one(get: Get) -> None:
    person, cookies = make_user("ada"), {"sessionid": "x"}
    of_person = get(user=person)
    with_session = get(cookies=cookies)
    shared = get()

    assert len({of_person, with_session, shared, get(user=person), get(cookies=cookies)}) == 5
    assert get(cookies={"messages": "You are logged out."}) != shared
    assert get(method="POST") != shared
    assert get() == shared


@pytest.mark.parametrize("address", ["/?form", "/?cookie", "/?missing", f"/?q={'x' * 300}"])
def test_page_with_a_token_or_a_cookie_is_not_kept_nor_an_error_nor_a_long_address(
    get: Get, address: str
) -> None:
    assert get(address) != get(address)


def test_page_that_somebody_else_wrote_into_the_cache_is_not_shown(
    get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, str] = {}
    monkeypatch.setattr(cache, "set", lambda key, value, seconds: kept.update({key: value}))
    monkeypatch.setattr(cache, "get", kept.get)
    first, other = get(), get("/?page=2")
    assert (get(), get("/?page=2")) == (first, other)

    own, of_other = kept
    kept[own] = kept[of_other]
    assert get() not in {first, other}
    kept[own] = "<p>Send your password to me</p>"
    assert b"password" not in get()


def test_event_ends_a_page_also_one_that_is_older_than_the_newest(get: Get) -> None:
    first = get()
    with transaction.atomic():
        event = record(action="track.edited")
    second = get()
    with transaction.atomic():  # as if its transaction had begun earlier
        event.pk -= 100
        event.save(force_insert=True)

    assert first != second != get()
    assert get() == get()


@pytest.mark.django_db
def test_file_is_made_once_for_all_readers_until_an_event(pages_kept: None) -> None:
    makings = map(str, range(10))

    def make() -> str:
        return next(makings)

    assert same_for_readers("board 1.tsv", make) == same_for_readers("board 1.tsv", make) == "0"
    assert same_for_readers("board 2.tsv", make) == "1"
    with transaction.atomic():
        record(action="track.edited")
    assert same_for_readers("board 1.tsv", make) == "2"


def test_only_the_file_of_a_digest_is_sent(pages_kept: None) -> None:
    content = b"A.1\t0\td1\t3\n"
    digest = sha256_of(content)

    assert file_of(digest, lambda: content) == content
    assert file_of(digest, lambda: b"made again") == content
    cache.set(f"file:{digest}", "A.1\t0\td2\t3\n", 60)
    assert file_of(digest, lambda: content) == content
