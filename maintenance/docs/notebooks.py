"""Notebooks of the documentation, run without Jupyter, and the outputs that they show.

The cells of a notebook run in their order in one namespace, in this process. What a cell prints, and the value of its
last expression, become its outputs, as in Jupyter: text, and HTML or a picture if the value offers them.

    python -m maintenance.docs.notebooks            # show what differs; exit status 1 if anything does
    python -m maintenance.docs.notebooks --write    # write the actual outputs into the notebooks
"""

import argparse
import ast
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from maintenance.docs.outputs import ROOT

Output = dict[str, Any]
RICH = {"_repr_html_": "text/html", "_repr_svg_": "image/svg+xml"}


def notebooks() -> list[Path]:
    return sorted((ROOT / "docs").glob("*/*.ipynb"))


def executed(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """A notebook with the actual outputs of its cells; an error of a cell is raised."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            outputs = _outputs("".join(cell["source"]), namespace, number)
            cell = {**cell, "execution_count": number, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[Output]:
    """Return what a cell prints, and the value of its last expression."""
    tree, printed, value = ast.parse(source), StringIO(), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    name = f"cell {number}"
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)  # noqa: S102 -- our own notebook
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)  # noqa: S307
    outputs: list[Output] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        data |= {
            kind: _lines(getattr(value, method)()) for method, kind in RICH.items() if hasattr(value, method)
        }
        result = {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        outputs.append(result)
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def as_text(notebook: Mapping[str, Any]) -> str:
    """The file of a notebook, as Jupyter writes it."""
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the actual outputs into the notebooks")
    options = parser.parse_args()
    n_different = 0
    for path in notebooks():
        text = as_text(executed(json.loads(path.read_text())))
        if text != path.read_text():
            n_different += 1
            sys.stdout.write(f"{path.relative_to(ROOT)} differs\n")
            if options.write:
                path.write_text(text)
    return int(n_different > 0 and not options.write)


if __name__ == "__main__":
    sys.exit(main())
