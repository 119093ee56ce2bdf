"""The documentation, built once for all processes of a test session."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs.outputs import ROOT


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site; fails with the warnings if there are any."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if shared.name.startswith("popen-") else shared  # the folder of all xdist workers
    output = shared / "documentation"
    with (shared / "documentation.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (output / "done").exists():
            command = [
                sys.executable,
                "-m",
                "sphinx",
                "-W",
                "--keep-going",
                "-q",
                "-b",
                "html",
                "docs",
                str(output),
            ]
            build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert build.returncode == 0, build.stderr
            (output / "done").touch()
    return output
