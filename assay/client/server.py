"""Requests to a site: a token, problems as errors, and a second try when the network fails."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx

from assay.errors import AssayError

SECONDS = 60.0  # for an answer
UPLOAD_SECONDS = 900.0  # for the answer to a file, which the site checks first
TRIES = 5  # of a request that the network or a busy server refuses
FIRST_WAIT = 0.5  # seconds; doubled after each try
MOST_WAIT = 60.0
PAGE_SIZE = 500
PROBLEM = "application/problem+json"
PLAIN = {"Accept": "*/*", "Accept-Encoding": "identity"}  # of a file: its own bytes
BUSY = {429, 502, 503, 504}
IN_PROGRESS = 409  # with `Retry-After`
REPLAYED = "Idempotency-Replayed"

REFUSED, DENIED, UNREACHABLE = 1, 3, 4  # exit statuses of commands


class ServerError(AssayError):
    """The site refuses a request, or cannot be reached. `status` is 0 without an answer.

    `errors` are those of a file or of fields, as in the answer.
    """

    def __init__(
        self, message: str, *, status: int = 0, code: str = "", errors: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.errors = status, code, errors
        self.exit_status = _exit_status(status)


def _exit_status(status: int) -> int:
    if status in {401, 403}:
        return DENIED
    return REFUSED if 400 <= status < 500 and status not in BUSY else UNREACHABLE


class Server:
    """A site, with the token of a user or of a machine. Without a token, the requests are those of a visitor."""

    def __init__(self, url: str, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
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

    def get(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """The content at an address below `/api/v1/`.

        Raises
        ------
        ServerError
        """
        return _content(self._request("GET", path, {"params": parameters}))

    def rows(self, path: str) -> Iterator[Any]:
        """The rows of a list, from all of its pages.

        Raises
        ------
        ServerError
        """
        parameters: dict[str, Any] = {"page_size": PAGE_SIZE}
        while True:
            page = self.get(path, parameters)
            yield from page["results"]
            if not page["next"]:
                return
            parameters = dict(httpx.URL(page["next"]).params)  # of the same list, whatever its host is called

    def post(self, path: str, content: Any = None, *, is_repeatable: bool = False) -> Any:
        """The answer to a content; None if there is none. Sent again, it changes nothing twice.

        The site keeps its answer for that, unless the request `is_repeatable` by itself.

        Raises
        ------
        ServerError
        """
        headers = {} if is_repeatable else {"Idempotency-Key": str(uuid4())}
        return _content(self._request("POST", path, {"json": content, "headers": headers}))

    def upload(
        self, path: str, fields: Mapping[str, str], files: Mapping[str, tuple[str, Any]], *, key: str = ""
    ) -> tuple[Any, bool]:
        """The answer to a form with open files, and whether it is that to an earlier request with the same `key`.

        Raises
        ------
        ServerError
        """
        options: dict[str, Any] = {"data": fields, "files": files, "timeout": UPLOAD_SECONDS}
        response = self._request(
            "POST", path, options | ({"headers": {"Idempotency-Key": key}} if key else {})
        )
        return _content(response), REPLAYED in response.headers

    @contextmanager
    def stream(self, method: str, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """The answer of the site at a URL, whose content is not read yet. It is tried once.

        Raises
        ------
        ServerError
            The URL is not one of this site, or the site refuses or cannot be reached.
        """
        full = self._client.base_url.join(url)
        if (full.scheme, full.netloc) != (self._client.base_url.scheme, self._client.base_url.netloc):
            raise ServerError(f"{full}: this is not an address of {self.url}")
        try:
            with self._client.stream(method, full, headers={**PLAIN, **headers}) as response:
                if not response.is_success:
                    response.read()
                    raise _problem(response)
                yield response
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    def _request(self, method: str, path: str, options: Mapping[str, Any]) -> httpx.Response:
        for wait in waits():
            try:
                response = self._client.request(method, path, **options)
            except httpx.HTTPError as error:
                if wait is None:
                    raise self._unreachable(error) from None
                time.sleep(wait)
            else:
                if not _is_busy(response) or wait is None:
                    return response
                time.sleep(min(max(wait, _asked_to_wait(response)), MOST_WAIT))
        raise AssertionError  # the last try returns or raises

    def _unreachable(self, error: httpx.HTTPError) -> ServerError:
        return ServerError(f"{self.url} cannot be reached: {error or type(error).__name__}")


def waits() -> Iterator[float | None]:
    """The seconds to wait after each try of a request if it fails; None after the last one."""
    yield from (FIRST_WAIT * 2**n for n in range(TRIES - 1))
    yield None


def _is_busy(response: httpx.Response) -> bool:
    """Whether to come again: the site has too much to do, or still works on an earlier request with the same key."""
    is_in_progress = response.status_code == IN_PROGRESS and "Retry-After" in response.headers
    return response.status_code in BUSY or is_in_progress


def _asked_to_wait(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else 0.0


def _content(response: httpx.Response) -> Any:
    if not response.is_success:
        raise _problem(response)
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        raise ServerError(f"{response.url}: this is not the API of Assay") from None


def _problem(response: httpx.Response) -> ServerError:
    status = response.status_code
    if response.headers.get("Content-Type", "").startswith(PROBLEM):
        problem = response.json()
        errors = problem.get("errors", ())
        return ServerError(problem["detail"], status=status, code=problem["code"], errors=errors)
    if response.is_redirect:
        target = response.headers.get("Location", "")
        return ServerError(f"{response.url} leads to {target}: give that address of the site")
    return ServerError(f"{response.url}: status {status}", status=status)
