"""The errors in the text of a draft, each with the key and the line at which the page shows it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from assay.protocols.loader import ProtocolError, parse_protocol, read_checked
from assay.protocols.schema import Protocol

NAME = "protocol"  # of the file in messages
LISTS = re.compile(
    r"(\bdid you mean [^?]+\?) Use .*|(\bthere is no measure (?:'[^']+'|\"[^\"]+\")); use .*", re.DOTALL
)


class Problem(NamedTuple):
    """An error: its key, its line (0: none), and what is wrong."""

    key: str
    line: int
    message: str

    @property
    def is_missing(self) -> bool:
        """Return whether a value is still to be filled in."""
        return self.message.startswith("missing; this key is required")


@dataclass(frozen=True)
class Checked:
    """A checked text.

    Attributes:
        protocol: None if the text has an error.
        errors: all of them, in the order of lines.
        syntax: the place at which the text is not TOML; empty if it is.
        has_rules: whether the rules of several keys were checked. They follow when all types are right.
    """

    protocol: Protocol | None = None
    errors: Sequence[Problem] = field(default_factory=list)
    syntax: str = ""
    has_rules: bool = False


@lru_cache(maxsize=64)
def check(text: str) -> Checked:
    """Check a text as the loader does."""
    try:
        return Checked(parse_protocol(text, name=NAME), has_rules=True)
    except ProtocolError as error:
        if not error.errors:
            syntax = str(error).removeprefix(f"{NAME}: ")
            return Checked(errors=[Problem("", 0, syntax)], syntax=syntax)
        problems = [
            Problem(
                str(problem["key"]),
                int(str(problem["line"] or 0)),
                in_short(str(problem["message"]).partition(": ")[2]),
            )
            for problem in error.errors
        ]
    return Checked(errors=problems, has_rules=_has_types(text))


def in_short(message: str) -> str:
    """A message without the list of all that could be meant, which the form has: a name is close, or many are known."""
    return LISTS.sub(lambda match: match[1] or match[2], message)


def _has_types(text: str) -> bool:
    """Return whether all values have the right types, so that the rules were checked."""
    try:
        return bool(read_checked(text, name=NAME))
    except ProtocolError:
        return False
