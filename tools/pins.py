"""`make pins`: renews the pins of all Python packages.

It resolves the names in `requirements*.txt` to their newest versions within the ranges of `pyproject.toml` and
`tools/pins.toml`, and writes them into `requirements*.txt`; `constraints.txt` gets them and all that they pull in. It
runs on the oldest Python that Assay supports, so that every pin can be installed there.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = (3, 11)
PIN = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,-]+\])?==(?P<version>[^\s;]+)(?P<marker>\s*;.*)?")
RANGE = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?(?P<range>[<>=~!].*)?")


def key(name: str) -> str:
    """The name by which package indexes compare: Django is django, and types_tqdm is types-tqdm."""
    return re.sub(r"[-_.]+", "-", name).lower()


def ranges(project: Path, limits: Path) -> dict[str, str]:
    """The accepted versions of packages: those of the project, narrowed by the limits."""
    tables = tomllib.loads(project.read_text())["project"]
    accepted: dict[str, str] = {}
    for line in [*tables["dependencies"], *tables["optional-dependencies"]["site"]]:
        match = RANGE.fullmatch(line)
        if match and match["range"]:
            accepted[key(match["name"])] = match["range"]
    for name, limit in tomllib.loads(limits.read_text())["limits"].items():
        accepted[key(name)] = ",".join(filter(None, [accepted.get(key(name), ""), limit["range"]]))
    return accepted


def wanted(files: Iterable[Path], accepted: Mapping[str, str]) -> list[str]:
    """The pinned packages as requirements with ranges in place of versions."""
    pins = [match for file in files for line in file.read_text().splitlines() if (match := PIN.match(line))]
    return [
        f"{pin['name']}{pin['extras'] or ''}{accepted.get(key(pin['name']), '')}{pin['marker'] or ''}"
        for pin in pins
    ]


def resolve(requirements: Iterable[str], accepted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Key of each package that pip would install -> its name and version."""
    limits = ROOT / ".pins-limits.txt"
    limits.write_text("".join(f"{name}{range_}\n" for name, range_ in accepted.items()))
    # fmt: off
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
               "--disable-pip-version-check", "--report", "-", "-c", str(limits), *requirements]
    # fmt: on
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    finally:
        limits.unlink()
    packages = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    newest = {key(package["name"]): (package["name"], package["version"]) for package in packages}
    newest.pop("pip", None)  # `make setup` brings its own
    return newest


def renewed(text: str, resolved: Mapping[str, tuple[str, str]]) -> str:
    """A requirements file with the resolved versions; names, comments and markers stay."""

    def replace(match: re.Match[str]) -> str:
        version = resolved.get(key(match["name"]), ("", match["version"]))[1]
        return f"{match['name']}{match['extras'] or ''}=={version}{match['marker'] or ''}"

    return "\n".join(
        PIN.sub(replace, line, count=1) if PIN.match(line) else line for line in text.split("\n")
    )


def constraints(text: str, resolved: Mapping[str, tuple[str, str]]) -> str:
    """The constraints file with all resolved packages under the comment that it has."""
    comments = [line for line in text.splitlines() if line.startswith("#")]
    pins = [f"{name}=={version}" for _, (name, version) in sorted(resolved.items())]
    return "\n".join([*comments, *pins, ""])


def changes(old: str, new: str) -> list[str]:
    """What is different in the constraints, as lines."""
    before, after = (
        {key(match["name"]): match["version"] for line in text.splitlines() if (match := PIN.match(line))}
        for text in (old, new)
    )
    return [
        f"{name}: {before.get(name, 'new')} -> {after.get(name, 'not needed anymore')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def main() -> int:
    if sys.version_info[:2] != PYTHON:
        sys.stderr.write(
            f"pins: run it with Python {'.'.join(map(str, PYTHON))}, the oldest that Assay supports.\n"
        )
        return 1
    files = sorted(ROOT.glob("requirements*.txt"))
    accepted = ranges(ROOT / "pyproject.toml", ROOT / "tools" / "pins.toml")
    resolved = resolve(wanted(files, accepted), accepted)
    for file in files:
        file.write_text(renewed(file.read_text(), resolved))
    path = ROOT / "constraints.txt"
    old = path.read_text()
    path.write_text(constraints(old, resolved))
    lines = changes(old, path.read_text())
    sys.stdout.write("\n".join([*lines, f"{len(lines)} pins changed.", ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
