"""Reads runs in lines: detects the form, turns chunks of lines into rows, and checks the file as a whole.

    topic docno rank score tag                      (ARQMath Task 1, 5 columns)
    topic formula post rank score tag               (ARQMath Task 2, 6 columns)
    topic Q0 docno rank score tag                   (TREC and NTCIR, 6 columns)

Columns are separated by any ASCII white space. Ids are text, compared by bytes; no character has
a special meaning.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from assay.formats.compression import Limits
from assay.formats.lines import LineNotes, Lines, n_lines
from assay.formats.reports import Tally
from assay.formats.runs.forms import LineForm
from assay.formats.runs.rows import Rows, read_fast_path, read_slow_path
from assay.formats.runs.rules import NO_ROWS, Expected, RunRows, check_tags
from assay.formats.runs.words import RANK, SCORE

SAMPLE = 50  # lines from which the form is detected
HEADER_WORDS = {
    b"rank",
    b"score",
    b"run_number",
    b"query_id",
    b"topic_id",
    b"docno",
    b"post_id",
    b"formula_id",
}


class LineReader:
    """Reads one file of lines. `tags` gives for each tag the count of its lines and the number of the first."""

    def __init__(self, forms: list[LineForm], expected: Expected, limits: Limits, tally: Tally) -> None:
        self.form: LineForm | None = None
        self.tags: dict[bytes, tuple[int, int]] = {}
        self._forms = forms
        self._expected = expected
        self._limits = limits
        self._tally = tally
        self._parts: list[Rows] = []
        self._n_rows = 0

    def read(self, blocks: Iterator[bytes]) -> bool:
        """Read all lines; False if there are too many.

        Raises
        ------
        Unreadable
            The file cannot be read to its end.
        """
        lines = Lines(blocks, self._limits)
        is_whole = all(self._take(number, chunk) for number, chunk in lines)
        self._note_lines(lines.notes)
        if not self._n_rows and not self._tally.has_errors:
            self._tally.error("empty", "The file has no line with a ranked document.", "At least one line.")
        check_tags(self.tags, self._tally)
        return is_whole

    def rows(self) -> RunRows:
        """Return all rows and forget them."""
        rows = _joined(self._parts)
        self._parts.clear()
        return rows

    def _take(self, number: int, chunk: bytes) -> bool:
        if self.form is None:
            if not chunk.strip():
                return True
            self.form = _detect_form(chunk, self._forms)
            number, chunk = self._without_header(number, chunk)
        rows = read_fast_path(number, chunk, self.form) if chunk else None
        if rows is None:
            widths = sorted({form.width for form in self._forms})
            rows = read_slow_path(number, chunk, self.form, widths, self._tally)
        self._keep(rows)
        return self._is_within_lines(number + n_lines(chunk) - 1)

    def _keep(self, rows: Rows) -> None:
        self._parts.append(rows)
        self._n_rows += len(rows.score)
        for tag, (n, first) in rows.tags.items():
            before, first_of_all = self.tags.get(tag, (0, first))
            self.tags[tag] = (before + n, first_of_all)

    def _is_within_lines(self, number: int) -> bool:
        """Whether to read on; `Expected.most_lines` gives the limit."""
        most = self._expected.most_lines(self._limits)
        if number <= most:
            return True
        self._tally.error(
            "too-many-lines",
            f"The file has more than {most:,} lines; only the lines up to {number:,} were read.",
            "As many lines as topics times ranks."
            if self._expected.topics is not None
            else f"At most {most:,} lines.",
        )
        return False

    def _without_header(self, number: int, chunk: bytes) -> tuple[int, bytes]:
        """The chunk, and the number of its first line, after a first line that names the columns."""
        assert self.form is not None
        start = len(chunk) - len(chunk.lstrip())
        end = chunk.index(b"\n", start) + 1
        words = chunk[start:end].split()
        if len(words) != self.form.width or not HEADER_WORDS & {word.lower() for word in words}:
            return number, chunk
        if RANK.fullmatch(words[self.form.rank]) or SCORE.fullmatch(words[self.form.score]):
            return number, chunk
        line = number + chunk.count(b"\n", 0, start)
        self._tally.warning(
            "header", "the line names the columns and was skipped", "No header.", line, is_repairable=True
        )
        return number + chunk.count(b"\n", 0, end), chunk[end:]

    def _note_lines(self, notes: LineNotes) -> None:
        if notes.n_too_long:
            self._tally.error(
                "line-too-long",
                f"the line has more than {self._limits.max_line:,} bytes",
                f"At most {self._limits.max_line:,} bytes per line.",
                n=notes.n_too_long,
                numbers=notes.too_long,
            )
        warnings = (
            ("bom", notes.has_bom, "the byte-order mark before the first line was skipped", 1),
            (
                "encoding-converted",
                notes.encoding,
                f"the text was converted from {notes.encoding}",
                1,
            ),
            ("line-ends", notes.n_crlf, "lines end with CR LF, as on Windows", notes.n_crlf),
            ("line-ends-cr", notes.n_cr, "lines end with CR alone, as on old Macs", notes.n_cr),
            ("final-newline", not notes.has_final_newline, "the last line has no line end", 1),
        )
        for code, is_present, message, n in warnings:
            if is_present:
                self._tally.warning(
                    code, message, "UTF-8 text, each line ended with LF.", n=n, is_repairable=True
                )


def _detect_form(chunk: bytes, forms: list[LineForm]) -> LineForm:
    """The form that most of the first lines have; the protocol's first form if no line has any."""
    lines = [line.split() for line in chunk[: SAMPLE * 200].split(b"\n")[:SAMPLE]]
    counts = Counter(len(words) for words in lines if words)
    return max(forms, key=lambda form: counts[form.width])


def _joined(parts: list[Rows]) -> RunRows:
    """All parts as one, with topics numbered in the order of their first lines."""
    if not parts:
        return NO_ROWS
    numbers: dict[bytes, int] = {}
    index = []
    for part in parts:
        renumbered = np.array([numbers.setdefault(code, len(numbers)) for code in part.codes], dtype=np.int32)
        index.append(renumbered[part.topic_index] if len(renumbered) else part.topic_index)
    posts = [part.post for part in parts if part.post is not None]
    return RunRows(
        [code.decode() for code in numbers],
        np.concatenate(index),
        np.concatenate([part.docno for part in parts]),
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.number for part in parts]),
        np.concatenate(posts) if posts else None,
    )
