"""The walks through the code: what they name exists, and their drawings are those of the imports."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from maintenance.docs.import_layers import drawing, imports_of
from maintenance.docs.outputs import ROOT

PAGE = (ROOT / "docs" / "explanation" / "walks.md").read_text()
PATH = re.compile(r"[\w/]+(?:\.py|/)")
NAME = re.compile(r"[\w.]+(?=\(\))|[A-Z][a-z][\w.]*")  # of functions, and of classes


def names_in(path: Path) -> Iterator[str]:
    """The functions and classes of a module. Methods are also named after their classes."""
    defined = (ast.FunctionDef, ast.ClassDef)
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, defined):
            methods = [inner.name for inner in node.body if isinstance(inner, defined)]
            yield from (node.name, *methods, *(f"{node.name}.{method}" for method in methods))


def test_every_path_and_name_of_a_walk_exists() -> None:
    walks = PAGE.split("\n## ")[2:]
    for walk in walks:
        words = re.findall(r"`([^`]+)`", walk)
        paths = [ROOT / word for word in words if PATH.fullmatch(word)]
        named = {name[0] for word in words if "/" not in word and (name := NAME.match(word))}

        assert [path for path in paths if not path.exists()] == []
        assert named - {name for path in paths if path.is_file() for name in names_in(path)} == set()
        assert named

    assert len(walks) == 5


@pytest.mark.parametrize("contract", ["Layers of the site", "Layers of the library"])
def test_drawing_of_the_imports_is_that_of_the_code(built: Path, contract: str) -> None:
    layers, counts = imports_of(contract)
    lines = drawing(layers, counts)

    assert "\n".join(lines) in (built / "explanation" / "walks.html").read_text()
    assert [
        (low, high) for n, high in enumerate(layers) for low in layers[n + 1 :] if counts[low, high]
    ] == []
