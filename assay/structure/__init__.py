"""Makes dataclasses from TOML files and the data of JSON, and describes them as JSON Schema.

The fields of a dataclass are the keys, their annotations the types, and a field with a default may be left out. The
metadata `key` of a field is the key if it has another name than the field; a field whose key is empty is not read. All
wrong keys and values are reported together, each with its place: `runs.kind[2].depth` is the depth of the second
`[[runs.kind]]`.
"""

from assay.structure.declarations import Key, OneOf, keys, may_be_left_out, table_in, words
from assay.structure.json_schemas import json_schema
from assay.structure.reading import (
    WrongStructure,
    is_number,
    is_whole,
    line_complaints,
    shown,
    strict_json,
    structured,
)
from assay.structure.toml_files import decoded, line_of, read_toml

__all__ = [
    "Key",
    "OneOf",
    "WrongStructure",
    "decoded",
    "is_number",
    "is_whole",
    "json_schema",
    "keys",
    "line_complaints",
    "line_of",
    "may_be_left_out",
    "read_toml",
    "shown",
    "strict_json",
    "structured",
    "table_in",
    "words",
]
