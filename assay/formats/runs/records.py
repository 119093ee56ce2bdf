"""Reads runs of records: JSON lines, as PyTerrier, TIRA and Anserini exchange them, and Parquet, as ranx writes it.

A record is a ranked document, whose fields have names:

    {"qid": "A.1", "docno": "2190525", "rank": 1, "score": 12.5, "run": "bm25"}

Each field has the names of these programs. Other fields, the rank too, are skipped: the score decides. Where a protocol
accepts lines with scores, records are read like them. A complaint has the number of the line, in Parquet of the row.
"""

import json
import sys
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from assay.formats.compression import Limits, Unreadable
from assay.formats.reports import Tally
from assay.formats.runs.rows import MAX_DOCNO, MAX_NAME, MAX_TOPIC, byte_strings
from assay.formats.runs.rules import NO_ROWS, Expected, JsonForm, RunRows
from assay.formats.runs.text import Lines, complain_of_long_lines, warn_of_lines
from assay.formats.tokens import is_word
from assay.structure import is_number, is_whole, strict_json

NAMES: Mapping[str, tuple[str, ...]] = {
    "topic": ("topic", "qid", "query_id", "q_id", "topic_id"),
    "docno": ("docno", "docid", "doc_id", "did"),
    "score": ("score",),
    "tag": ("run", "run_id", "tag", "system"),
}
LONGEST = {"topic": MAX_TOPIC, "docno": MAX_DOCNO, "tag": MAX_NAME}
ACCEPTED = "Records with the fields qid, docno and score, such as {} and an optional run.".format(
    '{"qid": "A.1", "docno": "17", "score": 1.5}'
)
MAX_PARQUET = 512 << 20  # bytes of its columns, decompressed
BATCH = 50_000  # rows
INSTALL = 'pip install "assay[parquet]", for a site pip install -r requirements-parquet.txt; or JSON lines.'


def json_object(line: bytes, number: int, tally: Tally) -> dict[str, Any] | None:
    """The object in a line of JSON; None, and an error in the tally, if there is none."""
    accepted = "A JSON object in UTF-8 on each line."
    try:
        content = strict_json(line.decode())
    except UnicodeDecodeError as error:
        note = f"byte {error.start + 1}"
        tally.error("encoding", "the line is not UTF-8", accepted, number, note=note)
    except (ValueError, RecursionError) as error:
        note = f"column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        tally.error("json", "the line is not JSON", accepted, number, note=note)
    else:
        if isinstance(content, dict):
            return content
        tally.error("json", "the line is not a JSON object", accepted, number)
    return None


