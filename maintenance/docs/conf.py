"""Configuration of the documentation site: `make docs`.

The site is built without Django, a database or the network. ADR 18 gives the reasons for the choices.
"""

import gc
import os
import sys
from pathlib import Path
from typing import cast

from docutils import nodes
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Generic, Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.transforms import SphinxTransform
from sphinx.util.images import get_image_size
from sphinx.util.index_entries import split_index_msg

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FONTS = ROOT / "node_modules" / "@fontsource-variable" / "inter" / "files"
sys.path.insert(0, str(ROOT))

from assay.extensions import bundled  # noqa: E402
from assay.version import VERSION  # noqa: E402

# the pages describe the names that come with Assay, whatever is installed
os.environ["ASSAY_EXTENSIONS"] = ",".join(place.name for place in bundled())

gc.set_threshold(100_000, 20, 20)  # a build keeps nearly all that it makes

OURS = ("library_reference", "generated_tables", "import_layers")

project = "Assay"
author = "the Assay contributors"
release = version = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
extensions += [f"maintenance.docs.{name}" for name in OURS]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "adr/README.md"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_use_type_comments = False
autodoc_default_options = {"members": True, "undoc-members": True, "ignore-module-all": True}
python_maximum_signature_line_length = 88
add_module_names = False
default_role = "code"
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Source"]
smartquotes = False  # a prime belongs to the name of a measure

html_theme = "furo"
html_title = "Assay help"
html_favicon = html_logo = str(ROOT / "static" / "config" / "icon.svg")
html_static_path = [str(DOCS / "_static"), *map(str, FONTS.glob("inter-latin-wght-normal.woff2"))]
# with the priority that Sphinx adds: without it, every build takes them to have changed, and writes all pages again
html_css_files = [("assay.css", {"priority": 800})]
# without Furo's brand: the header of the site has the name
html_sidebars = {
    "**": [f"sidebar/{part}.html" for part in ("search", "scroll-start", "navigation", "scroll-end")]
}
html_js_files = [("search.js", {"defer": "defer", "priority": 800})]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_domain_indices = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
templates_path = [str(DOCS / "_templates")]


class SessionLexer(RegexLexer):  # type: ignore[misc]
    """A `console` block: commands after `$ `, everything else as output. Pygments' own lexer takes `#` for a prompt."""

    tokens = {
        "root": [
            (r"^(\$ )(.*\\\n)", bygroups(Generic.Prompt, Text), "continued"),
            (r"^(\$ )(.*\n)", bygroups(Generic.Prompt, Text)),
            (r".*\n", Generic.Output),
        ],
        "continued": [
            (r"^(> )(.*\\\n)", bygroups(Generic.Prompt, Text)),
            (r"^(> )(.*\n)", bygroups(Generic.Prompt, Text), "#pop"),
            (r"", Text, "#pop"),
        ],
    }


class Pictures(SphinxTransform):
    """Show `NAME-dark.png` instead of `NAME.png` in a dark page. A picture loads when it comes into view."""

    default_priority = 200

    def apply(self) -> None:
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            image["loading"] = "lazy"
            if size := get_image_size(folder / image["uri"]):
                image["width"], image["height"] = map(str, size)
            dark = image["uri"].replace(".png", "-dark.png")
            if dark != image["uri"] and (folder / dark).exists():
                twin = image.deepcopy()
                twin["uri"], twin["classes"], image["classes"] = dark, ["only-dark"], ["only-light"]
                image.parent.insert(image.parent.index(image) + 1, twin)


def _index_sections(app: Sphinx, page: nodes.document) -> None:
    """Let the words of the index lead to the headings of their sections. Names of the library have no place in it."""
    is_library = app.env.docname.startswith("reference/library/")
    entries = app.env.domains.index_domain.entries[app.env.docname] = []
    for node in page.findall(addnodes.index):
        section = node.parent["ids"] if isinstance(node.parent, nodes.section) else []
        node["entries"] = [
            (kind, words, section[0] if section else anchor, *others)
            for kind, words, anchor, *others in ([] if is_library else node["entries"])
        ]
        entries += node["entries"]


def _index_of_all_pages(app: Sphinx) -> list[object]:
    """Give the search the index of all pages: Sphinx forgets that of pages that a build need not write again."""
    indexer = cast(StandaloneHTMLBuilder, app.builder).indexer
    if indexer is None:
        return []
    for page, entries in app.env.domains.index_domain.entries.items():
        indexer._index_entries[page] = sorted(
            {
                (words, anchor, main)
                for kind, entry, anchor, main, _ in entries
                for words in split_index_msg(kind, entry)
            }
        )
    return []


def setup(app: Sphinx) -> None:
    app.add_lexer("console", SessionLexer)
    app.add_transform(Pictures)
    app.connect("doctree-read", _index_sections)
    app.connect("html-collect-pages", _index_of_all_pages)
