"""The differences between two texts: by line, and within changed lines by word."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Kind = Literal["same", "added", "removed"]
WORD = re.compile(r"\s+|\w+|[^\w\s]")
TAGS: dict[Kind, str] = {"same": "span", "added": "ins", "removed": "del"}
CONTEXT = 2  # unchanged lines around a change
MOST_WORDS = 3_000  # of a changed part that is compared by word


class Part(NamedTuple):
    """Some text that both have, or only one of them."""

    kind: Kind
    text: str

    @property
    def tag(self) -> str:
        """The HTML element that shows it."""
        return TAGS[self.kind]


class Hunk(NamedTuple):
    """A change with the lines around it; `line` is its first line in the new text."""

    line: int
    parts: list[Part]


def differences(old: str, new: str) -> list[Hunk]:
    """The changes that make `old` into `new`, in order; empty if the lines are the same."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    hunks = []
    for group in matcher.get_grouped_opcodes(CONTEXT):
        parts: list[Part] = []
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "replace":
                parts += words_changed("".join(before[old_start:old_end]), "".join(after[new_start:new_end]))
            else:
                parts += _block_parts(tag, before[old_start:old_end], after[new_start:new_end])
        hunks.append(Hunk(group[0][3] + 1, parts))
    return hunks


def words_changed(old: str, new: str) -> list[Part]:
    """The changes by word that make `old` into `new`; of long texts, all of both."""
    before, after = WORD.findall(old), WORD.findall(new)
    if len(before) + len(after) > MOST_WORDS:
        return list(_block_parts("replace", before, after))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        part
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        for part in _block_parts(tag, before[old_start:old_end], after[new_start:new_end])
    ]


def _block_parts(tag: str, before: Sequence[str], after: Sequence[str]) -> Iterator[Part]:
    if tag == "equal":
        yield Part("same", "".join(after))
        return
    if before:
        yield Part("removed", "".join(before))
    if after:
        yield Part("added", "".join(after))