def is_records(first: bytes) -> bool:
    """Return whether the first line of a text is a record: an object with a topic or document."""
    try:
        content = strict_json(first.decode("utf-8-sig", "ignore").lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    names = (*NAMES["topic"], *NAMES["docno"])
    return isinstance(content, dict) and any(
        name in content and not isinstance(content[name], dict | list) for name in names
    )


class RecordReader:
    """Reads one file. `tags` gives for each tag the number of its records, and the first one."""

    def __init__(self, form: JsonForm, expected: Expected, limits: Limits, tally: Tally) -> None:
        self.form = form
        self.tags: dict[bytes, tuple[int, int]] = {}
        self.tag = self.kind = ""
        self._expected, self._limits, self._tally = expected, limits, tally
        self._tally.can_repair = False  # repaired files are written in lines
        self._topics: dict[str, int] = {}
        self._index, self._docno = array("i"), list[bytes]()
        self._score, self._number = array("d"), array("q")

    def read(self, blocks: Iterator[bytes]) -> bool:
        """Read JSON lines; False if there are too many. `blocks` may raise `Unreadable`."""
        lines = Lines(blocks, self._limits)
        for first, chunk in lines:
            for number, line in enumerate(chunk.split(b"\n"), first):
                if line.strip() and (record := json_object(line, number, self._tally)) is not None:
                    self._take({field: _value(record, field) for field in NAMES}, number)
            if not self._is_short(lines.n_read):
                return False
        complain_of_long_lines(lines.notes.too_long, self._limits, self._tally)
        warn_of_lines(lines.notes, self._tally)
        return True

    def read_parquet(self, file: BinaryIO) -> bool:
        """Read a Parquet file; False if it has too many rows.

        Raises:
            Unreadable: pyarrow is not installed, or the file is damaged, too large, or has other columns.
        """
        try:
            from pyarrow import ArrowException, types  # noqa: PLC0415 -- large and optional
            from pyarrow.parquet import ParquetFile  # noqa: PLC0415
        except ModuleNotFoundError:
            raise Unreadable("parquet", "The file is Parquet, which needs pyarrow here.", INSTALL) from None
        size = file.seek(0, 2)
        if size > self._limits.max_file:
            most = f"{self._limits.max_file / (1 << 20):.0f} MB"
            raise Unreadable("file-too-large", f"The file has more than {most}.", f"At most {most}.")
        file.seek(0)
        try:
            whole = ParquetFile(file)
            stored, schema = whole.metadata, whole.schema_arrow
            groups = [stored.row_group(number) for number in range(stored.num_row_groups)]
            if sum(group.total_byte_size for group in groups) > MAX_PARQUET:
                most = f"{MAX_PARQUET >> 20} MB"
                raise Unreadable("text-too-large", f"The columns have more than {most}.", f"At most {most}.")
            if not self._is_short(stored.num_rows):
                return False
            columns = {
                field: name
                for field in NAMES
                if (name := next((n for n in NAMES[field] if n in schema.names), ""))
            }
            if missing := [field for field in ("topic", "docno", "score") if field not in columns]:
                message = f"the columns {', '.join(schema.names)[:100]} have no {missing[0]}"
                self._tally.error("columns", message, ACCEPTED)
                return False
            # A word that a column repeats is stored once, so that no small file needs much memory.
            words = [name for name in columns.values() if types.is_string(schema.field(name).type)
                     or types.is_large_string(schema.field(name).type)]  # fmt: skip
            read = ParquetFile(file, read_dictionary=words)
            number = 0
            for batch in read.iter_batches(BATCH, columns=[*columns.values()]):
                parts = [_words(batch.column(name)) for name in columns.values()]
                for values in zip(*parts, strict=True):
                    number += 1
                    self._take(dict.fromkeys(NAMES) | dict(zip(columns, values, strict=True)), number)
        except (ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0][:100].rstrip(".")
            raise Unreadable("parquet", f"The Parquet file cannot be read: {reason}.", ACCEPTED) from None
        return True

    def _is_short(self, n: int) -> bool:
        if n > self._expected.max_lines:
            accepted = f"At most {self._expected.max_lines:,} lines."
            self._tally.error("too-many-lines", f"The file has more than {n:,} lines.", accepted)
            return False
        return True

    def _take(self, record: Mapping[str, object], number: int) -> None:
        """Keep a record; its wrong parts are noted in the tally."""
        topic, docno = self._name(record, "topic", number), self._name(record, "docno", number)
        tag = None if record["tag"] is None else self._name(record, "tag", number)
        score = record["score"]
        if tag is not None:
            n, first = self.tags.get(tag.encode(), (0, number))
            self.tags[tag.encode()] = (n + 1, first)
        if not (is_number(score) and abs(score) <= sys.float_info.max):
            message = "the score is missing" if score is None else f"score {score!r:.40} is not a number"
            fault = "the score is not a number"
            self._tally.error("score", message, "A number such as 12.5.", number, fault=fault)
        elif topic is not None and docno is not None:
            index = self._topics.setdefault(topic, len(self._topics))
            self._index.append(index)
            self._docno.append(docno.encode())
            self._score.append(score)
            self._number.append(number)

    def _name(self, record: Mapping[str, object], field: str, number: int) -> str | None:
        """The word in a field; None, and an error in the tally, if there is no word."""
        value = record[field]
        word = str(value) if is_whole(value) else value
        if isinstance(word, str) and is_word(word, LONGEST[field]):
            return word
        note = "missing" if value is None else json.dumps(value, default=str)[:60]
        names = " or ".join(NAMES[field])
        accepted = f"One word of at most {LONGEST[field]} bytes, in a field named {names}."
        self._tally.error("name", f"the {field} is not a name", accepted, number, note=note)
        return None

    def rows(self) -> RunRows:
        """Return all rows and forget them."""
        if not self._docno:
            if not self._tally.has_errors:
                self._tally.error("empty", "The file ranks no document.", "At least one.")
            return NO_ROWS
        docno = byte_strings(self._docno)
        self._docno.clear()
        return RunRows(
            list(self._topics),
            np.array(self._index, dtype=np.int32),
            docno,
            np.zeros(len(docno), dtype=np.int32),
            np.array(self._score, dtype=np.float64),
            np.array(self._number, dtype=np.int64),
        )


def _value(record: Mapping[str, object], field: str) -> Any:
    return next((record[name] for name in NAMES[field] if name in record), None)


def _words(column: Any) -> list[Any]:
    """The values of a column of Arrow; each distinct word is one object, cut after the longest name."""
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    words = [None if word is None else word[: MAX_TOPIC + 1] for word in column.dictionary.to_pylist()]
    return [None if place is None else words[place] for place in column.indices.to_pylist()]
