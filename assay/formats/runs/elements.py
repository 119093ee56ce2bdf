"""The base of the XML forms: what the elements of a file contribute to a run, one after the other."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from assay.formats.compression import Limits
from assay.formats.reports import Tally
from assay.formats.runs.rows import MAX_DOCNO, MAX_TOPIC, byte_strings
from assay.formats.runs.rules import NO_ROWS, Expected, RunRows
from assay.formats.tokens import INVISIBLE

MAX_ROWS = 1_000_000
WHITE = re.compile(r"\s")


class Stopped(Exception):
    """The tally has the error; reading on is of no use."""


class Elements(ABC):
    """Collects the rows of one file. Names of elements and attributes have no prefix."""

    def __init__(self, expected: Expected, limits: Limits, tally: Tally) -> None:
        self.expected = expected
        self.tally = tally
        self.tags: dict[bytes, tuple[int, int]] = {}
        self.tag: str | None = ""  # that is declared for the next rows; None: it is wrong
        self.kind = ""  # of run, if the form declares it
        self.stated: Mapping[str, str] = {}  # what the file says about itself
        is_upload = limits.max_lines < math.inf
        self._most = min(expected.max_lines, MAX_ROWS) if is_upload else expected.max_lines
        self._n_ranked = 0
        self._codes: dict[str, int] = {}
        self._rows: list[tuple[int, bytes, int, float, int]] = []
        self._passages: list[bytes] = []
        self._originals: list[bytes] = []

    @abstractmethod
    def start(self, name: str, attributes: Mapping[str, str], number: int, parent: str) -> None:
        """Take the start of an element on line `number`; the parent of the first element is empty."""

    @abstractmethod
    def end(self, name: str, parent: str) -> None:
        """Take the end of an element."""

    wants_text = False  # whether `text` gets the text at the present place

    def text(self, data: str) -> None:  # noqa: B027
        """Take a piece of text of any length."""

    def finish(self) -> None:  # noqa: B027
        """Take the end of a well-formed file."""

    def add(
        self,
        topic: str,
        docno: str,
        rank: int,
        score: float | None,
        number: int,
        passage: str | None = None,
        original: str = "",
    ) -> None:
        """Add a row. A row with a wrong score, already an error, stays so that the rest of it is checked."""
        index = self._codes.setdefault(topic, len(self._codes))
        self._rows.append((index, docno.encode(), rank, math.nan if score is None else score, number))
        if passage is not None:
            self._passages.append(passage.encode())
            self._originals.append(original.encode())

    def count_ranked(self) -> None:
        """Count an element that ranks something, correct or not, and stop at the limit."""
        self._n_ranked += 1
        if self._n_ranked > self._most:
            message = (
                f"The file ranks more than {self._most:,} {self.expected.noun[1]}; the rest was not read."
            )
            self.tally.error("too-many-lines", message, "As many as there are topics times ranks.")
            raise Stopped

    def count_tag(self, tag: str, number: int) -> None:
        """Count a row of a tag."""
        n, first = self.tags.get(tag.encode(), (0, number))
        self.tags[tag.encode()] = (n + 1, first)

    def rows(self) -> RunRows:
        """Return all rows and forget them."""
        if not self._rows:
            return NO_ROWS
        index, docno, rank, score, number = zip(*self._rows, strict=True)
        rows = RunRows(
            list(self._codes),
            np.array(index, dtype=np.int32),
            byte_strings(docno),
            np.array(rank, dtype=np.int32),
            np.array(score, dtype=np.float64),
            np.array(number, dtype=np.int64),
            None,
            byte_strings(self._passages) if self._passages else None,
            original=byte_strings(self._originals) if any(self._originals) else None,
        )
        self._rows.clear()
        self._passages.clear()
        self._originals.clear()
        return rows

    def attribute(self, attributes: Mapping[str, str], element: str, key: str, number: int) -> str | None:
        """The value of a required attribute."""
        value = attributes.get(key, "").strip()
        if value:
            return value
        problem = "is empty" if key in attributes else "is missing"
        message, accepted = f"{element}: the attribute {key} {problem}", f'<{element} {key}="…">'
        self.tally.error("attribute", message, f"{accepted}, as in the format of the run.", number)
        return None

    def name(self, value: str | None, field: str, limit: int, number: int) -> str | None:
        """A topic, an id or a tag: one word of at most `limit` bytes; None, and an error, for anything else."""
        if value is None:
            return None
        if WHITE.search(value):
            message = f"the {field} contains white space"
            self.tally.error("blank-in-name", message, "One word.", number, note=value[:80])
            return None
        if len(value.encode()) > limit:
            message = f"the {field} has more than {limit} bytes"
            self.tally.error("name-too-long", message, f"At most {limit} bytes.", number)
            return None
        if INVISIBLE.search(value.encode()):
            message = f"the {field} contains an invisible character, which counts as part of it"
            self.tally.warning("invisible", message, "Ids as they are in the collection.", number)
        return value

    def topic(self, attributes: Mapping[str, str], element: str, key: str, number: int) -> str | None:
        return self.name(self.attribute(attributes, element, key, number), "topic", MAX_TOPIC, number)

    def docno(self, value: str | None, number: int) -> str | None:
        return self.name(value, f"{self.expected.noun[0]} id", MAX_DOCNO, number)

    def misplaced(self, name: str, parent: str, number: int, accepted: str) -> None:
        """Report an element in the wrong place."""
        where = f"in {parent}" if parent else "as the first element"
        self.tally.error("element", f"<{name[:60]}> {where} has no meaning here", accepted, number)
