"""Requests to a model: `chat/completions` of an address that is compatible with OpenAI's.

Retries are made here, and nowhere else: after 429, a status from 500 and a time-out, with random waits that double, or
as `Retry-After` says. A budget is checked before each request.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from assay.errors import AssayError
from assay_extensions.machines.judge_files.judges import Judge

if TYPE_CHECKING:
    import httpx

TRIES = 5
FIRST_WAIT, MOST_WAIT = 1.0, 60.0  # seconds
SECONDS = 120.0  # for an answer
ALTERNATIVES = 20  # of a token, whose probabilities are requested
CHARACTERS = 4  # of a token, estimated
USUAL_OUTPUT = 200  # tokens of a reply, estimated if the judge file does not limit them
MAX_REPLY = 1 << 20  # characters
TOO_MANY, SERVER_ERROR = 429, 500
KEY_MISSING = (401, 403)


class ModelFailed(AssayError):
    """The service gave no reply."""


class Refusal(ModelFailed):
    """The model or its filter refused to answer."""


class BudgetSpent(AssayError):
    """Another request could exceed the budget."""


@dataclass
class Budget:
    """Limits of requests, tokens and money. What is on its way counts as estimated, so that no limit is exceeded.

    `tokens` and `cost` are what the replies reported. A reply that does not report them counts as estimated, and is one
    of `n_estimated`. Requests that failed cost nothing.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: Decimal | None = None
    calls: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    n_estimated: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def reserve(self, tokens: int, cost: Decimal) -> None:
        """Count a request as estimated.

        Raises BudgetSpent.
        """
        with self._lock:
            limits = (
                ("calls", self.calls + 1, self.max_calls),
                ("tokens", self.tokens + tokens, self.max_tokens),
                ("cost", self.cost + cost, self.max_cost),
            )
            for name, needed, limit in limits:
                if limit is not None and needed > limit:
                    raise BudgetSpent(f"--max-{name} {limit} is reached")
            self.calls, self.tokens, self.cost = self.calls + 1, self.tokens + tokens, self.cost + cost

    def settle(self, tokens: int, cost: Decimal, *, is_estimated: bool) -> None:
        """Correct an estimate by a difference."""
        with self._lock:
            self.tokens, self.cost = self.tokens + tokens, self.cost + cost
            self.n_estimated += is_estimated


class Reply(NamedTuple):
    """A reply; `tokens` are those of `logprobs.content`, empty if not requested."""

    text: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
    tokens: Sequence[Mapping[str, Any]]
    attempts: int
    milliseconds: int


def estimated_tokens(messages: Sequence[Mapping[str, str]], judge: Judge) -> tuple[int, int]:
    """The tokens of a request and of its reply, by characters."""
    n_characters = sum(len(message["content"]) for message in messages)
    most = judge.decoding.max_tokens or judge.decoding.max_completion_tokens or USUAL_OUTPUT
    return n_characters // CHARACTERS + 1, most


