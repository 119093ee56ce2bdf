"""Writes a page for each package of the library from its docstrings.

A page of `reference/library/` shows a package and the modules in it. Pages are written before Sphinx looks for
documents, changed only if their text changes, and deleted with their package, so that builds are incremental.

Docstrings have NumPy's sections. The text after the colon of a parameter says what it is (types are in the signature),
and `Source` names a publication. They are written as prose: only backticks and doctests are markup.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[([\w.~]+)\]\]")
LEFT_OUT = {"assay.cli", "assay.samples"}  # commands have pages of their own; sample files are not code
UNDERLINE = re.compile(r"-{3,}")
ENTRY = re.compile(r"(?P<names>[\w*`, -]+?)(?: : | {2,})(?P<text>\S.*)")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _write_pages)
    app.connect("autodoc-process-docstring", _as_rst)
    app.connect("autodoc-process-signature", _short_types)
    app.connect("autodoc-skip-member", _is_field)
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
    for init in sorted((ROOT / "assay").rglob("__init__.py")):
        package = ".".join(init.parent.relative_to(ROOT).parts)
        if any(package == name or package.startswith(f"{name}.") for name in LEFT_OUT):
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
    return ["", "```{eval-rst}", f".. automodule:: {module}", "```", ""]


def _as_rst(app: Sphinx, kind: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    """Turn a docstring's NumPy sections into a field list, in place."""
    app.env.note_dependency(__file__)
    rst: list[str] = []
    for title, body in _sections(lines):
        text = list(_rst(_unindented(body), has_entries=title in {"Parameters", "Raises", "Attributes"}))
        rst += [f":{title}:", *(f"    {line}" for line in text), ""] if title else [*text, ""]
    lines[:] = rst


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The title (empty for the first) and the lines of each section."""
    title, start = "", 0
    for n, line in enumerate(lines):
        if (
            n
            and UNDERLINE.fullmatch(line.strip())
            and lines[n - 1].strip()
            and not lines[n - 1].startswith(" ")
        ):
            yield title, lines[start : n - 1]
            title, start = lines[n - 1].strip(), n + 1
    yield title, lines[start:]


def _rst(lines: list[str], *, has_entries: bool) -> Iterator[str]:
    """Prose in which lines like `name : text`, or `Error text`, are items of a list."""
    was_item = in_doctest = False
    for line in lines:
        in_doctest = bool(line.strip()) and (in_doctest or line.startswith(">>>"))
        entry = ENTRY.fullmatch(line)
        names, _, text = line.partition(" ")
        if entry and not in_doctest:
            names, text = entry["names"], entry["text"]
        is_item = bool(entry or (has_entries and line.strip())) and not in_doctest
        if is_item != was_item:
            yield ""
        yield (
            f"- **{_escape(names)}** – {_escape(text)}" if is_item else line if in_doctest else _escape(line)
        )
        was_item = is_item


def _unindented(body: list[str]) -> list[str]:
    """Join each indented line of prose to the line before it."""
    joined: list[str] = []
    for line in body:
        if line.startswith(" ") and joined and joined[-1].strip() and ">>>" not in joined[-1]:
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    return joined


def _escape(text: str) -> str:
    """Keep backticks as markup; nothing else is."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(
        part if n % 2 else re.sub(r"(\w)_(?!\w)", r"\1\\_", re.sub(r"([*|\\])", r"\\\1", part))
        for n, part in enumerate(parts)
    )
