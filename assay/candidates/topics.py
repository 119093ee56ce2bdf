"""Makes topics of candidates: codes from a first one, and formulas numbered over all topics, as ARQMath did.

The formulas get the ids q_1, q_2, ... in the order of the topics, title before body. A body is one line, but for
preformatted text in it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from assay.candidates.reader import Candidate
from assay.errors import InputError
from assay.formats.topics.reader import MAX_CODE, TopicRow

FIRST = "A.1"
_FORMULA = re.compile(r'<span class="math-container"(?: data-formula-id="[^"<>]*")?')
_CODE = re.compile(r"(\S*?)([0-9]{1,9})")
_PREFORMATTED = re.compile(r"(<pre>(?:(?!<pre>).)*?</pre>)", re.DOTALL)


def codes_from(first: str) -> Iterator[str]:
    """Codes that count up from the first one, which ends in a number: A.201, A.202, ...

    Raises:
        InputError: The code does not end in a number, or is too long.
    """
    match = _CODE.fullmatch(first)
    if match is None or len(first.encode()) > MAX_CODE - 9:
        raise InputError(f"“{first[:40]}” is not a first code; it ends in a number and has no spaces: A.1")
    return (f"{match[1]}{number}" for number in count(int(match[2])))


def topics_of(
    candidates: Sequence[Candidate], *, codes: Iterable[str], formulas_from: int = 1
) -> list[TopicRow]:
    """Topics of candidates with texts, in their order. The thread of each is its candidate's id."""
    number = count(formulas_from)

    def numbered(html: str) -> str:
        return _FORMULA.sub(
            lambda _: f'<span class="math-container" data-formula-id="q_{next(number)}"', html
        )

    return [
        TopicRow(
            line=line,
            code=code,
            title=numbered(candidate.title),
            body=numbered(one_line(candidate.body)),
            tags=candidate.tags,
            thread=candidate.id,
        )
        for line, (candidate, code) in enumerate(zip(candidates, codes, strict=False), 1)
    ]


def one_line(html: str) -> str:
    """Sanitized HTML without line ends, but for those of preformatted text."""
    parts = _PREFORMATTED.split(html)
    return "".join(part if n % 2 else " ".join(part.split("\n")) for n, part in enumerate(parts)).strip()


def as_import(topics: Iterable[TopicRow]) -> bytes:
    """Topics in lines of JSON with their threads and labels, which only organizers see."""
    names = ("code", "title", "body", "tags", "thread", "formula_id", "latex", "labels")
    rows = ({name: getattr(topic, name) for name in names} for topic in topics)
    filled = ({name: value for name, value in row.items() if value} for row in rows)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in filled).encode()
