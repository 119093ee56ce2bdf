"""The templates of pages: those of the core, and those of extensions."""

from pathlib import Path

from server.paths import ROOT

FOLDERS = (ROOT / "templates", *ROOT.glob("assay_extensions/*/site/templates"))


def templates() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in folder.rglob("*.html"))
