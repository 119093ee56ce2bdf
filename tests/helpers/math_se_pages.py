"""Real pages of Math Stack Exchange in `data/arqmath`, converted back into dump files.

Each page is `{question}_{answer}.html`: a question, one of its answers, their comments, duplicate and related rows.
Their formulas are MathML; the dump gets the LaTeX from the attribute `alttext` of the MathML.
"""

import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from lxml import html

Row = dict[str, str]


@dataclass
class Dump:
    """Rows of Posts.xml, Comments.xml and PostLinks.xml by their ids."""

    posts: dict[str, Row] = field(default_factory=dict)
    comments: dict[str, Row] = field(default_factory=dict)
    links: dict[tuple[str, str, str], Row] = field(default_factory=dict)

    def write(self, folder: Path) -> list[Path]:
        """Write the three files in ARQMath's form, and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        files = {"Posts": self.posts, "Comments": self.comments, "PostLinks": self.links}
        return [_write(folder / f"{name}.xml", rows.values()) for name, rows in files.items()]


def read_dump(archive: Path, answers: Collection[str]) -> Dump:
    """The dump rows of the pages of some answers."""
    dump = Dump()
    for question, answer, page in _pages(archive, answers):
        _add_page(dump, question, answer, html.fromstring(page))
    return dump


def _pages(archive: Path, answers: Collection[str]) -> Iterator[tuple[str, str, bytes]]:
    with tarfile.open(archive) as pages:
        for member in pages:
            question, _, answer = Path(member.name).stem.partition("_")
            content = pages.extractfile(member) if answer in answers else None
            if content is not None:
                yield question, answer, content.read()


def _add_page(dump: Dump, question: str, answer: str, page: html.HtmlElement) -> None:
    title = _inner(page.xpath("//div[@id='question-title']/h1")[0])
    tags = "".join(f"<{tag.text.strip()}>" for tag in page.xpath("//div[@id='tags']/span"))
    body = _inner(page.xpath("//div[@id='question']")[0])
    dump.posts[question] = {
        "Id": question,
        "PostTypeId": "1",
        "Score": "3",
        "Title": title,
        "Body": body,
        "Tags": tags,
    }
    body = _inner(page.xpath("//div[@id='answer']")[0])
    dump.posts[answer] = {"Id": answer, "PostTypeId": "2", "ParentId": question, "Score": "2", "Body": body}
    for post, part in ((question, "question"), (answer, "answer")):
        for cell in page.xpath(f"//div[@id='{part}-comments']//td[@comment_id]"):
            code = cell.get("comment_id")
            dump.comments[code] = {"Id": code, "PostId": post, "Score": "0", "Text": _inner(cell)}
    for part, kind in (("duplicate", "3"), ("related", "1")):
        for cell in page.xpath(f"//div[@id='{part}']//td[@post_id]"):
            _add_link(dump, question, cell.get("post_id"), kind)


def _add_link(dump: Dump, source: str, target: str, kind: str) -> None:
    row = {"Id": str(len(dump.links) + 1), "PostId": source, "RelatedPostId": target, "LinkTypeId": kind}
    dump.links.setdefault((source, target, kind), row)


def _inner(element: html.HtmlElement) -> str:
    """The HTML inside an element, with LaTeX instead of MathML."""
    for math in element.xpath(".//math"):
        span = math.getparent()
        span.text = math.get("alttext")
        span.remove(math)
    parts = [element.text or "", *(html.tostring(child, encoding="unicode") for child in element)]
    return "".join(parts).strip()


def _write(path: Path, rows: "Collection[Row]") -> Path:
    lines = [
        "<row " + " ".join(f"{key}={quoteattr(value)}" for key, value in row.items()) + "/>" for row in rows
    ]
    root = path.stem.lower()
    path.write_text(
        "\n".join(['<?xml version="1.0" ?>', f"<{root}>", *lines, f"</{root}>\n"]), encoding="utf-8"
    )
    return path
