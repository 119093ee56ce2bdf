"""The page of settings lists exactly the variables that the code reads."""

import re

from maintenance.docs.outputs import ROOT

READ = re.compile(
    r"(?:environment\.(?:text|words|boolean|number|one_of|origins|database|broker|secret|proxies|mail)\(\s*|os\.environ(?:\.get)?[\(\[]\s*)"
    r"\"([A-Z][A-Z_]+)\""
)
FOLDERS = {path.parent for path in ROOT.glob("*/__init__.py")} - {
    ROOT / name for name in ("maintenance", "tests")
}
NOT_OURS = {
    "XDG_CONFIG_HOME",
    "PATH",
    "DJANGO_SETTINGS_MODULE",
    "NODE_EXTRA_CA_CERTS",
    "OPENBLAS_NUM_THREADS",
}
OF_COMPOSE = {"POSTGRES_PASSWORD", "WORKER_CONCURRENCY"}
OF_TESTS = {"ASSAY_SHARED", "CHROMIUM", "CI"}


def test_page_of_settings_is_complete() -> None:
    sources = [path for folder in FOLDERS for path in folder.rglob("*.py")]
    read = {name for path in sources for name in READ.findall(path.read_text())} - NOT_OURS

    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    listed = set(re.findall(r"^\| `([A-Z_]+)`", page, re.MULTILINE))

    assert listed | {"POSTGRES_PASSWORD"} == read | OF_COMPOSE | OF_TESTS
