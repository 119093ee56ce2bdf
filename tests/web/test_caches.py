"""The cache that web processes and workers share."""

import pickle
from pathlib import Path

import pytest
from django.core.cache import cache, caches
from django.core.cache.backends.filebased import FileBasedCache
from django.utils.module_loading import import_string

from server import environment
from web.caches import ForgivingRedisCache


def test_value_of_one_process_is_read_by_another() -> None:
    cache.set("preview", {"n": 3}, 60)

    other = caches.create_connection("default")

    assert isinstance(other, ForgivingRedisCache)
    assert other.get("preview") == {"n": 3}


def test_pickle_in_redis_is_not_read(tmp_path: Path) -> None:
    """People who write into Redis must not run code in the processes of the site."""

    class Attack:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "ran",)

    cache.set("preview", "x", 60)
    client = cache._cache.get_client(None, write=True)

    for content in (pickle.dumps(Attack()), b"[" * 100_000, b"\xff"):
        client.set(cache.make_key("preview"), content)
        assert cache.get("preview", "missing") in {None, "missing"}

    assert not (tmp_path / "ran").exists()


def test_counts_and_other_values_come_back_as_they_were() -> None:
    values = {"n": 0, "text": "Größe", "yes": True, "none": None, "times": [1.5, 2], "names": {"a": [1]}}

    for key, value in values.items():
        cache.set(key, value, 60)
    cache.incr("n")

    assert {key: cache.get(key) for key in values} == values | {"n": 1}


def test_redis_that_does_not_answer_is_an_empty_cache(tmp_path: Path) -> None:
    gone = ForgivingRedisCache(f"unix://{tmp_path / 'redis.sock'}", {})

    gone.set("preview", 3, 60)

    assert gone.get("preview", "none") == "none"


@pytest.mark.parametrize(
    ("broker", "location"),
    [
        ("redis://redis:6379/0", "redis://redis:6379/0"),
        ("rediss://user:password@redis:6379/0", "rediss://user:password@redis:6379/0"),
        ("redis+socket:///var/redis.sock", "unix:///var/redis.sock"),
    ],
)
def test_cache_is_in_the_redis_of_the_queue(broker: str, location: str, tmp_path: Path) -> None:
    assert environment.cache(broker, tmp_path)["LOCATION"] == location


def test_cache_is_in_a_folder_if_the_queue_is(tmp_path: Path) -> None:
    options = environment.cache("filesystem://", tmp_path)

    shared = [import_string(options["BACKEND"])(options["LOCATION"], {}) for _ in range(2)]
    shared[0].set("preview", 3, 60)

    assert isinstance(shared[1], FileBasedCache)
    assert shared[1].get("preview") == 3
