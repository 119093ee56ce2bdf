"""Dump files that tests write, and a simple parser with which an import is compared."""

from html import escape
from pathlib import Path
from typing import Any

from lxml import etree

HEAD = '\ufeff<?xml version="1.0" encoding="utf-8"?>\n'


def row(**attributes: object) -> str:
    parts = (f'{name}="{escape(str(value)).replace(chr(10), "&#xA;")}"' for name, value in attributes.items())
    return f"  <row {' '.join(parts)} />\n"


def question(docno: object, **attributes: object) -> str:
    defaults = {
        "Id": docno,
        "PostTypeId": 1,
        "Title": f"Question {docno}",
        "Body": f"<p>Body {docno}</p>",
        "Score": 1,
    }
    return row(**(defaults | {"CreationDate": "2019-01-02T03:04:05.678", "Tags": "<a><b>"} | attributes))


def answer(docno: object, parent: object, **attributes: object) -> str:
    defaults = {"Id": docno, "PostTypeId": 2, "ParentId": parent, "Body": f"<p>Body {docno}</p>", "Score": 2}
    return row(**(defaults | {"CreationDate": "2019-01-03T03:04:05"} | attributes))


def dump(root: str, *rows: str) -> str:
    return f"{HEAD}<{root}>\n{''.join(rows)}</{root}>"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def many_posts(n: int) -> str:
    """Threads of one question and two answers with formulas; 24,000 posts fill several chunks."""
    body = (
        "<p>Let $x_{%d} \\in \\mathbb{R}$ be bounded.</p>\n" + "<p>Then it converges to a limit.</p>\n" * 20
    )
    rows = []
    for number in range(1, n + 1, 3):
        rows.append(question(number, Body=body % number, AcceptedAnswerId=number + 2))
        rows += [answer(number + i, number, Body=body % (number + i)) for i in (1, 2)]
    return dump("posts", *rows)


def plain_rows(path: Path) -> list[dict[str, Any]]:
    """All rows of a dump file, read by lxml at once, independently of the importer."""
    return [dict(element.attrib) for element in etree.parse(path, etree.XMLParser()).getroot().iter("row")]
