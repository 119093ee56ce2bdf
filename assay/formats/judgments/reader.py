"""Reads judgments: Assay's own files (CSV and lines of JSON), Turkle's results, BOLT's XML, and qrels.

The content decides which of them a file is. Our own CSV needs the columns topic, docno, assessor and grade or choice;
Turkle's results (and Mechanical Turk's, which look the same) have the columns of the tasks as `Input.*` and the fields
of the form as `Answer.*`. Their names depend on the project: usual ones are recognized, others have to be named. BOLT's
XML is a pool or a submission in which assessors filled in `rel`. It names no assessor, like qrels, so the caller does.
A file with an error is refused as a whole, with every wrong line.
"""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from io import BytesIO, TextIOWrapper
from typing import BinaryIO

from assay.errors import InputError
from assay.formats import names as usual_names
from assay.formats.compression import BLOCK
from assay.formats.judgments.cells import ANSWER_TO, Wrong, row_of
from assay.formats.judgments.rows import COLUMNS, JudgmentFile, JudgmentRow, JudgmentStream, cell_of
from assay.formats.kinds import HEAD, looks_like
from assay.formats.qrels.cites import judged_cites
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import (
    COMPLAINTS_KEPT,
    NO_CITES,
    Complaint,
    QrelsError,
    parse_qrels,
)
from assay.formats.qrels.tables import header_of
from assay.formats.sheets import read_sheet
from assay.formats.spreadsheet import long_cells
from assay.formats.text import Undecodable, decoded, first_messages

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # half of a pair, as JSON escapes it
LONGEST_CELL = 16 << 20  # characters; Turkle repeats the text of a document in each row
NEEDED = ("topic", "docno", "assessor")
ANSWERS = ("choice", "grade")
MAPPED = (*NEEDED, "grade", "comment")  # fields whose column the user can name; and `answers.QUESTION`
ACCEPTED = (
    "accepted: CSV with the columns topic, docno, assessor and grade or choice; Assay's lines of JSON; Turkle's "
    "results; BOLT's XML of judged citations; qrels"
)
INPUT, ANSWER = "input.", "answer."
USERNAME, WORKER = "Turkle.Username", "WorkerId"
TURKLE_COLUMNS = {"accepted_at": "AcceptTime", "judged_at": "SubmitTime", "seconds": "WorkTimeInSeconds"}
TURKLE_NAMES = {
    "topic": (INPUT, (*usual_names.QRELS["topic"].names, "topicid", "topic_code", "topic_number")),
    "docno": (INPUT, (*usual_names.QRELS["docno"].names, "document", "document_id", "answer_id", "postid")),
    "grade": (ANSWER, (*usual_names.QRELS["grade"].names, "rating", "label", "judgment", "choice", "answer")),
    "comment": (ANSWER, ("comment", "comments", "note", "notes", "remark", "remarks")),
}


class JudgmentsError(InputError):
    """A file of judgments has errors. `complaints` has the first hundred of `n_complaints`."""

    def __init__(self, name: str, complaints: Sequence[Complaint], *, n_complaints: int = 0) -> None:
        self.name = name
        self.complaints = list(complaints)
        self.n_complaints = n_complaints or len(self.complaints)
        shown, n_more = first_messages(self.complaints, self.n_complaints)
        super().__init__(f"{name}: {'; '.join(shown)}" + (f"; and {n_more} more" if n_more else ""))
        self.errors = [
            {"line": complaint.line or None, "code": "line", "message": complaint.message}
            for complaint in self.complaints
        ]


def parse_judgments(
    data: bytes, name: str, *, judge: str = "", columns: Mapping[str, str] | None = None
) -> JudgmentFile:
    """The judgments of a file with the given content.

    Args:
        name: of the file, for messages.
        judge: the assessor of qrels.
        columns: the column of a field, such as {"topic": "Input.qid"}, where its name does not tell.

    Raises:
        JudgmentsError: The file has another format, a column is missing, or lines are wrong.
    """
    stream = open_judgments(BytesIO(data), name, judge=judge, columns=columns)
    return JudgmentFile(name, stream.form, list(stream.rows), stream.columns)


