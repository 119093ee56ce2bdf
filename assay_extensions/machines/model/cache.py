"""Replies of models on disk, so that nothing is paid for twice. Several processes may use the same file."""

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Self

from assay.errors import InputError
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.model.client import Reply
from assay_extensions.machines.model.evidence import digest_of

SECONDS_TO_WAIT = 60.0  # for another process
TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"


def usual_path() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "assay" / "replies.sqlite"


def key_of(judge: Judge, messages: Sequence[Mapping[str, str]], judging_round: int) -> str:
    """The key of a reply: model, revision, messages, decoding and round. The address is not part of it."""
    facts = {
        "model": judge.model,
        "revision": judge.revision,
        "messages": list(messages),
        "decoding": judge.decoding.parameters(),
        "answer": judge.answer,
        "round": judging_round,
    }
    return digest_of([facts])


class Cache:
    """A file of replies, for several threads and processes.

    Raises InputError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
            )
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(TABLE)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"--cache {path}: {error}") from None
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, key: str) -> Reply | None:
        with self._lock:
            row = self._file.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return Reply(*json.loads(row[0])) if row else None

    def put(self, key: str, reply: Reply) -> None:
        with self._lock:
            self._file.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, json.dumps(reply)))
