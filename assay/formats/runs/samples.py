"""Writes a small run that a protocol accepts, for participants to try their submission with."""

from collections.abc import Sequence
from typing import NamedTuple

from lxml import etree

from assay.formats.runs.forms import LineForm, forms_of
from assay.protocols.schema import Protocol

TAG = "sample-run"
N_UNITS = 3  # per topic
ENDINGS = {b"\t": "tsv", b",": "csv", b";": "csv"}
PASSAGE = "Replace this text by the passage."


class Unit(NamedTuple):
    """What a line ranks: its docno; for a formula the docno of its post."""

    docno: str
    post: str = ""


def placeholders(protocol: Protocol) -> list[Unit]:
    """Units for a track whose collection is not loaded, so that docnos are not looked up."""
    if protocol.cites_posts:
        return [Unit(f"thread-{n}:p1:0:{len(PASSAGE)}") for n in range(1, N_UNITS + 1)]
    return [Unit(f"doc-{n}", f"post-{n}") for n in range(1, N_UNITS + 1)]


def sample_run(protocol: Protocol, topics: Sequence[str], units: Sequence[Unit]) -> tuple[str, bytes]:
    """The extension and the content of a run in the protocol's first format that ranks some units for each topic.

    `units` are at most as many as the protocol has ranks.
    """
    form = forms_of(protocol)[0]
    units = units[: protocol.runs.max_ranks]
    scores = _scores(protocol, len(units))
    if isinstance(form, LineForm):
        return ENDINGS[form.separator], _lines(form, topics, units, scores)
    if form.name == "bolt-xml":
        root = _bolt(protocol.runs.keys[0], topics, units, scores)
    else:
        root = _ntcir(topics, units, scores)
    return "xml", etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)


def _scores(protocol: Protocol, n: int) -> list[float]:
    """Falling scores in the range of the protocol."""
    low, high = protocol.runs.min_score, protocol.runs.max_score
    low = 0.0 if low is None else low
    high = low + 1.0 if high is None else high
    return [high - (high - low) * place / (n + 1) for place in range(n)]


def _lines(form: LineForm, topics: Sequence[str], units: Sequence[Unit], scores: Sequence[float]) -> bytes:
    return b"".join(
        form.line(topic.encode(), unit.docno.encode(), rank, score, TAG.encode(), unit.post.encode())
        for topic in topics
        for rank, (unit, score) in enumerate(zip(units, scores, strict=True), 1)
    )


def _ntcir(topics: Sequence[str], units: Sequence[Unit], scores: Sequence[float]) -> "etree._Element":
    root = etree.Element("results")
    run = etree.SubElement(root, "run", runtag=TAG)
    for topic in topics:
        result = etree.SubElement(run, "result", {"for": topic})
        for rank, (unit, score) in enumerate(zip(units, scores, strict=True), 1):
            etree.SubElement(result, "hit", xref=unit.docno, rank=str(rank), score=repr(score))
    return root


def _bolt(
    kind: str, topics: Sequence[str], units: Sequence[Unit], scores: Sequence[float]
) -> "etree._Element":
    described = {"team": "Sample", "date": "2026-01-01", "eval": "P3", "subtask": "main"}
    contact = "you@example.org"
    root = etree.Element("bolt-ir-submission", described | {"run": kind, "contact": contact})
    for topic in topics:
        response = etree.SubElement(root, "response", number=topic)
        for unit, score in zip(units, scores, strict=True):
            thread, post, offset, length = unit.docno.rsplit(":", 3)
            place = {"thread": thread, "post": post, "offset": offset, "length": length}
            etree.SubElement(response, "cite", {"score": repr(score)} | place).text = PASSAGE
    return root