def open_judgments(
    file: BinaryIO, name: str, *, judge: str = "", columns: Mapping[str, str] | None = None
) -> JudgmentStream:
    """The judgments of a seekable file, read one after another: the memory does not grow with the file.

    The rows end with a `JudgmentsError` if some line is wrong. The arguments and errors are those of `parse_judgments`.
    """
    columns, file = columns or {}, in_utf8(file, name)
    if not columns and (looks := looks_like(_head(file), "judgments", "qrels")):
        raise JudgmentsError(name, [Complaint(0, f"the file has no judgments. {looks}")])
    if _starts_with(file, "{"):
        return JudgmentStream(name, "assay-jsonl", _rows(name, "assay-jsonl", _json_cells(file)))
    if _starts_with(file, "<"):
        return JudgmentStream(name, "bolt-xml", _cites(file, name, judge or name))
    header = _header(file)
    if not columns and not _is_turkle(header) and _is_qrels(file, header):
        return JudgmentStream(name, "qrels", _qrels(file, name, judge or name))
    form, places = _columns(name, header, columns)
    return JudgmentStream(name, form, _rows(name, form, _csv_cells(file, header, places)), places)


def header_of_judgments(file: BinaryIO) -> list[str]:
    """The columns of a CSV file, for a choice of them; empty for lines of JSON, XML, and what is not text."""
    try:
        text = in_utf8(file, "")
    except JudgmentsError:
        return []
    return (
        [] if _starts_with(text, "{") or _starts_with(text, "<") else [name for name in _header(text) if name]
    )


def in_utf8(file: BinaryIO, name: str) -> BinaryIO:
    """The file, or its text in memory if it is not plain UTF-8 with at most one byte-order mark, at its start."""
    file.seek(0)
    decoder = getincrementaldecoder("utf-8")()
    block, is_plain = b"", True
    while is_plain and (more := file.read(BLOCK)):
        try:
            decoder.decode(more)
        except UnicodeDecodeError:
            is_plain = False
        seam, block = block[-4:] + more, more
        is_plain = is_plain and not any(odd in seam for odd in (b"\n\xef\xbb\xbf", b"\x1a", b"\0"))
    if is_plain and not decoder.getstate()[0]:
        return file
    file.seek(0)
    try:
        return BytesIO(decoded(file.read(), name).data)
    except Undecodable as error:
        raise JudgmentsError(name, [Complaint(0, error.reason)]) from None


def lines_in(file: BinaryIO, newline: str = "") -> Generator[str, None, None]:
    """The lines, decoded one after another: the text of a file takes up to four times its size."""
    file.seek(0)
    text = TextIOWrapper(file, encoding="utf-8-sig", newline=newline)
    try:
        for line in text:  # noqa: UP028  # `yield from` would close the file
            yield line
    finally:
        text.detach()


def _starts_with(file: BinaryIO, first: str) -> bool:
    with closing(lines_in(file)) as lines:
        return next((line.lstrip()[:1] for line in lines if line.strip()), "") == first


