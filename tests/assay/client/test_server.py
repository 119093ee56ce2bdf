"""Requests to a site that refuses, is busy, or cannot be reached."""

from collections.abc import Callable, Sequence

import httpx
import pytest

from assay.client import server as module
from assay.client.server import Server, ServerError

Answer = httpx.Response | Exception
Site = Callable[[Sequence[Answer]], tuple[Server, list[httpx.Request]]]
PROBLEM = {"content-type": "application/problem+json"}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """A client of a site that gives some answers one after another, and the requests that it got."""
    monkeypatch.setattr(module, "FIRST_WAIT", 0.0)

    def make(answers: Sequence[Answer]) -> tuple[Server, list[httpx.Request]]:
        requests: list[httpx.Request] = []
        given = iter(answers)

        def handle(request: httpx.Request) -> httpx.Response:
            requests.append(request)
            answer = next(given)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return Server("https://site.test/", "assay_x", transport=httpx.MockTransport(handle)), requests

    return make


def test_what_the_network_or_a_busy_site_loses_is_sent_again_with_the_same_key(site: Site) -> None:
    lost, busy = httpx.ConnectError("refused"), httpx.Response(429, headers={"Retry-After": "0"})
    in_progress = httpx.Response(409, headers={"Retry-After": "0"})
    server, requests = site(
        [lost, busy, httpx.Response(503), in_progress, httpx.Response(201, json={"id": 7})]
    )

    answer = server.post("tracks/t/batches/", {"name": "Round 1"})

    assert answer == {"id": 7}
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1
    assert {request.headers["Authorization"] for request in requests} == {"Bearer assay_x"}
    assert str(requests[0].url) == "https://site.test/api/v1/tracks/t/batches/"


def test_repeatable_request_has_no_key_and_an_empty_answer_is_nothing(site: Site) -> None:
    server, requests = site([httpx.Response(204)])

    assert server.post("batches/1/next/", is_repeatable=True) is None
    assert "Idempotency-Key" not in requests[0].headers


def test_site_that_stays_away_is_named(site: Site) -> None:
    server, requests = site([httpx.ConnectError("refused")] * 5)

    with pytest.raises(ServerError, match=r"https://site\.test cannot be reached: refused"):
        server.get("batches/")
    assert len(requests) == 5


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (
            httpx.Response(409, json={"detail": "It is closed.", "code": "closed"}, headers=PROBLEM),
            "It is closed.",
        ),
        (httpx.Response(404, text="<html>"), r"batches/: status 404"),
        (httpx.Response(404, headers=PROBLEM), r"batches/: status 404"),  # of HEAD, which has no content
        (httpx.Response(200, text="<html>"), "this is not the API of Assay"),
    ],
)
def test_refusal_is_an_error_with_the_words_of_the_site(
    site: Site, response: httpx.Response, message: str
) -> None:
    server, _ = site([response])

    with pytest.raises(ServerError, match=message):
        server.get("batches/")
