"""Reads a file of a source in chunks, each in one transaction with the place that it ends at."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from assay.formats.documents.batch import Malformed
from assay.formats.documents.dump import TOO_LONG, Broken, Reader
from assay_extensions.building.sources import File
from assay_extensions.building.store import Store


class Cut(Exception):
    """A row does not belong to the collection; the message is the reason, under which it is counted."""


@dataclass
class Counts:
    """Rows by kind before the cut; those that were cut, by reason; and those that cannot be used, by reason."""

    before: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Counts":
        return cls(*(Counter(state.get(name, {})) for name in ("before", "cut", "skipped")))

    def add(self, other: "Counts") -> None:
        self.before.update(other.before)
        self.cut.update(other.cut)
        self.skipped.update(other.skipped)

    def as_json(self) -> dict[str, dict[str, int]]:
        pairs = (("before", self.before), ("cut", self.cut), ("skipped", self.skipped))
        return {name: dict(sorted((+counter).items())) for name, counter in pairs}


# Called with what is done now, how much of it is done, and how much there is; 0 if that is not known.
Progress = Callable[[str, int, int], None]
# Stores the rows of a chunk, given with the form of the file and the number of its first row; returns their number.
Take = Callable[[bytes, str, int, Counts], int]


def read(
    store: Store,
    step: str,
    file: File,
    take: Take,
    progress: Callable[[int], None],
    settle: Callable[[Counts], None] = lambda counts: None,
) -> None:
    """Store the rows of a file. `progress` gets the bytes that are stored; `settle` is called after the last row.

    The state of the step has the place in the file, its digest and the counts.

    Raises:
        Broken: The file breaks its format: its line.
    """
    state, is_done = store.state(step)
    if is_done:
        return
    counts, n_rows = Counts.of(state), state.get("rows", 0)
    with file.opened() as opened:
        reader = Reader(opened, file.name, position=state.get("position", 0))
        for chunk in reader:
            counts.skipped[TOO_LONG] += chunk.n_too_long
            with store.writing():
                try:
                    n_rows += take(chunk.data, reader.form.name, n_rows, counts)
                except Malformed as fault:
                    line, byte = chunk.line + fault.n_lines, chunk.start + fault.offset
                    raise Broken(file.name, line, byte, fault.message) from None
                state = {"rows": n_rows, "position": chunk.end, **counts.as_json()}
                store.set_state(step, state)
            progress(chunk.end)
        digest = reader.sha256
    with store.writing():
        settle(counts)
        about = {"name": file.name, "bytes": state.get("position", 0), "sha256": digest, "rows": n_rows}
        store.set_state(step, state | about | counts.as_json(), is_done=True)
