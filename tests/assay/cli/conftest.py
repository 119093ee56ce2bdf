"""Small files for the commands of analysis."""

from pathlib import Path

import pytest

from tests.helpers.score_files import small_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Qrels, three runs and a manifest."""
    return small_files(tmp_path)


@pytest.fixture
def three(folder: Path) -> list[str]:
    return [str(folder / f"{name}.tsv") for name in ("good", "poor", "short")]
