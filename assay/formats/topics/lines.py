r"""Reads topics in lines of text, as rows for `assay.formats.topics.reader`.

A topic per line: a code, a tab and a text; `301:title`; `20001:1:title` with the priority of TREC's Million Query
track; `<160>title` of the Genomics track; or `301 title`, if every line begins with another word that has a digit.

Text in blocks: the conversations of TREC CAsT (`Number: 31`, `Title: …`, `1. What are tides?`), and the topics of CLEF
TAR (`Topic: CD008686`, `Title: …`, `Query: …`, `Pids: …`), each block below the line with its code.

A list has a code per line, and no texts.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.formats import names
from assay.formats.text import lines_of
from assay.formats.topics import trec
from assay.formats.topics.objects import topics_of_conversation

Line = tuple[int, str]

_TAB = re.compile(r"([^\s<{\"'][^\t]*)\t(.*)")
_COLON = re.compile(r"([^\s:<{\"']+):[ \t]*(\S.*)")
_PRIORITY = re.compile(r"([1-9]):[ \t]*(\S.*)")
_ANGLES = re.compile(r"<(\d+)>[ \t]*(\S.*)")
_SPACE = re.compile(r"([^\s<{\"']++) +(\S.*)")
_SEPARATOR = re.compile("[,;]")  # in every code: a table without a header
_DIGIT = re.compile("[0-9]")
_QRELS = frozenset({"0", "q0", "iter"})  # second columns of qrels and runs
_HEADING = re.compile(r"(?:Topic|Number)[ \t]*:[ \t]*(\S+)[ \t]*", re.IGNORECASE)
_TURN = re.compile(r"(\d+(?:[-_]\d+)?)[.)]?[ \t]+(\S.*)")
_DOCUMENTS = "pids"  # of a topic of CLEF TAR: the documents to be screened
_FIELDS = frozenset(
    {"title", "description", "narrative", "query", "objective", "objectives", "background", _DOCUMENTS}
    | {"type of study", "participants", "index tests", "target conditions", "reference standards"}
)
_MARKUP = ("<", "{", "[")


def read_lines(text: str, *, is_formula: bool) -> trec.Reading | None:
    """The topics of lines; None if the text has none of these forms. After a tab is a formula, or else a title."""
    lines = [(n, line.strip(" ")) for n, line in enumerate(lines_of(text), 1) if line.strip()]
    if not lines:
        return None
    if pairs := _matched(_TAB, lines):
        key = "latex" if is_formula else "title"
        return trec.Reading([(n, {"code": code, key: rest.strip()}) for n, code, rest in pairs])
    lines = [(n, line.strip()) for n, line in lines]
    if _HEADING.fullmatch(lines[0][1]):
        return _blocks(lines)
    pairs = _matched(_COLON, lines)
    if pairs and any(len(line.split()) > 1 for _, line in lines):
        return _with_priorities(pairs)
    pairs = _matched(_ANGLES, lines) or _matched(_SPACE, lines)
    seconds = {rest.split()[0].lower() for _, _, rest in pairs}
    codes = {code for _, code, _ in pairs}
    if (
        all(map(_SEPARATOR.search, codes))
        or len(codes) < len(pairs)
        or seconds <= _QRELS
        or not all(map(_DIGIT.search, codes))
    ):
        return None
    return trec.Reading([(n, {"code": code.rstrip(".)"), "title": rest}) for n, code, rest in pairs])


def read_list(text: str) -> trec.Reading | None:
    """The codes of a list: one word per line, which a tab and anything may follow. None if a text is not a list."""
    lines = [
        (n, line.strip(" ").split("\t")[0].strip())
        for n, line in enumerate(lines_of(text), 1)
        if line.strip()
    ]
    is_table = bool(lines) and all(_SEPARATOR.search(word) for _, word in lines)
    if is_table or text.lstrip().startswith(_MARKUP) or any(len(word.split()) != 1 for _, word in lines):
        return None
    header = re.split("[,;]", lines[0][1]) if lines else []
    if "code" in names.places(header, "topics"):
        if len(header) > 1:  # a table of something else
            return None
        del lines[0]
    return trec.Reading([(n, {"code": word}) for n, word in lines])


def _matched(pattern: re.Pattern[str], lines: Sequence[Line]) -> list[tuple[int, str, str]]:
    """The number and the two groups of each line; nothing if a line does not match."""
    matches = [(n, pattern.fullmatch(line)) for n, line in lines]
    return (
        [(n, match[1].strip(), match[2]) for n, match in matches if match]
        if all(m for _, m in matches)
        else []
    )


def _with_priorities(pairs: Sequence[tuple[int, str, str]]) -> trec.Reading:
    """Topics, and as a label the priority of each if all have one."""
    matches = _matched(_PRIORITY, [(n, rest) for n, _, rest in pairs])
    if not matches:
        return trec.Reading([(n, {"code": code, "title": rest}) for n, code, rest in pairs])
    rows: list[tuple[int, dict[str, Any]]] = [
        (n, {"code": code, "title": title, "labels": {"priority": priority}})
        for (n, code, _), (_, priority, title) in zip(pairs, matches, strict=True)
    ]
    return trec.Reading(rows, has_own_labels=True)


def _blocks(lines: Sequence[Line]) -> trec.Reading:
    """Topics in blocks, each below a line with its code."""
    rows: list[tuple[int, dict[str, Any]]] = []
    topics: list[trec.Topic] = []
    left_out = False
    starts = [place for place, (_, line) in enumerate(lines) if _HEADING.fullmatch(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        number, heading = lines[start]
        code, block = heading.partition(":")[2].strip(), lines[start + 1 : end]
        sections = _sections(block)
        turns = [(n, _TURN.fullmatch(line)) for n, line in block]
        if heading.lower().startswith("number") and any(turn for _, turn in turns):
            about = {section.tag: section.text for section in sections} | {"number": code}
            given = [{"number": turn[1], "raw_utterance": turn[2]} for _, turn in turns if turn]
            rows += [(number, row) for row in topics_of_conversation(about, given, number)]
        else:
            kept = [section for section in sections if section.tag != _DOCUMENTS]
            left_out |= kept != sections
            topics.append(trec.Topic(number, [trec.Section("number", code, number), *kept], {}))
    reading = trec.reading_of(topics)
    notes = ["the documents below Pids were left out"] if left_out else []
    return replace(reading, rows=[*rows, *reading.rows], notes=[*reading.notes, *notes])


def _sections(lines: Sequence[Line]) -> list[trec.Section]:
    """The sections of a block: a line such as `Title: Owls` begins one, and others go on with it."""
    sections: list[trec.Section] = []
    for n, line in lines:
        name, colon, text = line.partition(":")
        if colon and name.strip().lower() in _FIELDS:
            sections.append(trec.Section(name.strip().lower(), text.strip(), n))
        elif sections and not (_TURN.fullmatch(line) and sections[-1].tag == "description"):
            sections[-1] = sections[-1]._replace(text=f"{sections[-1].text}\n{line}".strip())
    return sections
