"""Requests to a site: a token, problems as errors, and a second try when the network fails."""

import time
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx

from assay.errors import AssayError

SECONDS = 60.0  # for an answer
TRIES = 5  # of a request that the network or a busy server refuses
FIRST_WAIT = 0.5  # seconds; doubled after each try
MOST_WAIT = 60.0
PROBLEM = "application/problem+json"
BUSY = {429, 502, 503, 504}


class ServerError(AssayError):
    """The site refuses a request, or cannot be reached. `status` is 0 without an answer."""

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Server:
    """A site, with the token of a user or of a machine."""

    def __init__(self, url: str, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        try:
            self._client = httpx.Client(
                base_url=f"{self.url}/api/v1/", headers=headers, timeout=SECONDS, transport=transport
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise ServerError(f"{url}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        """The content at an address below `/api/v1/`.

        Raises
        ------
        ServerError
        """
        return self._request("GET", path, {})

    def post(self, path: str, content: Any = None, *, is_repeatable: bool = False) -> Any:
        """The answer to a content; None if there is none. Sent again, it changes nothing twice.

        The site keeps its answer for that, unless the request `is_repeatable` by itself.

        Raises
        ------
        ServerError
        """
        headers = {} if is_repeatable else {"Idempotency-Key": str(uuid4())}
        return self._request("POST", path, {"json": content, "headers": headers})

    def _request(self, method: str, path: str, options: dict[str, Any]) -> Any:
        wait = FIRST_WAIT
        for left in reversed(range(TRIES)):
            try:
                response = self._client.request(method, path, **options)
            except httpx.HTTPError as error:
                if not left:
                    raise ServerError(f"{self.url} cannot be reached: {error}") from None
            else:
                if response.status_code not in BUSY or not left:
                    return _content(response)
                wait = max(wait, _asked_to_wait(response))
            time.sleep(min(wait, MOST_WAIT))
            wait *= 2
        raise AssertionError  # the last try returns or raises


def _asked_to_wait(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else 0.0


def _content(response: httpx.Response) -> Any:
    if response.is_success:
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError:
            raise ServerError(f"{response.url}: this is not the API of Assay") from None
    if response.headers.get("Content-Type", "").startswith(PROBLEM):
        problem = response.json()
        raise ServerError(problem["detail"], status=response.status_code, code=problem["code"])
    raise ServerError(f"{response.url}: status {response.status_code}", status=response.status_code)
