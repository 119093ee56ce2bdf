"""Reads topic codes: from the topics of TREC, from XML whose topics have a `number` or `num`, JSON lines or an
array, a table, or a list.

A table has a header that names the code and a text (`assay.formats.names`). A list has one code per line, before white
space.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lxml import etree

from assay.errors import InputError
from assay.formats import names
from assay.formats.compression import Limits, opened, unpack
from assay.formats.documents.batch import Malformed
from assay.formats.markup import xml_root
from assay.formats.text import decoded, lines_of
from assay.formats.topics import tables, trec


class TopicListError(InputError):
    """A file contains no topic codes."""


def read_topic_codes(path: Path) -> list[str]:
    """The codes, in the order of the file; it may be compressed.

    Raises:
        TopicListError: The file is not well-formed XML, or contains no topic, or TREC's topics in it have
            errors.
        Unreadable: The file is damaged.
        OSError: The file cannot be read.
    """
    with opened(path, Limits()) as file:
        data = b"".join(unpack(file, Limits(), name=path.name))
    data, _ = decoded(data, path.name)
    text = data.decode()
    if trec.is_marked(text) or trec.is_colon_lines(text):
        reading = trec.read_text(text)
        if reading.complaints:
            raise TopicListError(f"{path.name}: {reading.complaints[0]}")
        return [row["code"] for _, row in reading.rows]
    first = data.lstrip()[:1]
    if first == b"<":
        try:
            root = xml_root(data)
        except etree.XMLSyntaxError as error:
            raise TopicListError(f"{path.name}: not well-formed XML: {error}") from None
        topics = [node for node in root.iter(etree.Element) if etree.QName(node).localname.lower() == "topic"]
        given = ((node.get("number") or node.findtext("{*}num") or "").strip() for node in topics)
        codes = [code for code in given if code]
    elif first in {b"{", b"["}:
        codes = _from_json(data, path.name, is_array=first == b"[")
    else:
        codes = _from_list(data, path.name)
    if not codes:
        accepted = "topic XML, JSON lines, a table with a header, or a list with one code per line"
        raise TopicListError(f"{path.name}: no topics; use {accepted}")
    return codes


def _from_json(data: bytes, name: str, *, is_array: bool) -> list[str]:
    codes = []
    try:
        lines = [] if is_array else data.splitlines()
        rows: Iterable[Any] = (json.loads(line) for line in lines if line.strip())
        for row in (row for _, row in tables.rows_of_array(data)) if is_array else rows:
            keys = tuple(row)
            code = row[keys[names.places(keys, "topics")["code"]]]
            if isinstance(code, bool) or not isinstance(code, str | int):
                raise TypeError
            codes.append(str(code).strip())
    except Malformed as fault:
        raise TopicListError(f"{name}, line {fault.n_lines + 1}: {fault.message}") from None
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        accepted = ", ".join(names.TOPICS["code"].names)
        form = "an array of objects" if is_array else "one JSON object per line"
        message = f"{name}: not {form} with a code, which may be named {accepted}"
        raise TopicListError(message) from None
    return codes


def _from_list(data: bytes, name: str) -> list[str]:
    text = data.decode()
    if names.table_of_topics(text) is not None:
        try:
            rows, _ = tables.read_table(text)
        except Malformed as fault:
            raise TopicListError(f"{name}, line {fault.n_lines + 1}: {fault.message}") from None
        codes = (row.get("code", "").strip('"') for _, row in rows)
        return [code for code in codes if code]
    return [line.split()[0] for line in lines_of(text) if line.strip()]
