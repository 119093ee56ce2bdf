"""The file of a program's judgments, as CSV or lines of JSON: it grows by a whole judgment at a time.

A file that was cut in a judgment, because the disk was full or the machine stopped, loses that judgment only.
"""

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Self

from assay.errors import InputError
from assay.formats.judgments.reader import parse_judgments
from assay.formats.judgments.rows import COLUMNS, as_csv, as_jsonl
from assay_extensions.machines.work.answers import Answer
from assay_extensions.machines.work.units import Unit

SUFFIXES = {".csv": as_csv, ".jsonl": as_jsonl}
FIRST = f'{{"{COLUMNS[0]}"'.encode()  # what lines of JSON begin with
KIND = "machine"  # of the batch
SOURCE = "assay judge"
SYNC_SECONDS = 1.0


class Output:
    """The file, locked against a second program. `done` are the units that it contains.

    Args:
        sync_seconds: how long a judgment may be written, but not yet be on the disk.
    """

    def __init__(self, path: Path, *, assessor: str, batch: str, sync_seconds: float = SYNC_SECONDS) -> None:
        if path.suffix not in SUFFIXES:
            raise InputError(f"{path}: the name of the output ends with {' or '.join(SUFFIXES)}")
        self.path, self.assessor, self.batch = path, assessor, batch
        self.done: set[tuple[str, str]] = set()
        self.n_cut = 0
        self._write = SUFFIXES[path.suffix]
        self._head = "".join(self._write([]))
        self._n = 0
        self._sync_seconds, self._synced_at = sync_seconds, 0.0

    def __enter__(self) -> Self:
        """Open the file, and read what it contains.

        Raises InputError: another process writes it, or it contains something else than judgments of this assessor.
        """
        self._file = self.path.open("ab+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.seek(0)
            data, begin = self._file.read(), self._head.encode() or FIRST
            end = whole_rows(data, self.path.suffix)
            if end > len(self._head.encode()):
                file = parse_judgments(data[:end], str(self.path))
                others = sorted({row.assessor for row in file.rows} - {self.assessor})
                if others:
                    raise InputError(
                        f"{self.path}: it has judgments by {others[0]}, not {self.assessor}; name another file"
                    )
                self.done = {(row.topic, row.docno) for row in file.rows}
                self._n = len(file.rows)
            elif not (begin.startswith(data) or data.startswith(begin)):  # it may be cut where it was begun
                raise InputError(f"{self.path}: it is not a file of judgments; name another one")
            else:
                end = 0
            self.n_cut = len(data) - end
            self._file.truncate(end)
            if not end:
                self._append(self._head)
        except BlockingIOError:
            self._file.close()
            raise InputError(f"{self.path}: another assay judge writes this file") from None
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file.fileno())
        self._file.close()

    def add(self, unit: Unit, answer: Answer, *, label: str, left: str, seconds: float) -> None:
        """Append a judgment. `left`: the left document of a pair, or empty."""
        row = dict.fromkeys(COLUMNS) | {
            "judgment": self._n + 1,
            "batch": self.batch,
            "kind": KIND,
            "topic": unit.topic,
            "docno": unit.docno,
            "unit": unit.docno,
            "left": left,
            "assessor": self.assessor,
            "choice": answer.choice.key,
            "label": label,
            "grade": answer.grade,
            "comment": answer.comment,
            "answers": dict(answer.answers),
            "judged_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(seconds) if answer.seconds is None else answer.seconds,
            "is_current": True,
            "is_withdrawn": False,
            "is_adjudicated": False,
            "is_check": False,
            "source": SOURCE,
        }
        self._append("".join(self._write([row])).removeprefix(self._head))
        self.done.add((unit.topic, unit.docno))
        self._n += 1

    def _append(self, text: str) -> None:
        self._file.write(text.encode())
        self._file.flush()
        if monotonic() - self._synced_at >= self._sync_seconds:
            os.fsync(self._file.fileno())
            self._synced_at = monotonic()


def whole_rows(data: bytes, suffix: str) -> int:
    """The number of bytes up to the end of the last whole row; a row of CSV ends at a line end outside of quotes.

    >>> whole_rows(b'a,b\\r\\n1,"x\\r\\ny"\\r\\n2,"half', ".csv"), whole_rows(b'{"a": 1}\\n{"a"', ".jsonl")
    (15, 9)
    """
    if suffix == ".jsonl":
        return data.rfind(b"\n") + 1
    end, n_quotes, start = 0, 0, 0
    while (line_end := data.find(b"\n", start)) >= 0:
        n_quotes += data.count(b'"', start, line_end)
        start = line_end + 1
        if n_quotes % 2 == 0:
            end = start
    return end
