"""The library as a user installs it: a wheel in an empty virtual environment, without Django and without this folder.

The wheel is built from a copy of the sources. The environment gets the dependencies that the wheel itself declares,
as links to the packages installed here, so that the test needs no network and fails if a dependency is not declared.
"""

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest

from assay.version import VERSION
from tests.helpers.paths import ROOT

SCORES = """\
run	topic	measure	value
abacus	all	nDCG'	0.9644
abacus	all	AP(rel=2)'	0.8944
abacus	all	P(rel=2)@10'	0.2200
abacus	all	bpref(rel=2)	0.8556
abacus	all	judged@10	0.8517
"""
QUALIFIER = re.compile(r"[^\w.-].*")  # of a requirement: extra, version, condition


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the files that a checkout has."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "assay", source / "assay", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source))
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


@pytest.fixture(scope="module")
def environment(wheel: Path, metadata: Message, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and the dependencies that it declares."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for requirement in declared(metadata):
        package = distribution(requirement)
        for name in {path.parts[0] for path in package.files or []} - {"..", "__pycache__"}:
            (packages / name).symlink_to(package.locate_file(name))  # type: ignore[arg-type]
    python = str(folder / "bin" / "python")
    pip("--python", python, "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    return folder


def pip(*arguments: str) -> str:
    line = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(environment: Path, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of the environment, outside this folder and without its variables."""
    return subprocess.run(
        [environment / "bin" / program, *arguments],
        cwd=environment,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def declared(metadata: Message) -> list[str]:
    """Names of the dependencies, without those of extras."""
    requirements: list[str] = metadata.get_all("Requires-Dist", [])
    return [QUALIFIER.sub("", line) for line in requirements if "extra ==" not in line]


def test_wheel_contains_only_the_library(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert {name.split("/")[0] for name in names} == {"assay", f"assay-{VERSION}.dist-info"}
    assert "assay/protocols/shipped/arqmath-2020-task1.toml" in names
    assert "assay/samples/runs/abacus.tsv" in names


def test_wheel_declares_few_dependencies_and_those_of_the_site_as_an_extra(metadata: Message) -> None:
    assert metadata["Version"] == VERSION
    assert sorted(declared(metadata)) == ["lxml", "nh3", "numpy", "tqdm"]
    assert any(
        line.startswith("Django") and 'extra == "site"' in line
        for line in metadata.get_all("Requires-Dist", [])
    )


def test_versions_of_the_dependencies_are_those_that_the_wheel_accepts(environment: Path) -> None:
    assert pip("--python", str(environment / "bin" / "python"), "check") == "No broken requirements found.\n"


def test_django_is_not_in_the_environment(environment: Path) -> None:
    done = run(environment, "python", "-c", "import django")

    assert done.returncode == 1
    assert "No module named 'django'" in done.stderr


def test_library_is_imported_from_the_environment(environment: Path) -> None:
    done = run(environment, "python", "-c", "import assay; print(assay.__file__)")

    assert Path(done.stdout.strip()).is_relative_to(environment)


def test_installed_command_scores_a_known_run(environment: Path) -> None:
    done = run(environment, "python", "-c", "import assay.samples as s; print(s.path('qrels.txt').parent)")
    samples = Path(done.stdout.strip())
    assert samples.is_relative_to(environment)
    files = ["--qrels", str(samples / "qrels.txt"), str(samples / "runs" / "abacus.tsv")]

    done = run(environment, "assay", "evaluate", "--protocol", "arqmath-2020-task1", "--quiet", *files)

    assert (done.returncode, done.stdout, done.stderr) == (0, SCORES, "")


def test_every_module_of_the_library_can_be_imported(environment: Path) -> None:
    code = (
        "import importlib, pkgutil, sys, assay\n"
        "names = [module.name for module in pkgutil.walk_packages(assay.__path__, 'assay.')]\n"
        "with_httpx = {'assay.client.server', 'assay.client.files', 'assay.cli.remote_judging'}\n"
        "others = {'assay.__main__', *with_httpx}\n"
        "for name in set(names) - others: importlib.import_module(name)\n"
        "print(len(names) > 100, 'django' in sys.modules)"
    )

    done = run(environment, "python", "-W", "error", "-c", code)

    assert (done.stdout, done.stderr) == ("True False\n", "")
