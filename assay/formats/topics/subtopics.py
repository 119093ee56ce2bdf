"""The subtopics of a topic: the parts or meanings of an information need, for measures of diversity.

A subtopic is an object with the keys `number`, `text` (plain) and, in TREC's Web tracks, `type`, such as `inf` or
`nav`. Its number is what qrels of subtopics name, so it is a word of letters, digits, hyphens and underscores.
"""

import re
from collections.abc import Mapping, Sequence

from assay.formats.documents.batch import MAX_NAME, Unusable, limited
from assay.formats.documents.jsonl import text_of
from assay.formats.text import lines_of
from assay.html.sanitize import without_controls

MOST = 100  # subtopics of a topic
MAX_CHARACTERS = 1_000  # of a text
NUMBER = re.compile(r"[A-Za-z0-9_-]{1,50}")
LINE = re.compile(r"([A-Za-z0-9_-]{1,50})[ \t]*(?:\(([^()]*)\)[ \t]*)?:(.*)")

Subtopics = Sequence[Mapping[str, str]]


def subtopics_of(given: object) -> tuple[dict[str, str], ...]:
    """The subtopics of a list of objects, or of texts, which are numbered from 1.

    Raises `Unusable` if it is no such list, a number is missing, wrong or used twice, or a text is too long.

    >>> subtopics_of(["Find a map."])
    ({'number': '1', 'text': 'Find a map.'},)
    """
    if not isinstance(given, (list, tuple)) or len(given) > MOST:
        raise Unusable(f"subtopics is not a list of at most {MOST} objects with number and text")
    subtopics = tuple(_subtopic(subtopic, n) for n, subtopic in enumerate(given, 1))
    numbers = [subtopic["number"] for subtopic in subtopics]
    if repeated := next((number for n, number in enumerate(numbers) if number in numbers[:n]), ""):
        raise Unusable(f"two subtopics have the number {repeated}")
    return subtopics


def _subtopic(given: object, n: int) -> dict[str, str]:
    if isinstance(given, str):
        given = {"number": str(n), "text": given}
    if not isinstance(given, Mapping) or (unknown := set(given) - {"number", "text", "type"}):
        raise Unusable(
            f"subtopic {n} is not an object with number, text and type"
            + (f"; unknown: {', '.join(map(str, unknown))}" if isinstance(given, Mapping) else "")
        )
    own = given.get("number")
    is_number = isinstance(own, int) and not isinstance(own, bool)
    number = text_of(str(own) if is_number else own, f"the number of subtopic {n}").strip()
    if not NUMBER.fullmatch(number):
        raise Unusable(
            f"the number of subtopic {n} has 1 to 50 letters, digits, hyphens or underscores, got {number[:60]!r}"
        )
    words = {name: text_of(given.get(name), f"the {name} of subtopic {number}") for name in ("text", "type")}
    texts = {name: " ".join(without_controls(text).split()) for name, text in words.items()}
    limited(texts["type"], f"the type of subtopic {number}", MAX_NAME)
    limited(texts["text"], f"the text of subtopic {number}", MAX_CHARACTERS)
    return {"number": number, "text": texts["text"]} | ({"type": texts["type"]} if texts["type"] else {})


def labels_of(subtopics: Subtopics) -> dict[str, str]:
    """The words of each subtopic, by its number.

    >>> labels_of([{"number": "1", "text": "Find a map.", "type": "nav"}, {"number": "2", "text": ""}])
    {'1': 'Find a map. (nav)', '2': 'Subtopic 2'}
    """
    return {
        subtopic["number"]: (subtopic["text"] or f"Subtopic {subtopic['number']}")
        + (f" ({subtopic['type']})" if subtopic.get("type") else "")
        for subtopic in subtopics
    }


def as_lines(subtopics: Subtopics) -> str:
    """Subtopics as people write them: `1: Find a map.`, or `1 (nav): Find a map.`"""
    types = (f" ({subtopic['type']})" if subtopic.get("type") else "" for subtopic in subtopics)
    return "\n".join(
        f"{subtopic['number']}{kind}: {subtopic['text']}"
        for subtopic, kind in zip(subtopics, types, strict=True)
    )


def from_lines(text: str) -> tuple[dict[str, str], ...]:
    """The subtopics of lines of `as_lines`; empty lines are skipped.

    Raises `Unusable` with the number of the line.
    """
    subtopics = []
    for n, line in enumerate(lines_of(text), 1):
        if line.strip():
            match = LINE.fullmatch(line.strip())
            if match is None:
                raise Unusable(f"line {n}: expected a number, a colon and a text, such as 1: Find a map.")
            subtopics.append({"number": match[1], "text": match[3], "type": match[2] or ""})
    return subtopics_of(subtopics)
