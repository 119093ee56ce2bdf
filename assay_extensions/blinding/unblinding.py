"""Names in place of pseudonyms: in tables with columns, in CSV, and in JSON."""

import csv
import json
from io import StringIO
from typing import Any

from assay.errors import InputError
from assay.formats.spreadsheet import as_csv
from assay.structure import strict_json
from assay_extensions.blinding.pseudonyms import BlindMap
from assay_extensions.blinding.words import Terms


class Unblinder:
    """Puts the names of a map in place of its pseudonyms."""

    def __init__(self, blind: BlindMap) -> None:
        self._names = blind.names
        self._terms = Terms(self._names)

    def text(self, text: str) -> str:
        """A table of lines; a name of several words becomes one, with underscores."""
        return self._terms.replaced(text, {name: "_".join(of.split()) for name, of in self._names.items()})

    def file(self, text: str, name: str) -> str:
        """The content of a file, by the end of its name.

        Raises InputError: it cannot be read.
        """
        if name.endswith((".json", ".jsonl")):
            try:
                documents = [strict_json(text)] if name.endswith(".json") else list(self._lines(text))
            except (ValueError, RecursionError) as error:
                raise InputError(f"{name}: not JSON: {error}") from None
            indent = 1 if name.endswith(".json") else None
            return "".join(
                json.dumps(self._value(value), ensure_ascii=False, indent=indent) + "\n"
                for value in documents
            )
        if name.endswith(".csv"):
            try:
                header, *rows = csv.reader(StringIO(text, newline=""), strict=True)
            except (csv.Error, ValueError) as error:
                raise InputError(f"{name}: not CSV: {error}") from None
            return as_csv([self._cell(cell) for cell in header], [[*map(self._cell, row)] for row in rows])
        return self.text(text)

    def _lines(self, text: str) -> list[Any]:
        return [strict_json(line) for line in text.splitlines() if line.strip()]

    def _cell(self, text: str) -> str:
        return self._terms.replaced(text, self._names)

    def _value(self, value: object) -> Any:
        if isinstance(value, str):
            return self._cell(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self._cell(key): self._value(item) for key, item in value.items()}
        return value
