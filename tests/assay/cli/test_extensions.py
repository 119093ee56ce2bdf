"""`assay extensions`, and commands that extensions add."""

from pathlib import Path

import pytest

from assay.cli.main import main
from tests.helpers.extensions import other_packages

APPLE = '''
"""Peel apples."""
from assay.cli.main import Command

EXAMPLE = "assay peel 3"
EXTENSION = Extension(name="apple", title="Apples", adds=(Command("peel", "peel apples", "apple"),))

def add_arguments(parser):
    parser.add_argument("n", type=int, help="number of apples")

def run(arguments):
    print(arguments.n, "apples peeled")
    return 0
'''


def test_list_has_package_version_and_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = "name\tversion\tpackage\tsource\tadds"
    assert main(["extensions"]) == 0
    assert capsys.readouterr().out.splitlines() == [header]

    with other_packages(tmp_path, apple=APPLE):
        assert main(["extensions"]) == 0

    row = "apple\t1.2\tapple-package\tapple:EXTENSION\tcommand peel"
    assert capsys.readouterr().out.splitlines() == [header, row]


def test_command_of_an_extension_runs_and_is_in_the_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with other_packages(tmp_path, apple=APPLE):
        assert main(["peel", "3"]) == 0
        assert capsys.readouterr().out == "3 apples peeled\n"
        with pytest.raises(SystemExit):
            main(["--help"])
        assert "  peel          peel apples\n" in capsys.readouterr().out

    with pytest.raises(SystemExit) as refused:
        main(["peel", "3"])
    assert refused.value.code == 2


@pytest.mark.parametrize("words", [["extensions"], ["peel"], ["evaluate", "--measure", "Elo", "-"]])
def test_extension_that_cannot_be_imported_is_named(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--qrels", "x"] if words[0] == "evaluate" else []
    with other_packages(tmp_path, apple="import worm"):
        assert main([*words, *options]) == 2

    message = capsys.readouterr().err
    assert (
        "the extension apple of apple-package 1.2 cannot be imported: ModuleNotFoundError: No module named 'worm'"
        in message
    )
