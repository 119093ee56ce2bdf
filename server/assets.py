"""Copies the front-end files that pages load from `node_modules/` into `static/vendor/`: `python -m server.assets`.

If a page needs another file of a package, add its pattern here; another icon, its name. It uses only the standard
library, because `make setup` runs it before anything is installed.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "node_modules"
VENDOR = ROOT / "static" / "vendor"

# Patterns of files in node_modules, and the folder in static/vendor for each.
FILES = [
    ("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2", "inter"),
    ("@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2", "inter"),
    ("@fontsource-variable/inter/files/inter-greek-wght-normal.woff2", "inter"),
    ("@fontsource-variable/inter/files/inter-cyrillic-wght-normal.woff2", "inter"),
    ("@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-400-normal.woff2", "plex-mono"),
    ("bootstrap/dist/css/bootstrap.min.css", "bootstrap"),
    ("bootstrap/dist/css/bootstrap.min.css.map", "bootstrap"),
    ("bootstrap/dist/css/bootstrap.rtl.min.css", "bootstrap"),
    ("bootstrap/dist/css/bootstrap.rtl.min.css.map", "bootstrap"),
    ("echarts/dist/echarts.min.js", "echarts"),
    ("htmx.org/dist/htmx.min.js", "htmx"),
    ("katex/dist/katex.min.css", "katex"),
    ("katex/dist/katex.min.js", "katex"),
    ("katex/dist/contrib/mhchem.min.js", "katex/contrib"),
    ("katex/dist/fonts/*", "katex/fonts"),
    ("swagger-ui-dist/swagger-ui.css", "swagger-ui"),
    ("swagger-ui-dist/swagger-ui.css.map", "swagger-ui"),
    ("swagger-ui-dist/swagger-ui-bundle.js", "swagger-ui"),
    ("swagger-ui-dist/swagger-ui-bundle.js.map", "swagger-ui"),
    ("mathjax/startup.js", "mathjax"),
    ("mathjax/core.js", "mathjax"),
    ("mathjax/loader.js", "mathjax"),
    ("mathjax/input/tex.js", "mathjax/input"),
    ("mathjax/input/tex/extensions/*.js", "mathjax/input/tex/extensions"),
]

# The icons of pages, by their names in the package bootstrap-icons.
ICONS = [
    "arrow-left", "arrow-repeat", "arrow-right", "arrow-right-circle-fill", "bar-chart-line", "bell",
    "box-arrow-up-right", "calendar3", "caret-down-fill", "chat-left-text", "check-circle-fill", "check2",
    "check2-square", "chevron-down", "chevron-up", "circle", "clipboard", "clock-history", "collection",
    "cpu", "dash-circle", "diagram-3", "download", "envelope", "exclamation-circle", "exclamation-triangle-fill", "eye",
    "file-earmark-text", "flag", "gear", "grip-vertical", "hourglass-split", "house", "inbox", "info-circle",
    "link-45deg", "list-ol", "lock", "megaphone", "pencil", "people", "person-circle", "plus-lg",
    "question-circle", "quote", "rss", "search", "sliders", "star-fill", "stopwatch", "terminal",
    "three-dots", "trash", "upload", "x-circle-fill", "x-lg",
]  # fmt: skip


def copy_all(packages: Path = PACKAGES, vendor: Path = VENDOR) -> int:
    """Copy every listed file and return their number; FileNotFoundError names a pattern without files."""
    shutil.rmtree(vendor, ignore_errors=True)
    n = 0
    for pattern, name in FILES:
        files, folder = sorted(packages.glob(pattern)), vendor / name
        if not files:
            raise FileNotFoundError(
                f"no file {pattern} in {packages}; `make setup` installs the front-end packages"
            )
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(file, folder / file.name)
        n += len(files)
    (vendor / "icons.svg").write_text(sprite(packages / "bootstrap-icons" / "icons"))
    return n + 1


def sprite(icons: Path) -> str:
    """Return one SVG file with a symbol for each icon, which pages address as `icons.svg#house`."""
    symbols = []
    for name in ICONS:
        drawing = re.sub(r"\s*</?svg[^>]*>\s*", "", (icons / f"{name}.svg").read_text())
        symbols.append(f'<symbol id="{name}" viewBox="0 0 16 16">{drawing}</symbol>')
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(symbols)}</svg>\n'


if __name__ == "__main__":
    sys.stdout.write(f"{copy_all()} front-end files copied to static/vendor\n")
