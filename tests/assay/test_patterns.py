"""Regular expressions match alike in every Python that Assay supports."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "assay"
POSSESSIVE_GROUP = re.compile(r"[)][*+?][+]")
SIMPLE = re.compile(r"[(][?]:[^()|]*[)][*+?][+]")  # a possessive group without groups and alternatives in it


def strings() -> Iterator[tuple[str, str]]:
    """Every string of the library with its place."""
    for path in sorted(LIBRARY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
                yield f"{path.relative_to(LIBRARY)}:{node.lineno}", text


def test_possessive_groups_have_no_alternatives() -> None:
    """Python before 3.11.5, as in Debian 12, matches them wrongly (gh-106052): `(?>(?:a|b)*)`, not `(?:a|b)*+`."""
    wrong = [place for place, text in strings() if POSSESSIVE_GROUP.search(SIMPLE.sub("", text))]

    assert not wrong


@pytest.mark.parametrize("pattern", [r"(?:a|b)*+", r"(?:a(?:b)?)++", r"(a|b)?+"])
def test_groups_that_match_wrongly_are_noticed(pattern: str) -> None:
    assert POSSESSIVE_GROUP.search(SIMPLE.sub("", pattern))
