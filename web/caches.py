"""The cache that all processes share. It only saves work: without it, a page computes its content again."""

import logging
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


class ForgivingRedisCache(RedisCache):
    """Django's cache in Redis. While Redis does not answer, it is empty."""

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        try:
            return super().get(key, default, version)
        except RedisError as error:
            logger.warning("the cache does not answer: %s", error)
            return default

    def set(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> None:
        try:
            super().set(key, value, *args, **kwargs)
        except RedisError as error:
            logger.warning("the cache does not answer: %s", error)

    def add(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> bool:
        try:
            return super().add(key, value, *args, **kwargs)
        except RedisError as error:
            logger.warning("the cache does not answer: %s", error)
            return False

    def incr(self, key: Any, *args: Any, **kwargs: Any) -> int:
        """Django's method, which raises ValueError if there is no such key."""
        try:
            return super().incr(key, *args, **kwargs)
        except RedisError as error:
            logger.warning("the cache does not answer: %s", error)
            raise ValueError(f"no key {key}") from error
