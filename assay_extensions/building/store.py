"""The store of a build: an SQLite file with the posts that are kept, and the state of each step.

A step commits what it stores together with its state, so a killed build continues where it was. Posts have these
roles: `collection`; `topic`, a question of the period of the topics; `cut`, outside of both periods, of which only the
id, thread and date are kept; `removed`, by a decision after a check of leaks; and `repeated`, a duplicate document.
"""

import errno
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay_extensions.building.settings import NotBuilt

NAME = "build.sqlite"
ROWS_AT_ONCE = 500
# Of 4 kB, in the log before they are written to the file: each time, the disk is waited for
PAGES_AT_ONCE = 16_384
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY, state TEXT NOT NULL, is_done INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS posts (
    seq INTEGER PRIMARY KEY,  -- the order of the source
    docno TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, thread TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '', body TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '',
    score TEXT NOT NULL DEFAULT '', accepted TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '',
    author TEXT NOT NULL DEFAULT '', views TEXT NOT NULL DEFAULT '', closed TEXT NOT NULL DEFAULT '',
    language TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS members ON posts (thread, seq);
CREATE TABLE IF NOT EXISTS comments (
    seq INTEGER PRIMARY KEY, code TEXT NOT NULL, post TEXT NOT NULL, text TEXT NOT NULL, score TEXT NOT NULL,
    owner TEXT NOT NULL, author TEXT NOT NULL, created TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS comments_of ON comments (post, seq);
CREATE TABLE IF NOT EXISTS links (
    seq INTEGER PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, is_late INTEGER NOT NULL,
    line TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS links_from ON links (source);
CREATE INDEX IF NOT EXISTS links_to ON links (target);
CREATE TABLE IF NOT EXISTS votes (
    seq INTEGER PRIMARY KEY, post TEXT NOT NULL, owner TEXT NOT NULL, line TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS users (
    code TEXT PRIMARY KEY, seq INTEGER NOT NULL, name TEXT NOT NULL, reputation TEXT NOT NULL, line TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS badges (
    seq INTEGER PRIMARY KEY, owner TEXT NOT NULL, class TEXT NOT NULL, line TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS badges_of ON badges (owner);
CREATE TABLE IF NOT EXISTS tags (name TEXT PRIMARY KEY, seq INTEGER NOT NULL, code TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS formulas (
    id INTEGER PRIMARY KEY, post TEXT NOT NULL, thread TEXT NOT NULL, place TEXT NOT NULL, comment TEXT NOT NULL,
    is_lost INTEGER NOT NULL, latex TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS repeated (docno TEXT PRIMARY KEY, kept TEXT NOT NULL, overlap REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decisions (docno TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (path TEXT PRIMARY KEY, sha256 TEXT NOT NULL) WITHOUT ROWID;
"""
HEADS = "kind NOT IN ('answer', 'post')"  # posts that begin a thread, or are in none
KEPT = "role = 'collection'"


class Store:
    """The rows of a build. Only one process can have it open.

    Raises `NotBuilt` if another process has it open, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._base = sqlite3.connect(path, timeout=1, isolation_level=None)
        with refusals(path.parent):
            for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "cache_size = -65536"):
                self._base.execute(f"PRAGMA {setting}")
            self._base.execute("PRAGMA synchronous = NORMAL")
            self._base.execute(f"PRAGMA wal_autocheckpoint = {PAGES_AT_ONCE}")
            self._base.executescript(_SCHEMA)

    def close(self) -> None:
        self._base.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all changes of the block are stored, or none."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._base.in_transaction:  # a full disk ends it
                self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement; the number of rows that it changed."""
        return self._base.execute(sql, values).rowcount

    def insert(self, sql: str, rows: Iterable[Sequence[object]]) -> int:
        """Run a statement for each row; the number of rows that it stored."""
        return max(0, self._base.executemany(sql, rows).rowcount)

    def rows(self, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, read in parts: do not change what it reads meanwhile."""
        cursor = self._base.execute(sql, values)
        cursor.arraysize = ROWS_AT_ONCE
        while some := cursor.fetchmany():
            yield from some

    def row(self, sql: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._base.execute(sql, values).fetchone()
        return row

    def number(self, sql: str, values: Sequence[object] = ()) -> int:
        """The number that a query gives; 0 for none."""
        row = self.row(sql, values)
        return int(row[0] or 0) if row else 0

    @property
    def n_threads(self) -> int:
        """The number of threads, and of documents in none, that are kept."""
        return self.number(f"SELECT count(*) FROM posts WHERE {KEPT} AND {HEADS}")

    def about(self, key: str) -> Any:
        """The value noted under a key; None if there is none."""
        row = self.row("SELECT value FROM about WHERE key = ?", (key,))
        return json.loads(row[0]) if row else None

    def note(self, key: str, value: object) -> None:
        self.execute(
            "INSERT OR REPLACE INTO about VALUES (?, ?)", (key, json.dumps(value, ensure_ascii=False))
        )

    def state(self, step: str) -> tuple[dict[str, Any], bool]:
        """The state of a step, and whether it is done."""
        row = self.row("SELECT state, is_done FROM steps WHERE name = ?", (step,))
        return (json.loads(row[0]), bool(row[1])) if row else ({}, False)

    def set_state(self, step: str, state: dict[str, Any], *, is_done: bool = False) -> None:
        values = (step, json.dumps(state, ensure_ascii=False), is_done)
        self.execute("INSERT OR REPLACE INTO steps VALUES (?, ?, ?)", values)


@contextmanager
def refusals(folder: Path) -> Iterator[None]:
    """Say in a sentence that the disk is full, or that the store cannot be used.

    Raises `NotBuilt` instead of the error of the system.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise _full(folder) from None
    except sqlite3.DatabaseError as error:
        message = str(error)
        if "full" in message or "disk I/O" in message:
            raise _full(folder) from None
        if "locked" in message:
            raise NotBuilt(f"Another process is building in {folder}. Wait for its end.") from None
        if "not a database" in message or "malformed" in message:
            raise NotBuilt(
                f"{folder / NAME} is damaged ({message}). Delete the folder, and build again."
            ) from None
        raise


def _full(folder: Path) -> NotBuilt:
    return NotBuilt(
        f"The disk of {folder} is full. Free some space and start the same build again: it continues."
    )
