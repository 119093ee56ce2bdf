"""`make audit`: checks the pinned packages for known vulnerabilities, with pip-audit and npm audit.

A vulnerability fails the check unless `maintenance/audit.toml` accepts it, with a reason and a last day, which
pip-audit's own option for ignored vulnerabilities does not have. If an advisory source cannot be reached, one line says
so, and the check fails; with `--allow-unreachable` it does not, so that CI works offline.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = ROOT / "maintenance" / "audit.toml"
PIP = f"{sys.executable} -m pip install --quiet --no-compile -r requirements-maintenance.txt"
PIP_AUDIT = (
    f"{sys.executable} -m pip_audit -r constraints.txt --no-deps --disable-pip --format json --progress-spinner off "
    "--timeout 30"
)
NPM_AUDIT = "npm audit --json --package-lock-only"
REPORTS = {"dependencies", "vulnerabilities"}  # keys of a report, as opposed to an error in JSON
# What the tools print if there is no network, or if the server refuses.
UNREACHABLE = (
    "audit endpoint returned an error",
    "Connection",
    "ENOTFOUND",
    "ECONNREFUSED",
    "EAI_AGAIN",
    "ETIMEDOUT",
    "timed out",
    "Could not find a version",
)


@dataclass(frozen=True)
class Finding:
    """A known vulnerability of a pinned package, under each of its names."""

    package: str
    ids: tuple[str, ...]
    advice: str

    def __str__(self) -> str:
        return f"{self.package}: {', '.join(self.ids)} ({self.advice})"


@dataclass(frozen=True)
class Accepted:
    """A vulnerability that does not fail the check until a date."""

    id: str
    reason: str
    until: date


class Unreachable(Exception):
    """The advisory source gave no answer, and why."""


def python_findings(report: dict[str, Any]) -> Iterator[Finding]:
    """The findings in a report of pip-audit.

    Raises:
        Unreachable: The source knew none of the packages.
    """
    packages = report["dependencies"]
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        raise Unreachable(skipped[0] if skipped else "there are no packages")
    for package in packages:
        for problem in package.get("vulns", []):
            fixed = ", ".join(problem["fix_versions"])
            yield Finding(
                f"{package['name']} {package['version']}",
                (problem["id"], *problem["aliases"]),
                f"fixed in {fixed}" if fixed else "no fixed version yet",
            )


def npm_findings(report: dict[str, Any]) -> Iterator[Finding]:
    """The findings in a report of npm audit; packages that only contain a vulnerable one are left out."""
    for name, package in report["vulnerabilities"].items():
        for problem in package["via"]:
            if isinstance(problem, dict):
                ghsa = problem["url"].rpartition("/")[2]
                yield Finding(f"{name} {problem['range']}", (ghsa,), problem["title"])


def problems(findings: Iterable[Finding], accepted: Sequence[Accepted], today: date) -> Iterator[str]:
    """Each finding that is not accepted today, as a line."""
    for finding in findings:
        entry = next((entry for entry in accepted if entry.id in finding.ids), None)
        if entry is None:
            yield str(finding)
        elif entry.until < today:
            yield f"{finding}; it was accepted until {entry.until}: {entry.reason}"


def read_accepted(path: Path = ACCEPTED) -> list[Accepted]:
    """The accepted vulnerabilities; each entry has an id, a reason and a date."""
    return [Accepted(**entry) for entry in tomllib.loads(path.read_text()).get("accepted", [])]


def report_of(command: Sequence[str], work: Path = ROOT) -> dict[str, Any]:
    """The JSON that a tool prints.

    Raises:
        Unreachable: The tool could not get the advisories.
    """
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "")])
    try:
        done = subprocess.run(
            command, cwd=work, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
        )
    except (FileNotFoundError, PermissionError) as error:  # the second if a folder of PATH may not be read
        raise Unreachable(f"{command[0]} is not installed") from error
    with suppress(ValueError):
        report: dict[str, Any] = json.loads(done.stdout)
        if REPORTS & report.keys():
            return report
    lines = (done.stdout + done.stderr).splitlines()
    line = next((line for line in lines if any(word in line for word in UNREACHABLE)), None)
    if line is None:
        raise RuntimeError(f"`{' '.join(command[:3])}` failed:\n" + "\n".join(lines[-20:]))
    raise Unreachable(line.strip()[:200])


def check_python() -> list[Finding]:
    if subprocess.run(PIP.split(), cwd=ROOT, check=False, capture_output=True).returncode:
        raise Unreachable("pip-audit cannot be installed")
    return list(python_findings(report_of(PIP_AUDIT.split())))


def check_npm() -> list[Finding]:
    return list(npm_findings(report_of(NPM_AUDIT.split())))


def main(arguments: Sequence[str] = ()) -> int:
    findings: list[Finding] = []
    is_complete = True
    for name, check in (("Python", check_python), ("front-end", check_npm)):
        try:
            known = check()
        except Unreachable as error:
            sys.stdout.write(f"audit: {name} packages were not checked: {error}\n")
            is_complete = False
            continue
        sys.stdout.write(f"audit: {name} packages have {len(known)} known vulnerabilities\n")
        findings += known
    lines = list(problems(findings, read_accepted(), datetime.now(UTC).date()))
    for line in lines:
        sys.stderr.write(f"audit: {line}\n")
    if lines:
        sys.stderr.write(
            "audit: renew the pins (CONTRIBUTING.md), or accept in maintenance/audit.toml with a reason.\n"
        )
    return int(bool(lines) or not (is_complete or "--allow-unreachable" in arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
