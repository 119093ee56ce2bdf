"""A command that runs in the folder of the sample files."""

import pytest

from assay import samples
from assay.cli.main import main
from tests.samples.reading import Assay


@pytest.fixture
def assay(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Assay:
    """Run a command in the folder of the samples; gives what it prints, and checks the exit status."""
    monkeypatch.chdir(samples.path("qrels.txt").parent)

    def run(*words: str, status: int = 0) -> str:
        capfdbinary.readouterr()
        actual = main(list(words))
        output = capfdbinary.readouterr()
        assert actual == status, output.err.decode()
        return output.out.decode()

    return run
