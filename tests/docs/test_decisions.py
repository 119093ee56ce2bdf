"""The decisions in docs/adr: what cites one by its number names a page that exists."""

import re
import subprocess

from maintenance.docs.outputs import ROOT

CITATION = re.compile(r"\b(?:ADR|[Dd]ecision) (\d+)\b|/(\d{4})-[a-z-]+\.md\b")
SUFFIXES = (".py", ".md", ".toml", ".html", ".js", ".css", ".sh", ".yml")


def test_every_cited_decision_has_a_page() -> None:
    numbers = {int(page.name[:4]) for page in (ROOT / "docs" / "adr").glob("*.md")}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    unknown = [
        f"{name}:{n}: {line.strip()}"
        for name in tracked.splitlines()
        if name.endswith(SUFFIXES) and (ROOT / name).is_file()
        for n, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if not line.startswith("Status: ")  # names the decisions that a page includes or replaces
        for cited in CITATION.finditer(line)
        if int(cited[1] or cited[2]) not in numbers
    ]

    assert unknown == []
