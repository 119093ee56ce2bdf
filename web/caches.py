"""The cache that all processes share. It only saves work: without it, a page computes its content again."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache as cache_once
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from django.http import HttpRequest, HttpResponseBase
from redis.exceptions import RedisError

from assay.digests import sha256_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
KEPT_SECONDS = 600  # for which large values may fill the cache although nobody asks for them
PARTS_SECONDS = 86_400  # for values of which a new one takes the place of the old one
PAUSE_SECONDS = 5.0  # for which a thread does not ask again, so that a Redis that hangs costs a page one wait


class JSONSerializer:
    """Writes values as JSON: Django's own serializer reads pickles, so that people who write into Redis run code here.

    Whole numbers stay as they are, because Redis counts with them. A value that is not JSON counts as missing.
    """

    def dumps(self, value: object) -> bytes | int:
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None


class ForgivingRedisCache(RedisCache):
    """Django's cache in Redis, with values of JSON. While Redis does not answer, it is empty and keeps nothing."""

    _silent_until = 0.0

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        options = {"serializer": JSONSerializer} | params.get("OPTIONS", {})
        super().__init__(server, params | {"OPTIONS": options})

    def _asked(self, ask: Callable[[], T], otherwise: T) -> T:
        """The answer of Redis, or the value otherwise."""
        if time.monotonic() < self._silent_until:
            return otherwise
        try:
            return ask()
        except RedisError as error:
            self._silent_until = time.monotonic() + PAUSE_SECONDS
            logger.warning("the cache does not answer: %s", error)
            return otherwise

    def get(self, key: object, default: object = None, version: int | None = None) -> Any:
        ask = super().get
        return self._asked(lambda: ask(key, default, version), default)

    def set(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> None:
        ask = super().set
        self._asked(lambda: ask(key, value, *args, **kwargs), None)

    def add(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> bool:
        ask = super().add
        return self._asked(lambda: ask(key, value, *args, **kwargs), otherwise=False)

    def delete(self, key: Any, *args: Any, **kwargs: Any) -> bool:
        ask = super().delete
        return self._asked(lambda: ask(key, *args, **kwargs), otherwise=False)

    def incr(self, key: Any, *args: Any, **kwargs: Any) -> int:
        """Django's method, which raises ValueError if there is no such key."""
        ask = super().incr
        value: int | None = self._asked(lambda: ask(key, *args, **kwargs), None)
        if value is None:
            raise ValueError(f"no key {key}")
        return value


@cache_once
def _code() -> str:
    """Changes with the code of the site: other code may compute other values. It takes 20 ms."""
    packages = [path.parent for path in settings.BASE_DIR.glob("*/__init__.py")]
    files = sorted(path for package in packages for path in package.rglob("*.py"))
    return sha256_of(repr([(str(path), path.stat().st_mtime_ns) for path in files]).encode())


def remembered(key: Sequence[object], stamp: Callable[[], str], compute: Callable[[], Any]) -> Any:
    """A JSON value that takes long to compute. It is kept while that on which it depends has the same stamp.

    All processes with the same code share it.
    """
    before = stamp()
    name = f"remembered:{sha256_of(json.dumps([*key, before, _code()]).encode())}"
    value = cache.get(name)
    if value is None:
        value = json.loads(json.dumps(compute()))
        if stamp() == before:
            cache.set(name, value, KEPT_SECONDS)
    return value


def remembered_parts(
    key: Sequence[object],
    stamps_of: Callable[[Sequence[str] | None], Mapping[str, str]],
    compute: Callable[[list[str]], Mapping[str, Any]],
) -> dict[str, Any]:
    """JSON values that take long to compute, by part. Each is kept while its part has the same stamp.

    `stamps_of` reads the stamps of some parts, or of all. `compute` gets the parts whose values are not known.
    """
    before = stamps_of(None)
    name = f"parts:{sha256_of(json.dumps([*key, _code()]).encode())}"
    kept = {part: pair for part, pair in (cache.get(name) or {}).items() if before.get(part) == pair[0]}
    if changed := [part for part in before if part not in kept]:
        values = json.loads(json.dumps(compute(changed)))
        after = stamps_of(changed)
        new = {part: [before[part], values[part]] for part in changed}
        same = {part: pair for part, pair in new.items() if after.get(part) == pair[0]}
        cache.set(name, kept | same, PARTS_SECONDS)
        kept |= new
    return {part: kept[part][1] for part in before}


def kept_for_a_minute(
    key: Sequence[object], compute: Callable[[], Any], is_worth_it: Callable[[Any], bool]
) -> Any:
    """A JSON value that readers may get a minute late. It is kept only if it is worth it, such as one of many rows."""
    name = f"minute:{sha256_of(json.dumps([*key, _code()]).encode())}"
    value = cache.get(name)
    if value is None:
        value = compute()
        if is_worth_it(value):
            cache.set(name, value, 60)
    return value


class CacheAway(Exception):
    """Nothing can count attempts now."""


def needs_cache(view: View[P]) -> View[P]:
    """Let a form that must count attempts answer 503 while the cache does not."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method == "POST":
            cache.set("probe", 1, 60)
            if cache.get("probe") is None:
                raise CacheAway
        return view(request, *args, **kwargs)

    return guarded
