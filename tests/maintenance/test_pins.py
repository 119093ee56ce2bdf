"""The pins in `constraints.txt`: every package that a requirement names has one, in the range that is accepted."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from assay.version import VERSION
from server.paths import ROOT

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
    versions = re.findall(
        r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )

    assert versions[0] == VERSION
