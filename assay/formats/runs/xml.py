"""Reads runs in XML, element by element, and passes each element with its line to the elements class of the form.

The parser is expat, because it gives the line on which a tag begins, for every kind of line end. (libxml2 gives the
line on which a tag ends, and does not count a lone CR.) A hostile file cannot harm the reader: it fetches nothing,
expands no entity, refuses a document type declared in the file, limits the depth, the size of a tag and the number of
elements, and never builds a tree.
"""

from collections.abc import Iterator, Mapping
from typing import NoReturn
from xml.parsers import expat

from assay.formats.compression import Limits
from assay.formats.reports import Tally
from assay.formats.runs.bolt import BoltElements
from assay.formats.runs.elements import Elements, Stopped
from assay.formats.runs.ntcir import NtcirElements
from assay.formats.runs.rules import NO_ROWS, Expected, RunRows, XmlForm

MAX_DEPTH = 64  # nested elements
MAX_TAG = 1 << 17  # bytes of one tag, comment or other piece that cannot be read in parts
ELEMENTS_PER_ROW = 20  # on average, at most
ELEMENTS: dict[str, type[Elements]] = {"ntcir-xml": NtcirElements, "bolt-xml": BoltElements}


class XmlReader:
    """Reads one file of XML; its first element decides the form."""

    def __init__(self, forms: list[XmlForm], expected: Expected, limits: Limits, tally: Tally) -> None:
        self.form: XmlForm | None = None
        self._forms = forms
        self._expected = expected
        self._limits = limits
        self._tally = tally
        self._tally.can_repair = False  # repaired files are written in lines
        self._elements: Elements | None = None
        self._stack: list[str] = []
        self._n_elements = 0
        self._most = min(limits.max_lines, ELEMENTS_PER_ROW * expected.max_lines)
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = lambda name, _: self._stop(
            "entity",
            f"the entity &{name[:60]}; is not defined",
            "The characters themselves, or &#…; numbers.",
        )

    @property
    def tags(self) -> dict[bytes, tuple[int, int]]:
        return self._elements.tags if self._elements else {}

    @property
    def tag(self) -> str:
        """The tag that the file declares last; empty if it declares none."""
        return (self._elements.tag if self._elements else None) or ""

    @property
    def kind(self) -> str:
        """The kind of run that the file declares; empty if its form declares none."""
        return self._elements.kind if self._elements else ""

    @property
    def stated(self) -> Mapping[str, str]:
        """Facts about the run in the file, if its form has a place for them."""
        return self._elements.stated if self._elements else {}

    def read(self, blocks: Iterator[bytes]) -> bool:
        """Read the file; False if it is broken or exceeds a limit. `blocks` may raise `Unreadable`."""
        try:
            n_read = 0
            for block in blocks:
                self._parser.Parse(block, False)
                n_read += len(block)
                if n_read - max(self._parser.CurrentByteIndex, 0) > MAX_TAG + len(block):
                    self._stop("xml", f"a tag or comment has more than {MAX_TAG:,} bytes", "Short tags.")
            self._parser.Parse(b"", True)
        except Stopped:
            return False
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            message = f"the XML is not well-formed here: {reason} (column {error.offset + 1})"
            self._tally.error("xml", message, "Well-formed XML.", error.lineno)
            return False
        except (LookupError, ValueError) as error:  # expat asks Python for encodings that it does not know
            self._tally.error("encoding", f"The encoding cannot be read: {error}.", "XML in UTF-8.")
            return False
        assert self._elements is not None
        self._elements.finish()
        if not self.tags and not self._tally.has_errors:
            self._tally.error("empty", f"The file ranks no {self._expected.noun[0]}.", "At least one.")
        return True

    def rows(self) -> RunRows:
        return self._elements.rows() if self._elements else NO_ROWS

    def _stop(self, code: str, message: str, accepted: str) -> NoReturn:
        self._tally.error(code, message, accepted, self._parser.CurrentLineNumber)
        raise Stopped

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._n_elements += 1
        if len(self._stack) >= MAX_DEPTH:
            self._stop("xml", f"more than {MAX_DEPTH} elements are nested", "The form of the run.")
        if self._n_elements > self._most:
            self._stop("xml", f"the file has more than {self._most:,} elements", "Fewer elements.")
        name = name.rpartition(":")[2]
        parent = self._stack[-1] if self._stack else ""
        if self._elements is None:
            self.form = next((form for form in self._forms if name in form.roots), None)
            if self.form is None:
                roots = " or ".join(f"<{root}>" for form in self._forms for root in form.roots)
                accepted = f"{roots}: {'; '.join(form.title for form in self._forms)}."
                self._stop("root", f"the first element is <{name[:60]}>", accepted)
            self._elements = ELEMENTS[self.form.name](self._expected, self._limits, self._tally)
        self._stack.append(name)
        local = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        self._elements.start(name, local, self._parser.CurrentLineNumber, parent)
        if self._elements.wants_text:
            self._parser.CharacterDataHandler = self._elements.text

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
            accepted = "A file without declarations; entities and default values are not read."
            self._stop("doctype", "the file declares a document type", accepted)
