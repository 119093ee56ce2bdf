"""Requests to a site: a token, problems as errors, and a second try when the network fails.

Every request raises `ServerError` if the site refuses it or cannot be reached.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from assay.errors import AssayError, InputError

if TYPE_CHECKING:
    import httpx

SECONDS = 60.0  # for an answer
UPLOAD_SECONDS = 900.0  # for the answer to a file, which the site checks first
TRIES = 5  # of a request that the network or a busy server refuses
FIRST_WAIT = 0.5  # seconds; doubled after each try
MOST_WAIT = 60.0
PAGE_SIZE = 500
PROBLEM = "application/problem+json"
PLAIN = {"Accept": "*/*", "Accept-Encoding": "identity"}  # of a file: its own bytes
NOT_MODIFIED = 304  # status of an answer without content
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
        is_refused = 400 <= status < 500 and status not in BUSY
        self.exit_status = DENIED if status in {401, 403} else REFUSED if is_refused else UNREACHABLE


def require_httpx(subject: str) -> None:
    """Check that httpx is installed."""
    if find_spec("httpx") is None:
        raise InputError(f"{subject} needs httpx: pip install 'assay[client]'")


class Server:
    """A site, with the token of a user or of a machine. Without a token, the requests are those of a visitor.

    `api` is the path of its API; other services have another one.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        api: str = "api/v1/",
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        import httpx  # noqa: PLC0415 -- optional, and slow to import

        self._httpx = httpx
        self.url = url.rstrip("/")
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            self._client = httpx.Client(
                base_url=f"{self.url}/{api}", headers=headers, timeout=SECONDS, transport=transport
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise ServerError(f"{url}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, parameters: Mapping[str, object] | None = None) -> Any:
        """The content at an address below the path of the API."""
        return _content(self._request("GET", path, {"params": parameters}))

    def send(self, method: str, path: str, **options: Any) -> "httpx.Response":
        """The answer to a request with some options of httpx, also that nothing changed (304). It may be sent twice."""
        response = self._request(method, path, options)
        if not response.is_success and response.status_code != NOT_MODIFIED:
            raise _problem(response)
        return response

    @staticmethod
    def content(response: "httpx.Response") -> Any:
        """The content of an answer; None if there is none."""
        return _content(response)

    def rows(self, path: str) -> Iterator[Any]:
        """The rows of a list, from all of its pages; the path may have parameters."""
        parameters: dict[str, Any] = dict(self._httpx.URL(path).params) | {"page_size": PAGE_SIZE}
        while True:
            page = self.get(path, parameters)
            yield from page["results"]
            if not page["next"]:
                return
            # The next page of the same list, whatever its host is called.
            parameters = dict(self._httpx.URL(page["next"]).params)

    def post(self, path: str, content: object = None, *, is_repeatable: bool = False) -> Any:
        """The answer to a content; None if there is none. Sent again, it changes nothing twice.

        The site keeps its answer for that, unless the request `is_repeatable` by itself."""
        headers = {} if is_repeatable else {"Idempotency-Key": str(uuid4())}
        return _content(self._request("POST", path, {"json": content, "headers": headers}))

    def upload(
        self, path: str, fields: Mapping[str, str], files: Mapping[str, tuple[str, Any]], *, key: str = ""
    ) -> tuple[Any, bool]:
        """The answer to a form with open files, and whether it is that to an earlier request with the same `key`."""
        options: dict[str, Any] = {"data": fields, "files": files, "timeout": UPLOAD_SECONDS}
        response = self._request(
            "POST", path, options | ({"headers": {"Idempotency-Key": key}} if key else {})
        )
        return _content(response), REPLAYED in response.headers

    def put(self, path: str, **options: Any) -> Any:
        """The answer to a content: `json`, or `content` with the bytes of a file. It may be sent twice."""
        return _content(self._request("PUT", path, options))

    def delete(self, path: str) -> None:
        _content(self._request("DELETE", path, {}))

    def own(self, url: str) -> str:
        """A URL that the site names, if it is one of the site, so that its token stays there.

        Raises:
            ServerError: It is not.
        """
        full = self._client.base_url.join(url)
        if (full.scheme, full.netloc) != (self._client.base_url.scheme, self._client.base_url.netloc):
            raise ServerError(f"{full}: this is not an address of {self.url}")
        return str(full)

    @contextmanager
    def stream(self, method: str, url: str, headers: Mapping[str, str]) -> Iterator["httpx.Response"]:
        """The answer of the site at a URL, whose content is not read yet. It is tried once.

        Raises:
            ServerError: The URL is not one of this site, or the site refuses or cannot be reached.
        """
        full = self.own(url)
        try:
            with self._client.stream(method, full, headers={**PLAIN, **headers}) as response:
                if not response.is_success:
                    response.read()
                    raise _problem(response)
                yield response
        except self._httpx.HTTPError as error:
            raise self._unreachable(error) from None

    def _request(self, method: str, path: str, options: Mapping[str, Any]) -> "httpx.Response":
        for wait in waits():
            try:
                response = self._client.request(method, path, **options)
            except self._httpx.HTTPError as error:
                if wait is None:
                    raise self._unreachable(error) from None
                time.sleep(wait)
            else:
                asked = response.headers.get("Retry-After", "")
                # The site still works on an earlier request with the same key.
                is_in_progress = response.status_code == IN_PROGRESS and asked
                if wait is None or not (is_in_progress or response.status_code in BUSY):
                    return response
                time.sleep(min(max(wait, float(asked) if asked.isdigit() else 0.0), MOST_WAIT))
        raise AssertionError  # the last try returns or raises

    def _unreachable(self, error: "httpx.HTTPError") -> ServerError:
        return ServerError(f"{self.url} cannot be reached: {error or type(error).__name__}")


def waits() -> Iterator[float | None]:
    """The seconds to wait after each try of a request if it fails; None after the last one."""
    yield from (FIRST_WAIT * 2**n for n in range(TRIES - 1))
    yield None


def _content(response: "httpx.Response") -> Any:
    if not response.is_success:
        raise _problem(response)
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        raise ServerError(f"{response.url}: this is not the API of Assay") from None


def _problem(response: "httpx.Response") -> ServerError:
    status = response.status_code
    if response.content and response.headers.get("Content-Type", "").startswith(PROBLEM):
        problem = response.json()
        errors = problem.get("errors", ())
        return ServerError(problem["detail"], status=status, code=problem["code"], errors=errors)
    if response.is_redirect:
        target = response.headers.get("Location", "")
        return ServerError(f"{response.url} leads to {target}: give that address of the site")
    return ServerError(f"{response.url}: {_message(response) or f'status {status}'}", status=status)


def _message(response: "httpx.Response") -> str:
    """The problem as another service than Assay states it."""
    try:
        answer = response.json()
        fields = [f"{error['field']}: {error['message']}" for error in answer.get("errors", ())]
        return " ".join([answer["message"], *fields])
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
