"""A real S3-compatible service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import s3


@pytest.fixture
def service(tmp_path: Path) -> Iterator[s3.Service]:
    running = s3.start(tmp_path / "objects")
    yield running
    running.stop()
