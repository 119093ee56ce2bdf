"""Runs in XML: a stream of elements, read with the line of each, that no file can turn against the reader.

Expat reads, because it gives the line on which a tag begins, whatever ends the lines; libxml2 gives that of its end,
and knows no lone CR. Nothing is fetched and no entity is expanded: a document type may be named, but none may be
declared in the file, so that there is nothing that could expand. Depth, size of a tag and number of elements are
bounded, and what is read is given to the form's own reader element by element; the tree is never built.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.parsers import expat

import numpy as np

from assay.formats.compression import Limits
from assay.formats.reports import Tally
from assay.formats.runs.rows import INVISIBLE, MAX_DOCNO, MAX_NAME, byte_strings
from assay.formats.runs.rules import NO_ROWS, Expected, RunRows, check_tags

MAX_DEPTH = 64  # elements within one another
MAX_TAG = 1 << 17  # bytes of one tag, comment or other piece that cannot be read in parts
MAX_ROWS = 1_000_000
IN_A_ROW = 20  # elements that one row may take in the mean
WHITE = re.compile(r"\s")


class Stopped(Exception):
    """The complaint has been made; there is no sense in reading on."""


@dataclass(frozen=True, slots=True)
class XmlForm:
    """A form of run in XML, told by its first element."""

    name: str
    title: str
    roots: tuple[str, ...]
    elements: "type[Elements]"
    has_ranks: bool
    ties_stay: bool  # False: they are ordered as trec_eval orders them


class Elements(ABC):
    """What a form makes of the elements of a file, one after the other. Names are without prefix."""

    def __init__(self, expected: Expected, limits: Limits, tally: Tally) -> None:
        self.expected = expected
        self.tally = tally
        self.tags: dict[bytes, tuple[int, int]] = {}
        self._most = min(expected.most_lines(limits), MAX_ROWS)
        self._n_ranked = 0
        self._codes: dict[str, int] = {}
        self._rows: list[tuple[int, bytes, int, float, int]] = []
        self._passages: list[bytes] = []

    @abstractmethod
    def start(self, name: str, attributes: Mapping[str, str], number: int, parent: str) -> None:
        """An element begins, on a line, inside another; at the top the parent is empty."""

    @abstractmethod
    def end(self, name: str, parent: str) -> None:
        """An element ends."""

    wants_text = False  # now, where the reader stands

    def text(self, data: str) -> None:  # noqa: B027
        """A piece of text, of any length."""

    def finish(self) -> None:  # noqa: B027
        """The file has ended well."""

    def add(
        self, topic: str, docno: str, rank: int, score: float | None, number: int, passage: str | None = None
    ) -> None:
        """Take a row. One whose score is wrong has been complained of, and stays to be checked for the rest."""
        index = self._codes.setdefault(topic, len(self._codes))
        self._rows.append((index, docno.encode(), rank, math.nan if score is None else score, number))
        if passage is not None:
            self._passages.append(passage.encode())

    def count_ranked(self) -> None:
        """One more element that ranks something, be it right or wrong."""
        self._n_ranked += 1
        if self._n_ranked > self._most:
            self.tally.error(
                "too-many-lines",
                f"The file ranks more than {self._most:,} {self.expected.noun[1]}; the rest was not read.",
                "As many as there are topics times ranks.",
            )
            raise Stopped

    def count_tag(self, tag: str, number: int) -> None:
        """One more row of a tag."""
        n, first = self.tags.get(tag.encode(), (0, number))
        self.tags[tag.encode()] = (n + 1, first)

    def rows(self) -> RunRows:
        """All rows; nothing of them is kept here."""
        if not self._rows:
            return NO_ROWS
        index, docno, rank, score, number = zip(*self._rows, strict=True)
        found = RunRows(
            list(self._codes),
            np.array(index, dtype=np.int32),
            byte_strings(docno),
            np.array(rank, dtype=np.int32),
            np.array(score, dtype=np.float64),
            np.array(number, dtype=np.int64),
            None,
            byte_strings(self._passages) if self._passages else None,
        )
        self._rows.clear()
        self._passages.clear()
        return found

    def attribute(self, attributes: Mapping[str, str], element: str, key: str, number: int) -> str | None:
        """The text of an attribute that must be there."""
        value = attributes.get(key, "").strip()
        if value:
            return value
        what = "is empty" if key in attributes else "is missing"
        self.tally.error(
            "attribute",
            f"{element}: the attribute {key} {what}",
            f'<{element} {key}="…">, as the form of the run says.',
            number,
        )
        return None

    def name(self, value: str | None, what: str, limit: int, number: int) -> str | None:
        """A topic, an id or a tag: one word of at most some bytes."""
        if value is None:
            return None
        if WHITE.search(value):
            message = f"the {what} holds white space"
            self.tally.error("blank-in-name", message, "One word.", number, note=value[:80])
            return None
        if len(value.encode()) > limit:
            message = f"the {what} has more than {limit} bytes"
            self.tally.error("name-too-long", message, f"At most {limit} bytes.", number)
            return None
        if INVISIBLE.search(value.encode()):
            message = f"the {what} holds an invisible character, which counts as part of it"
            self.tally.warning("invisible", message, "Ids as they are in the collection.", number)
        return value

    def topic(self, attributes: Mapping[str, str], element: str, key: str, number: int) -> str | None:
        return self.name(self.attribute(attributes, element, key, number), "topic", MAX_NAME, number)

    def docno(self, value: str | None, number: int) -> str | None:
        return self.name(value, f"{self.expected.noun[0]} id", MAX_DOCNO, number)

    def misplaced(self, name: str, parent: str, number: int, accepted: str) -> None:
        """An element that does not belong where it stands."""
        where = f"in {parent}" if parent else "as the first element"
        self.tally.error("element", f"<{name[:60]}> {where} has no meaning here", accepted, number)


class XmlReader:
    """One file of XML on its way to rows, by the form that its first element tells."""

    def __init__(self, forms: list[XmlForm], expected: Expected, limits: Limits, tally: Tally) -> None:
        self.form: XmlForm | None = None
        self._forms = forms
        self._expected = expected
        self._limits = limits
        self._tally = tally
        self._tally.can_repair = False  # a repaired file is one of lines
        self._elements: Elements | None = None
        self._stack: list[str] = []
        self._n_elements = 0
        self._most = min(limits.max_lines, IN_A_ROW * expected.most_lines(limits))
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._entity

    @property
    def tags(self) -> dict[bytes, tuple[int, int]]:
        return self._elements.tags if self._elements else {}

    def read(self, blocks: Iterator[bytes]) -> bool:
        """Read the file; False if it is broken or there is no sense in reading on.

        Raises
        ------
        Unreadable
            It cannot be unpacked to its end.
        """
        try:
            self._parse(blocks)
        except Stopped:
            return False
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            message = f"the XML is broken off here: {reason} (column {error.offset + 1})"
            self._tally.error("xml", message, "Well-formed XML.", error.lineno)
            return False
        except (
            LookupError,
            ValueError,
        ) as error:  # expat asks Python for encodings that it does not know itself
            self._tally.error("encoding", f"The encoding cannot be read: {error}.", "XML in UTF-8.")
            return False
        assert self._elements is not None
        self._elements.finish()
        self._check_rows()
        return True

    def rows(self) -> RunRows:
        return self._elements.rows() if self._elements else NO_ROWS

    def _check_rows(self) -> None:
        if not self.tags and not self._tally.has_errors:
            self._tally.error("empty", f"The file ranks no {self._expected.noun[0]}.", "At least one.")
        check_tags(self.tags, self._tally)

    def _parse(self, blocks: Iterator[bytes]) -> None:
        n_read = 0
        for block in blocks:
            self._parser.Parse(block, False)
            n_read += len(block)
            if n_read - max(self._parser.CurrentByteIndex, 0) > MAX_TAG + len(block):
                self._stop("xml", f"a tag or comment has more than {MAX_TAG:,} bytes", "Short tags.")
        self._parser.Parse(b"", True)

    def _stop(self, code: str, message: str, accepted: str) -> None:
        self._tally.error(code, message, accepted, self._parser.CurrentLineNumber)
        raise Stopped

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._n_elements += 1
        if len(self._stack) >= MAX_DEPTH:
            self._stop(
                "xml", f"more than {MAX_DEPTH} elements stand within one another", "The form of the run."
            )
        if self._n_elements > self._most:
            self._stop("xml", f"the file has more than {self._most:,} elements", "Fewer elements.")
        name = name.rpartition(":")[2]
        parent = self._stack[-1] if self._stack else ""
        if self._elements is None:
            self._elements = self._elements_of(name)
        self._stack.append(name)
        local = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        self._elements.start(name, local, self._parser.CurrentLineNumber, parent)
        if self._elements.wants_text:
            self._parser.CharacterDataHandler = self._elements.text

    def _elements_of(self, name: str) -> Elements:
        for form in self._forms:
            if name in form.roots:
                self.form = form
                return form.elements(self._expected, self._limits, self._tally)
        roots = " or ".join(f"<{root}>" for form in self._forms for root in form.roots)
        message = f"the first element is <{name[:60]}>"
        self._stop("root", message, f"{roots}: {'; '.join(form.title for form in self._forms)}.")
        raise Stopped

    def _end(self, name: str) -> None:
        self._stack.pop()
        assert self._elements is not None
        self._elements.end(name.rpartition(":")[2], self._stack[-1] if self._stack else "")
        if not self._elements.wants_text:
            self._parser.CharacterDataHandler = None

    def _doctype(
        self, _name: str, _system: str | None, _public: str | None, has_internal_subset: bool
    ) -> None:
        if has_internal_subset:
            self._stop(
                "doctype",
                "the file declares its document type in itself",
                "A file without declarations; entities and defaults are not read.",
            )

    def _entity(self, name: str, _is_parameter: bool) -> None:
        self._stop(
            "entity", f"the entity &{name[:60]}; is not known", "Characters themselves, or &#…; numbers."
        )
