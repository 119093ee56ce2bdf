"""Reads topic codes: from the topics of TREC, from XML whose topics have a `number` or `num`, JSON lines or an
array, a table, or a list.

A table has a header that names the code and a text (`assay.formats.names`). A list has one code per line, before white
space.
"""

import json
from pathlib import Path
from typing import Any

from lxml import etree

from assay.errors import BadFile, InputError
from assay.formats import names
from assay.formats.compression import Limits, opened, unpack
from assay.formats.documents.batch import Malformed
from assay.formats.markup import xml_root
from assay.formats.topics import encoding, tables, trec


class TopicListError(InputError):
    """A file contains no topic codes."""


def read_topic_codes(path: Path) -> list[str]:
    """The codes, in the order of the file; it may be compressed.

    Raises:
        TopicListError: The file is not well-formed XML, is not UTF-8, or contains no topic, or TREC's topics in it have
            errors.
        Unreadable: The file is damaged.
        OSError: The file cannot be read.
    """
    with opened(path, Limits()) as file:
        data = b"".join(unpack(file, Limits(), name=path.name))
    data = encoding.in_utf8(data, path.name)
    text = data.decode(errors="replace")
    if trec.is_marked(text) or trec.is_colon_lines(text):
        try:
            text, _ = encoding.text_of(data, path.name)
        except BadFile as fault:
            raise TopicListError(fault.message) from None
        reading = trec.read_text(text)
        if reading.complaints:
            raise TopicListError(f"{path.name}: {reading.complaints[0]}")
        return [row["code"] for _, row in reading.rows]
    readers = {b"<": _from_xml, b"{": _from_json, b"[": _from_array}
    codes = readers.get(data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1], _from_list)(data, path.name)
    if not codes:
        accepted = "topic XML, JSON lines, a table with a header, or a list with one code per line"
        raise TopicListError(f"{path.name}: no topics; use {accepted}")
    return codes


def _from_json(data: bytes, name: str) -> list[str]:
    try:
        lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
        return [_code_of(json.loads(line)) for line in lines if line.strip()]
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        accepted = ", ".join(names.TOPICS["code"].names)
        message = f"{name}: not one JSON object per line with a code, which may be named {accepted}"
        raise TopicListError(message) from None


def _from_array(data: bytes, name: str) -> list[str]:
    try:
        return [_code_of(row) for _, row in tables.rows_of_array(data)]
    except Malformed as fault:
        raise TopicListError(f"{name}, line {fault.n_lines + 1}: {fault.message}") from None
    except (TypeError, KeyError):
        accepted = ", ".join(names.TOPICS["code"].names)
        message = f"{name}: not an array of objects with a code, which may be named {accepted}"
        raise TopicListError(message) from None


def _code_of(row: Any) -> str:
    keys = tuple(row)
    code = row[keys[names.places(keys, "topics")["code"]]]
    if isinstance(code, bool) or not isinstance(code, str | int):
        raise TypeError
    return str(code).strip()


def _from_xml(data: bytes, name: str) -> list[str]:
    try:
        root = xml_root(data)
    except etree.XMLSyntaxError as error:
        raise TopicListError(f"{name}: not well-formed XML: {error}") from None
    topics = [node for node in root.iter(etree.Element) if etree.QName(node).localname.lower() == "topic"]
    codes = [node.get("number") or node.findtext("{*}num") or "" for node in topics]
    return [code.strip() for code in codes if code.strip()]


def _from_list(data: bytes, name: str) -> list[str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TopicListError(f"{name}: not UTF-8 (byte {error.start + 1})") from None
    if names.table_of_topics(text) is not None:
        try:
            rows, _ = tables.read_table(text)
        except Malformed as fault:
            raise TopicListError(f"{name}, line {fault.n_lines + 1}: {fault.message}") from None
        codes = (row.get("code", "").strip('"') for _, row in rows)
        return [code for code in codes if code]
    return [line.split()[0] for line in text.splitlines() if line.strip()]
