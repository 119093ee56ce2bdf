"""Reads candidates for topics: questions in lines of JSON, one object per line.

The keys of a candidate. Only `id`, and a title or a body, are required; an unknown key is an error::

    id          its docno: no white space, at most 200 characters
    date        date and time in ISO 8601
    title       text; LaTeX between dollars, or in <span class="math-container">
    body        HTML, with formulas as in the title
    tags        list of strings
    score       votes, a whole number
    answers     number of its answers
    formulas    number of its formulas; counted in its texts if it is missing
    duplicates  list of docnos in the collection that are duplicates of it
    related     list of docnos in the collection that are related to it
    reputation  that of the person who asked
    length      its length in words; counted in its texts if it is missing

All errors are reported with their lines before anything is used.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from assay.digests import RunningSha256
from assay.errors import BadFile
from assay.formats.documents.batch import Unusable, moment
from assay.formats.documents.jsonl import docno_of, number_of, tags_of, text_of
from assay.formats.kinds import HEAD, naming_kind
from assay.html.sanitize import clean_body, clean_title, plain

MAX_COMPLAINTS = 5
MAX_LINE = 8_000_000  # bytes; the title and the body have at most a million characters each
COUNTS = ("score", "answers", "formulas", "reputation", "length")
KEYS = ("id", "date", "title", "body", "tags", *COUNTS[:3], "duplicates", "related", *COUNTS[3:])


class BadCandidates(BadFile):
    """A file of candidates has errors; the message lists them."""

    title = "These candidates cannot be used"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that may become a topic. `date` is in ISO 8601 and UTC, or empty.

    `title`, `body` and `text` are empty if they are not needed: to choose by numbers needs no text. Otherwise title and
    body are sanitized HTML, and `text` is both and the tags as plain text with small letters, for searching.
    """

    id: str
    date: str = ""
    title: str = ""
    body: str = ""
    tags: tuple[str, ...] = ()
    score: int = 0
    answers: int = 0
    formulas: int = 0
    duplicates: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    reputation: int = 0
    length: int = 0
    text: str = ""


class CandidateLines:
    """The candidates of a file, read once, with the file's digest and number when it is read to its end.

    Args:
        blocks: the decompressed file.
        name: of the file, for messages.
        has_text: whether the candidates have their texts, which takes most of the time.
        only: whether a candidate with this id needs its texts.
    """

    def __init__(
        self,
        blocks: Iterable[bytes],
        name: str,
        *,
        has_text: bool = False,
        only: Callable[[str], bool] = lambda docno: True,
    ) -> None:
        self.name, self.has_text, self.only = name, has_text, only
        self.n = self.n_bytes = 0
        self._blocks = blocks
        self._digest = RunningSha256()
        self._head = b""
        self._lines_of: dict[str, int] = {}
        self._complaints: list[str] = []

    @property
    def sha256(self) -> str:
        """The digest of the bytes that were read; the file may be compressed, they are not."""
        return self._digest.value

    def __iter__(self) -> Iterator[Candidate]:
        """The candidates in the order of the file. After an error, the rest of the file is only checked.

        Raises:
            BadCandidates: Some lines have errors, or there is no candidate.
        """
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            candidate = self._read(number, line)
            if candidate is not None and not self._complaints:
                self.n += 1
                yield candidate
            if len(self._complaints) > MAX_COMPLAINTS:
                break
        if self._complaints or not self.n:
            shown = self._complaints[:MAX_COMPLAINTS] or ["there are no candidates in the file"]
            more = ["and more"] if len(self._complaints) > MAX_COMPLAINTS else []
            with naming_kind(self._head):
                raise BadCandidates("\n".join([f"{self.name} has errors:", *shown, *more]))

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for block in self._blocks:
            self._digest.update(block)
            self._head = self._head or block[:HEAD]
            self.n_bytes += len(block)
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            if len(rest) > MAX_LINE:
                raise BadCandidates(f"{self.name} has a line of more than {MAX_LINE:,} bytes.")
        yield rest

    def _read(self, number: int, line: bytes) -> Candidate | None:
        try:
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError):
                raise Unusable("not a JSON object in UTF-8") from None
            if not isinstance(row, dict):
                raise Unusable("not a JSON object")
            if unknown := [key for key in row if key not in KEYS]:
                raise Unusable(f"unknown key {unknown[0][:40]!r}; use {', '.join(KEYS)}")
            candidate = self._candidate(row)
        except Unusable as reason:
            self._complaints.append(f"line {number}: {reason}")
            return None
        earlier = self._lines_of.setdefault(candidate.id, number)
        if earlier != number:
            self._complaints.append(f"line {number}: candidate {candidate.id} is already in line {earlier}")
        return candidate

    def _candidate(self, row: Mapping[str, object]) -> Candidate:
        docno = docno_of(row.get("id"), "id")
        title, body = text_of(row.get("title"), "title"), text_of(row.get("body"), "body")
        if not title.strip() and not body.strip():
            raise Unusable("a candidate has a title or a body")
        counts = {name: _count(row, name) for name in COUNTS}
        tags, needs_text = tuple(tags_of(row.get("tags"))), self.has_text and self.only(docno)
        if needs_text or None in (counts["formulas"], counts["length"]):
            title, body = clean_title(title), clean_body(body)
        if counts["formulas"] is None:
            counts["formulas"] = (title + body).count('<span class="math-container"')
        if counts["length"] is None:
            counts["length"] = len(f"{plain(title)} {plain(body)}".split())
        return Candidate(
            id=docno,
            date=moment(text_of(row.get("date"), "date"), "date") or "",
            title=title if needs_text else "",
            body=body if needs_text else "",
            tags=tags,
            score=counts["score"] or 0,
            answers=counts["answers"] or 0,
            formulas=counts["formulas"] or 0,
            duplicates=_docnos(row, "duplicates"),
            related=_docnos(row, "related"),
            reputation=counts["reputation"] or 0,
            length=counts["length"] or 0,
            text=" ".join([plain(title), plain(body), *tags]).casefold() if needs_text else "",
        )


def _count(row: Mapping[str, object], name: str) -> int | None:
    text = number_of(row.get(name), name)
    number = None if text is None else int(text)
    if number is not None and number < 0 and name not in {"score", "reputation"}:
        raise Unusable(f"{name} is below 0")
    return number


def _docnos(row: Mapping[str, object], name: str) -> tuple[str, ...]:
    items = row.get(name)
    if not isinstance(items, list | None):
        raise Unusable(f"{name} is not a list")
    return tuple(dict.fromkeys(docno_of(item, f"a docno of {name}") for item in items or []))
