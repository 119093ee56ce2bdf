"""The documentation, built once for all processes of a test session."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from maintenance.docs.outputs import ROOT

OUTPUT = ROOT / "docs" / "_build" / "html"
DOCTREES = ROOT / "docs" / "_build" / "doctrees"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site; fails with the warnings if there are any."""
    pytest.importorskip("assay_extensions.turkle")  # its pages are about all of Assay
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if shared.name.startswith("popen-") else shared  # the folder of all xdist workers
    with (shared / "documentation.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "documentation.built").exists():
            _build()
            (shared / "documentation.built").touch()
    return OUTPUT


def _build() -> None:
    """As `make docs` does, and after it only what has changed."""
    options = ["-c", "maintenance/docs", "-q", "-W", "--keep-going", "-b", "html", "-d", str(DOCTREES)]
    command = [sys.executable, "-m", "sphinx", *options, "docs", str(OUTPUT)]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if build.returncode:
        shutil.rmtree(DOCTREES, ignore_errors=True)  # or the next build would not repeat the warnings
    assert build.returncode == 0, build.stderr
