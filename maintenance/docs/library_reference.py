"""Writes a page for each package of the library from its docstrings.

A page of `reference/library/` shows a package and the modules in it. Pages are written before Sphinx looks for
documents, changed only if their text changes, and deleted with their package, so that builds are incremental.

Docstrings have Google's sections, which Sphinx's napoleon reads. Types are in the signature, and `Source` names a
publication.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).parents[2]
ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[([\w.~]+)\]\]")
ROOMS = ("assay", "assay_extensions")
LEFT_OUT = {"assay.cli", "assay.samples"}  # commands have pages of their own; sample files are not code


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _write_pages)
    app.connect("autodoc-process-signature", _short_types)
    app.connect("autodoc-skip-member", _is_field)
    app.connect("html-page-context", _navigate_titles, priority=400)  # before the theme
    return {"parallel_read_safe": True}


def _is_field(app: Sphinx, kind: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out the fields of a class: they are in its signature and in its docstring."""
    is_method = callable(member) or isinstance(member, (property, cached_property, classmethod, staticmethod))
    return True if kind == "class" and not is_method else None


def _short_types(
    app: Sphinx,
    kind: str,
    name: str,
    subject: object,
    options: object,
    arguments: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Arrays as `NDArray[float64]`."""
    short = [
        ARRAY.sub(r"~numpy.typing.NDArray[\1]", text) if text else text for text in (arguments, returned)
    ]
    return short[0], short[1]


def _navigate_titles(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Give the theme titles of pages only: to copy all headings for each page took a third of the build."""
    toctree = context["toctree"]

    def toctree_of_titles(**options: Any) -> str:
        complete = app.env.tocs
        app.env.tocs = _titles(app.env)
        try:
            return str(toctree(**options))
        finally:
            app.env.tocs = complete

    context["toctree"] = toctree_of_titles


@cache
def _titles(env: BuildEnvironment) -> dict[str, nodes.bullet_list]:
    """Return the contents of each page without its headings: its title, and the pages below it."""
    titles = {page: contents.deepcopy() for page, contents in env.tocs.items()}
    for contents in titles.values():
        for entry in contents:
            pages = list(entry.findall(addnodes.toctree))
            entry[1:] = [nodes.bullet_list("", *pages)] if pages else []
    return titles


def _write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "library"
    folder.mkdir(exist_ok=True)
    pages = {f"{package}.md": text for package, text in _pages()}
    for stale in folder.glob("*.md"):
        if stale.name not in pages:
            stale.unlink()
    for name, text in pages.items():
        page = folder / name
        if not page.is_file() or page.read_text() != text:
            page.write_text(text)


def _pages() -> Iterator[tuple[str, str]]:
    for init in sorted(path for room in ROOMS for path in (ROOT / room).rglob("__init__.py")):
        parts = init.parent.relative_to(ROOT).parts
        package = ".".join(parts)
        is_left_out = any(package == name or package.startswith(f"{name}.") for name in LEFT_OUT)
        if is_left_out or {"commands", "site", "tests"} & {*parts}:
            continue
        files = sorted(path for path in init.parent.glob("*.py") if not path.name.startswith("_"))
        if not files and not init.read_text().strip():
            continue  # a folder of data
        modules = [package, *(f"{package}.{path.stem}" for path in files)]
        sections = [f"# {package}", *_automodule(package)]
        for module in modules[1:]:
            sections += [f"## {module.removeprefix(package + '.')}", *_automodule(module)]
        yield package, "\n".join([*sections, ""])


def _automodule(module: str) -> list[str]:
    # The public interface is described where it is defined.
    options = ["   :no-members:"] if module == "assay" else []
    return ["", "```{eval-rst}", f".. automodule:: {module}", *options, "```", ""]
