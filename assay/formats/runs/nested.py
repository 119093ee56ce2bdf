"""Reads runs in JSON, as ranx writes them: `{topic: {document: score}}`.

Such a file has neither tag nor ranks. Where a protocol accepts lines with scores, it is read like them. A complaint has
the line of the document in the file; often, all are in one line.
"""

import json
import math
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.formats.compression import Limits, Unreadable
from assay.formats.reports import Tally
from assay.formats.runs.rows import MAX_DOCNO, MAX_NAME, byte_strings
from assay.formats.runs.rules import NO_ROWS, Expected, JsonForm, RunRows
from assay.formats.text import Undecodable, decoded
from assay.formats.tokens import is_word
from assay.structure import is_number, strict_json

MAX_UPLOAD = 64 << 20  # bytes of text; objects of JSON take many times as much memory
ACCEPTED = "{topic: {document: score}}, with each topic and document once."
# A string of JSON, and whether it is a key: in a file of the form, a topic or a document.
STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*+:)?')


class Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, in their order; a key may occur twice."""


class NestedReader:
    """Reads one file of JSON."""

    def __init__(self, form: JsonForm, expected: Expected, limits: Limits, tally: Tally) -> None:
        self.form = form
        self.tags: dict[bytes, tuple[int, int]] = {}
        self.tag = self.kind = ""
        self._expected, self._limits, self._tally = expected, limits, tally
        self._tally.can_repair = False  # repaired files are written in lines
        self._rows: list[tuple[int, bytes, float, int]] = []
        self._topics: dict[str, int] = {}

    def read(self, blocks: Iterator[bytes]) -> bool:
        """Read the file; False if it is not of the form. `blocks` may raise `Unreadable`."""
        data = bytearray()
        for block in blocks:
            data += block
            if len(data) > MAX_UPLOAD and self._limits.max_text < math.inf:
                most = f"{MAX_UPLOAD >> 20} MB"
                raise Unreadable(
                    "text-too-large", f"The JSON has more than {most}.", f"At most {most}; or lines."
                )
        try:
            text = decoded(bytes(data)).text
            topics = strict_json(text, pairs=Pairs)
        except Undecodable as error:
            raise Unreadable("encoding", error.reason, ACCEPTED) from None
        except json.JSONDecodeError as error:
            note = f"column {error.colno}: {error.msg}"
            self._tally.error("json", "the file is not JSON", ACCEPTED, error.lineno, note=note)
            return False
        except (ValueError, RecursionError):  # not a number of JSON, or nested too deeply
            self._tally.error("json", "the file is not JSON", ACCEPTED)
            return False
        if not isinstance(topics, Pairs) or not all(isinstance(inner, Pairs) for _, inner in topics):
            self._tally.error("json", "the file is not an object of objects", ACCEPTED, 1)
            return False
        self._take(topics, lines_of_keys(text))
        if not self._rows and not self._tally.has_errors:
            self._tally.error("empty", "The file ranks no document.", "At least one.")
        return True

    def _take(self, topics: Pairs, numbers: Iterator[int]) -> None:
        for topic, documents in topics:
            number = next(numbers)
            is_usable = self._is_name(topic, "topic", MAX_NAME, number)
            if topic in self._topics:
                self._tally.error("repeated", f"the topic “{topic[:40]}” occurs twice", ACCEPTED, number)
            index = self._topics.setdefault(topic, len(self._topics)) if is_usable else -1
            for docno, score in documents:
                number = next(numbers)
                is_named = self._is_name(docno, "docno", MAX_DOCNO, number)
                if not (is_number(score) and abs(score) <= sys.float_info.max):
                    message, fault = f"score {score!r:.40} is not a number", "the score is not a number"
                    self._tally.error("score", message, "A number such as 12.5.", number, fault=fault)
                elif is_usable and is_named:
                    self._rows.append((index, docno.encode(), float(score), number))

    def _is_name(self, word: str, field: str, most: int, number: int) -> bool:
        is_name = is_word(word, most)
        if not is_name:
            accepted = f"One word of at most {most} bytes."
            self._tally.error(
                "name", f"the {field} is not a name", accepted, number, note=json.dumps(word)[:60]
            )
        return is_name

    def rows(self) -> RunRows:
        """Return all rows and forget them."""
        if not self._rows:
            return NO_ROWS
        index, docno, score, number = zip(*self._rows, strict=True)
        self._rows.clear()
        zeros = np.zeros(len(docno), dtype=np.int32)
        numbers = np.array(number, dtype=np.int64)
        return RunRows(
            list(self._topics),
            np.array(index, dtype=np.int32),
            byte_strings(docno),
            zeros,
            np.array(score),
            numbers,
        )


def lines_of_keys(text: str) -> Iterator[int]:
    """Yield the number of the line of each key."""
    number, end = 1, 0
    for match in STRING.finditer(text):
        if match[1]:
            number += text.count("\n", end, match.start())
            end = match.start()
            yield number
