"""The library as a user installs it: a wheel in an empty virtual environment, without Django and without this folder.

An sdist is built from a copy of the sources, and the wheel from the sdist. The environment gets the dependencies that
the wheel itself declares, as links to the packages installed here, so that the test needs no network and fails if a
dependency is not declared.
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
from server.paths import ROOT

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
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, built from the files that a checkout has, and the wheel, built from the sdist."""
    folder = tmp_path_factory.mktemp("distributions")
    source = folder / "source"
    for name in ("assay", "assay_extensions"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    output = folder / "dist"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(output)],
        cwd=source, capture_output=True, check=True,
    )  # fmt: skip
    (sdist,) = output.glob("*.tar.gz")
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(output), str(sdist))
    return output


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    (path,) = distributions.glob("*.whl")
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

    assert {name.split("/")[0] for name in names} == {
        "assay",
        "assay_extensions",
        f"assay-{VERSION}.dist-info",
    }
    assert not [name for name in names if re.match("assay_extensions/[^/]+/(site|tests)/", name)]
    assert "assay/protocols/shipped/arqmath-2020-task1.toml" in names
    assert "assay/samples/runs/abacus.tsv" in names


def test_wheel_declares_few_dependencies_and_its_types(wheel: Path, metadata: Message) -> None:
    assert metadata["Version"] == VERSION
    assert sorted(declared(metadata)) == ["lxml", "nh3", "numpy", "tqdm"]
    assert sorted(metadata.get_all("Provides-Extra") or []) == ["baselines", "client", "formulas", "parquet"]
    with zipfile.ZipFile(wheel) as archive:
        assert "assay/py.typed" in archive.namelist()


def test_editable_install_of_make_setup_needs_nothing_else(tmp_path: Path) -> None:
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(tmp_path)]

    pip("install", *options, "--editable", str(ROOT))

    assert next(tmp_path.glob("*.pth")).read_text().strip() == str(ROOT)


def test_package_index_can_show_both_files(distributions: Path) -> None:
    files = [str(path) for path in distributions.iterdir()]
    assert len(files) == 2

    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_links_of_the_description_leave_the_package_index(metadata: Message) -> None:
    description = str(metadata.get_payload())

    targets = re.findall(r"\]\(([^)]+)\)", description)

    assert len(targets) > 10
    assert all(target.startswith("https://") for target in targets)


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
        "import importlib, pkgutil, sys, assay, assay_extensions as e\n"
        "names = [module.name for module in pkgutil.walk_packages(assay.__path__, 'assay.')]\n"
        "names += [module.name for module in pkgutil.walk_packages(e.__path__, 'assay_extensions.')]\n"
        "of_extras = {'assay.formulas.grouping'}\n"  # which needs the extra `formulas`
        "for name in set(names) - {'assay.__main__'} - of_extras: importlib.import_module(name)\n"
        "print(len(names) > 100, 'django' in sys.modules)"
    )

    done = run(environment, "python", "-W", "error", "-c", code)

    assert (done.stdout, done.stderr) == ("True False\n", "")