class ModelClient:
    """A connection to the model of a judge, for several threads. `transport` is for a site, which checks addresses."""

    def __init__(
        self,
        judge: Judge,
        *,
        key: str = "",
        budget: Budget | None = None,
        timeout: float = SECONDS,
        connections: int = 32,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        import httpx  # noqa: PLC0415 -- optional, and slow to import

        self._httpx = httpx
        self.judge, self.budget = judge, budget or Budget()
        self._stopped = Event()
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(timeout, pool=None),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            transport=transport,
        )
        self._address = httpx.URL(f"{judge.address.rstrip('/')}/chat/completions")
        self._has_key = bool(key)
        self._fixed = {"model": judge.model, **judge.decoding.parameters()}
        if judge.answer == "probabilities":
            self._fixed |= {"logprobs": True, "top_logprobs": ALTERNATIVES}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._client.close()

    def stop(self) -> None:
        """End the waits of all threads; no request is sent any more."""
        self._stopped.set()

    def ask(self, messages: Sequence[Mapping[str, str]]) -> Reply:
        """
        Raises:
            ModelFailed: There is no reply after the last try, or the service refuses the request.
            BudgetSpent: The request is not sent.
        """
        start, prices = monotonic(), self.judge.prices
        expected = estimated_tokens(messages, self.judge)
        for attempt in range(1, TRIES + 1):
            if self._stopped.is_set():
                raise BudgetSpent("stopped")
            self.budget.reserve(sum(expected), prices.cost(*expected))
            try:
                answer, problem, asked = self._post({**self._fixed, "messages": list(messages)})
            except ModelFailed:
                self._settle(expected)
                raise
            if answer is not None:
                return self._reply(answer, expected, attempt, round(1000 * (monotonic() - start)))
            self._settle(expected)
            if attempt < TRIES:
                wait = min(FIRST_WAIT * 2 ** (attempt - 1), MOST_WAIT) * (0.5 + random.random())  # noqa: S311
                self._stopped.wait(max(wait, min(asked, MOST_WAIT)))
        raise ModelFailed(f"{problem}, {TRIES} times")

    def _settle(
        self, expected: tuple[int, int], paid: tuple[int, int] = (0, 0), *, is_estimated: bool = False
    ) -> None:
        cost = self.judge.prices.cost
        tokens = sum(paid) - sum(expected)
        self.budget.settle(tokens, cost(*paid) - cost(*expected), is_estimated=is_estimated)

    def _post(self, content: Mapping[str, object]) -> tuple["httpx.Response | None", str, float]:
        """The answer; or what went wrong, and for how many seconds the service asks to wait.

        Raises ModelFailed: another try would not help.
        """
        try:
            response = self._client.post(self._address, json=content)
        except self._httpx.HTTPError as error:
            return None, f"{self.judge.address}: {error or type(error).__name__}", 0.0
        if response.is_success:
            return response, "", 0.0
        problem = f"{self.judge.address}: status {response.status_code}{_message(response)}"
        if response.status_code in KEY_MISSING and not self._has_key:
            problem += "; no key was sent: name its variable, as key_variable in the judge file or in JUDGE_ADDRESSES"
        if response.status_code != TOO_MANY and response.status_code < SERVER_ERROR:
            raise (Refusal if "content_filter" in response.text else ModelFailed)(problem)
        asked = response.headers.get("Retry-After", "")
        return None, problem, float(asked) if asked.isdigit() else 0.0

    def _reply(self, response: "httpx.Response", expected: tuple[int, int], attempt: int, took: int) -> Reply:
        paid, is_estimated = (0, 0), False
        try:
            content = response.json()
            usage = content.get("usage") or {}
            used = usage.get("prompt_tokens"), usage.get("completion_tokens")
            if any(type(n) is not int and n is not None for n in used):
                raise TypeError
            paid = used[0] or 0, used[1] or 0
            choice = content["choices"][0]
            message, text = choice["message"], choice["message"].get("content") or ""
            tokens = (choice.get("logprobs") or {}).get("content") or []
            model = str(content.get("model") or "")
            if not isinstance(text, str):
                raise TypeError
            paid = expected[0] if used[0] is None else used[0], expected[1] if used[1] is None else used[1]
            is_estimated = None in used
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise ModelFailed(f"{self.judge.address}: the answer is not that of chat/completions") from None
        finally:
            self._settle(expected, paid, is_estimated=is_estimated)
        if message.get("refusal") or choice.get("finish_reason") == "content_filter":
            raise Refusal(f"the model refused: {str(message.get('refusal') or text)[:200]}")
        return Reply(text[:MAX_REPLY], model, used[0], used[1], tokens, attempt, took)


def _message(response: "httpx.Response") -> str:
    try:
        return f": {str(response.json()['error']['message'])[:200]}"
    except (ValueError, KeyError, TypeError):
        return ""