def _head(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(HEAD)


def _header(file: BinaryIO) -> list[str]:
    with long_cells(LONGEST_CELL), closing(lines_in(file)) as lines:
        return read_sheet(lines).header


def _is_qrels(file: BinaryIO, header: Sequence[str]) -> bool:
    """Four columns, or a table of grades without an assessor."""
    head = _head(file).removeprefix(b"\xef\xbb\xbf")
    if header_of(head) is not None:
        return "assessor" not in usual_names.places(header, "judgments")
    if set(header) & {*NEEDED, *ANSWERS}:
        return False
    line = head.lstrip()[:1000].split(b"\n", 1)[0]
    return line.startswith(b"#") or len(line.split()) == 4


def read_qrels(file: BinaryIO, name: str) -> QrelsColumns:
    """Qrels that are judgments; errors are those of judgments."""
    file.seek(0)
    try:
        return parse_qrels(file.read())
    except QrelsError as error:
        raise JudgmentsError(name, error.complaints, n_complaints=error.n_complaints) from None


def _qrels(file: BinaryIO, name: str, judge: str) -> Iterator[JudgmentRow]:
    for topic, docno, grade in read_qrels(file, name).rows():
        yield JudgmentRow(topic, docno.decode(), judge, grade=grade if grade >= 0 else None)


def _cites(file: BinaryIO, name: str, judge: str) -> Iterator[JudgmentRow]:
    """The judged citations of BOLT's XML; their other attributes are answers."""
    file.seek(0)
    complaints, rows = [], []
    for line, cite in judged_cites(file.read()):
        if isinstance(cite, str):
            complaints.append(Complaint(line, cite))
        elif len(cite.topic.split()) != 1 or len(cite.docno.split()) != 1:
            complaints.append(Complaint(line, "topic and docno must be words, without white space"))
        else:
            answers = cite.cited.answers
            rows.append(
                JudgmentRow(cite.topic, cite.docno, judge, line=line, choice=cite.rel, answers=answers)
            )
    if complaints or not rows:
        complaints = complaints or [Complaint(0, NO_CITES)]
        raise JudgmentsError(name, complaints[:COMPLAINTS_KEPT], n_complaints=len(complaints))
    yield from rows


def _columns(name: str, header: Sequence[str], given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The form of a CSV file, and the column of each field."""
    for of_field, column in given.items():
        if of_field not in MAPPED and not of_field.startswith(ANSWER_TO):
            accepted = f"{', '.join(MAPPED)} or {ANSWER_TO}QUESTION"
            raise InputError(f"no column can be named for {of_field!r}; use {accepted}")
        if column not in header:
            raise JudgmentsError(
                name, [Complaint(1, f"no column {column!r}; the columns are {', '.join(header)}")]
            )
    if _is_turkle(header):
        form, places = "turkle", _turkle_columns(header) | dict(given)
    else:
        form, places = "assay-csv", _own_columns(header) | dict(given)
    missing = [column for column in NEEDED if column not in places]
    if not any(answer in places for answer in ANSWERS):
        missing.append("grade")
    if missing and form == "turkle":
        names = [column for column in header if column.startswith(("Input.", "Answer."))]
        message = (
            f"name the column of {' and of '.join(missing)}; Turkle's are {', '.join(names) or 'missing'}"
        )
        raise JudgmentsError(name, [Complaint(1, message)])
    if missing:
        named = ", ".join(header[:20])[:300] or "nothing"
        needed = "expected the columns topic, docno, assessor, grade"
        hint = (
            "; name the column of docno as topic too if there are no topics" if missing == ["topic"] else ""
        )
        message = f"{needed}; {' and '.join(missing)} missing{hint}: got {named}; {ACCEPTED}"
        raise JudgmentsError(name, [Complaint(1, message)])
    return form, places


def _own_columns(header: Sequence[str]) -> dict[str, str]:
    """The column of each field of our own files, in any case of letters; the main ones may have any usual name."""
    own = {usual_names.normal(name): name for name in reversed(header)}
    usual = {field: header[place] for field, place in usual_names.places(header, "judgments").items()}
    return usual | {column: own[column] for column in COLUMNS if column in own}


def _is_turkle(header: Sequence[str]) -> bool:
    """Return whether these are the columns of Turkle's results."""
    has_worker = USERNAME in header or WORKER in header
    return has_worker and any(name.lower().startswith(ANSWER) for name in header)


def _turkle_columns(header: Sequence[str]) -> dict[str, str]:
    """The column of each field, where the header has a usual name for it."""
    lower = {name.lower(): name for name in header}
    columns = {of_field: column for of_field, column in TURKLE_COLUMNS.items() if column in header}
    columns["assessor"] = USERNAME if USERNAME in header else WORKER
    for of_field, (prefix, usual) in TURKLE_NAMES.items():
        column = next((lower[prefix + name] for name in usual if prefix + name in lower), None)
        if column is not None:
            columns[of_field] = column
    return columns


Cells = tuple[int, dict[str, str] | Wrong]  # line, and the cells by field or what is wrong


def _csv_cells(file: BinaryIO, header: list[str], places: Mapping[str, str]) -> Iterator[Cells]:
    at = {of_field: header.index(column) for of_field, column in places.items()}
    with long_cells(LONGEST_CELL), closing(lines_in(file)) as lines:
        for line, cells in read_sheet(lines).rows:
            if isinstance(cells, str):
                yield line, Wrong(cells)
            else:
                yield line, {of_field: cells[place] for of_field, place in at.items()}


def _json_cells(file: BinaryIO) -> Iterator[Cells]:
    with closing(lines_in(file, newline="\n")) as lines:
        for line, content in enumerate(lines, 1):
            if content.strip():
                yield line, _json_line(content)


def _json_line(content: str) -> dict[str, str] | Wrong:
    try:
        values = json.loads(content)
    except ValueError as error:
        return Wrong(f"not a line of JSON: {error}")
    except RecursionError:
        return Wrong("not a line of JSON: nested too deeply")
    if not isinstance(values, dict):
        return Wrong("expected an object with the keys topic, docno, assessor and grade or choice")
    if SURROGATE.search(content):
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return Wrong("a text has half of a surrogate pair, such as \\ud83d")
    return {key: cell_of(value) for key, value in values.items() if key in COLUMNS}


def _rows(name: str, form: str, records: Iterator[Cells]) -> Iterator[JudgmentRow]:
    """The rows until a line is wrong. Then the others are only checked, and named in an error at the end."""
    complaints: list[Complaint] = []
    n_complaints = 0
    for line, cells in records:
        row = cells if isinstance(cells, Wrong) else row_of(cells, form, line)
        if isinstance(row, Wrong):
            n_complaints += 1
            if len(complaints) < COMPLAINTS_KEPT:
                complaints.append(Complaint(line, row.message))
        elif not complaints:
            yield row
    if complaints:
        raise JudgmentsError(name, complaints, n_complaints=n_complaints)
