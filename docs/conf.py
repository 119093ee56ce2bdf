"""Configuration of the documentation site: `python -m sphinx -W --keep-going -b html docs docs/_build/html`.

Builds without Django, a database or the network. ADR 18 gives the reasons for the choices.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from assay.version import VERSION  # noqa: E402

project = "Assay"
author = "the Assay contributors"
release = version = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "library_reference", "generated_tables", "sessions"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "adr/README.md"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": True}
python_maximum_signature_line_length = 88
add_module_names = False
default_role = "code"
smartquotes = False  # a prime belongs to the name of a measure

html_theme = "furo"
html_title = "Assay"
html_favicon = "../static/config/icon.svg"
html_static_path = ["_static"]
html_css_files = ["assay.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
html_domain_indices = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
templates_path = ["_templates"]
