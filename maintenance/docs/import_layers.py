"""The directive `import-layers CONTRACT`: a drawing of the imports between the layers of an import contract."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import grimp
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LINTER = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["importlinter"]
EXTENSIONS = "assay_extensions"
WIDTH, HEIGHT, LEFT = 44, 26, 140  # of a cell; of the space for the name of the top layer


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("import-layers", ImportLayers)
    return {"parallel_read_safe": True}


class ImportLayers(SphinxDirective):
    required_arguments, final_argument_whitespace = 1, True

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # any module may have changed
        return [nodes.raw("", "\n".join(drawing(*imports_of(self.arguments[0]))), format="html")]


def imports_of(contract: str) -> tuple[list[str], Counter[tuple[str, str]]]:
    """The layers from the top, extensions included, and how often a module of one imports a module of another."""
    [rules] = (rules for rules in LINTER["contracts"] if rules["name"] == contract)
    layers, parent = list(rules["layers"]), "".join(f"{name}." for name in rules.get("containers", ()))
    packages = {EXTENSIONS: EXTENSIONS} | {parent + name: at for at in layers for name in at.split(" | ")}
    graph = grimp.build_graph(*LINTER["root_packages"], cache_dir=None)
    layer_of, counts = {}, Counter[tuple[str, str]]()
    for module in graph.modules:
        names = accumulate(module.split("."), "{}.{}".format)  # assay, assay.cli, assay.cli.main
        layer_of[module] = next((packages[name] for name in names if name in packages), "")
    for module, layer in layer_of.items():
        counts.update((layer, layer_of[name]) for name in graph.find_modules_directly_imported_by(module))
    layers.insert(max(n if counts[layer, EXTENSIONS] else 0 for n, layer in enumerate(layers, 1)), EXTENSIONS)
    return layers, counts


def drawing(layers: list[str], counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """The lines of an SVG: rows import columns, and the boxes of the layers are on the diagonal."""
    size = f'viewBox="0 0 {LEFT + WIDTH * len(layers)} {HEIGHT * len(layers)}" fill="currentColor" font-size="13"'
    yield f'<svg role="img" aria-label="Imports between {len(layers)} layers" {size}>'
    for row, layer in enumerate(layers):
        y, cell = HEIGHT * row, f'width="{WIDTH - 2}" height="{HEIGHT - 2}"'
        yield f'<text x="{LEFT + WIDTH * row - 6}" y="{y + 18}" text-anchor="end">{layer}</text>'
        for column, other in enumerate(layers):
            x, opacity = LEFT + WIDTH * column, 0.6 if row == column else 0.06 if row < column else 0
            yield f'<rect x="{x}" y="{y}" {cell} fill-opacity="{opacity}"/>'
            if row != column and counts[layer, other]:
                yield f'<text x="{x + 21}" y="{y + 18}" text-anchor="middle">{counts[layer, other]}</text>'
    yield "</svg>"
