"""Scenes that many tests of a process begin with: built once, then only their rows and files are stored again."""

import os
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial, wraps
from io import BytesIO
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction

from assessment.batches import selectors as batch_selectors
from assessment.judging import move_to_front
from pooling.pools import selectors as pool_selectors
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import selectors as board_selectors
from tests import servers
from tests.helpers.database import tables_with_rows

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _Memory:
    """The result of a function, the rows of each table as COPY writes them, and the content of files by name."""

    scene: Any
    rows: dict[str, bytes]
    files: dict[Path, bytes]


_memories: dict[Hashable, _Memory] = {}


def remembered(build: Callable[P, T]) -> Callable[P, T]:
    """Let a function that stores rows run once for the same arguments; from then on, store the same rows again.

    The database must be empty for this; if it is not, the function runs. Rows keep their ids, which no other row of
    this process gets, because sequences go on when a test is undone.
    """
    return wraps(build)(partial(_again, build))


def _again(build: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    if not connection.in_atomic_block:  # a browser keeps by its address what a page of the same ids left
        return build(*arguments, **options)
    key = (build, arguments, *options.items())
    memory = _memories.get(key)
    if memory is None:
        is_first = (
            servers.MIGRATED in os.environ and not tables_with_rows()
        )  # elsewhere, triggers would refuse
        known = set(_files())
        scene = build(*arguments, **options)
        if is_first:
            rows = {table: _copied(table) for table in tables_with_rows()}
            files = {name: (_folder() / name).read_bytes() for name in set(_files()) - known}
            _memories[key] = _Memory(deepcopy(scene), rows, files)
        return scene
    if tables_with_rows(memory.rows):
        return build(*arguments, **options)
    _store(memory)
    return deepcopy(memory.scene)


def _folder() -> Path:
    return Path(settings.MEDIA_ROOT)


def _files() -> Iterable[Path]:
    return (path.relative_to(_folder()) for path in _folder().rglob("*") if path.is_file())


def _copied(table: str) -> bytes:
    rows = BytesIO()
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {table} TO STDOUT", rows)
    return rows.getvalue()


def _store(memory: _Memory) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL session_replication_role = 'replica'"
        )  # the rows are those that triggers left
        for table, rows in memory.rows.items():
            cursor.copy_expert(f"COPY {table} FROM STDIN", BytesIO(rows))
        cursor.execute("SET LOCAL session_replication_role = 'origin'")
    for name, content in memory.files.items():
        (_folder() / name).parent.mkdir(parents=True, exist_ok=True)
        (_folder() / name).write_bytes(content)
    # what the process and Redis keep by the ids of rows, which have another meaning in each test
    batch_selectors._pool_sizes.cache_clear()
    pool_selectors._counted_once.cache_clear()
    move_to_front._topic.cache_clear()
    board_selectors._cells.cache_clear()
    evaluation_selectors._summaries.cache_clear()
    cache.clear()
