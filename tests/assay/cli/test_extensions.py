"""`assay extensions`, and commands that extensions add."""

import re
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.version import VERSION
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
    pytest.importorskip("assay_extensions.turkle")
    assert main(["extensions"]) == 0
    before = capsys.readouterr().out.splitlines()
    assert before[0] == "name\tversion\tpackage\tsource\tadds"
    assert f"turkle\t{VERSION}\tassay\tassay_extensions.turkle:EXTENSION\tcommand turkle" in before

    with other_packages(tmp_path, apple=APPLE):
        assert main(["extensions"]) == 0

    row = "apple\t1.2\tapple-package\tapple:EXTENSION\tcommand peel"
    assert capsys.readouterr().out.splitlines() == [before[0], *sorted([row, *before[1:]])]


def test_command_of_an_extension_runs_and_is_in_the_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with other_packages(tmp_path, apple=APPLE):
        assert main(["peel", "3"]) == 0
        assert capsys.readouterr().out == "3 apples peeled\n"
        with pytest.raises(SystemExit):
            main(["--help"])
        assert re.search(r"^  peel +peel apples$", capsys.readouterr().out, re.MULTILINE)

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


WASTED = """
from assay.protocols.measures import MeasureFamily
FAMILY = dict(title="ranks wasted", compute="wasted:kernel", has_level=False, cutoff="optional", has_prime=True)
FAMILY |= dict(name="Wasted")
def kernel(hits, judged, measure):
    return judged.n_graded(1) / (measure.k + 1)
CHANGE
EXTENSION = Extension(name="wasted", title="Wasted", adds=(MeasureFamily(**FAMILY),))
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "FAMILY['name'] = 'AP'",
            "the extension wasted adds the measure AP, which Assay has already; leave wasted out with ASSAY_EXTENSIONS",
        ),
        (
            "FAMILY['compute'] = 'wasted:kernle'",
            (
                "the extension wasted: measure Wasted: wasted:kernle cannot be imported: "
                "AttributeError: module 'wasted' has no attribute 'kernle'"
            ),
        ),
        (
            "FAMILY['compute'] = 'wasted:FAMILY'",
            "the extension wasted: measure Wasted: wasted:FAMILY is not a function",
        ),
        *[
            (
                f"FAMILY['{key}'] = {value}",
                (
                    "the extension wasted of wasted-package 1.2 cannot be imported: ValueError: measure Wasted: "
                    f"{key}: {expected}"
                ),
            )
            for key, value, expected in [
                ("cutoff", "True", "expected 'never', 'optional', 'required', 'share', got True"),
                ("has_level", "1", "expected bool, got 1"),
                ("level", "True", "expected int, got True"),
                ("title", "'ranks {x}'", "expected {k} and {recall} in braces only, got 'ranks {x}'"),
                ("parameters", "{'cost': 0.5}", "expected objects of Parameter by their names"),
                ("counts", "'wasted:kernel'", 'expected with the summary "ratio of sums" only'),
            ]
        ],
    ],
)
def test_list_names_what_is_wrong_with_an_extension(
    change: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with other_packages(tmp_path, wasted=WASTED.replace("CHANGE", change)):
        assert main(["extensions"]) == 2

    assert message in capsys.readouterr().err


def test_measure_that_assay_has_already_is_refused_where_it_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--qrels", str(samples.path("qrels.txt")), str(samples.path("runs/abacus.tsv"))]
    with other_packages(tmp_path, wasted=WASTED.replace("CHANGE", "FAMILY['name'] = 'AP'")):
        assert main(["evaluate", "--measure", "AP", *files]) == 2

    assert "the extension wasted adds the measure AP, which Assay has already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("measure", "change", "message"),
    [
        ("Wasted@3", "", ""),
        (
            "Wasted",
            "",
            (
                "wasted:kernel fails: TypeError: unsupported operand type(s) for +: 'NoneType' and 'int' "
                "(wasted.py, line 7)"
            ),
        ),
        (
            "Wasted@3",
            "kernel = lambda *_: 7",
            "wasted:kernel must return an array with a number for each of the 5 topics of the qrels, got 7",
        ),
        (
            "Wasted@3",
            "kernel = lambda hits, *_: hits.grade",
            "wasted:kernel must return an array with a number for each of the 5 topics of the qrels, got shape (24,)",
        ),
        (
            "Wasted@3",
            "FAMILY |= dict(counts='wasted:kernel', summary='ratio of sums')",
            "wasted:kernel must return an array with a row of numbers for each of the 5 topics of the qrels, got shape",
        ),
        ("Wasted@3", "FAMILY['compute'] = 'waste'", "waste cannot be imported: ModuleNotFoundError"),
    ],
)
def test_kernel_that_cannot_be_used_is_named(
    measure: str, change: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--qrels", str(samples.path("qrels.txt")), str(samples.path("runs/abacus.tsv"))]
    with other_packages(tmp_path, wasted=WASTED.replace("CHANGE", change)):
        assert main(["evaluate", "--measure", measure, *files]) == (2 if message else 0)

    written = capsys.readouterr().err
    assert (
        f"the extension wasted: measure Wasted: {message}" in written if message else "wasted" not in written
    )


def test_command_without_its_functions_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with other_packages(tmp_path, apple=APPLE.replace("def run", "def start")):
        assert main(["peel", "3"]) == 2

    message = "the extension apple: command peel: apple:run cannot be imported: AttributeError"
    assert message in capsys.readouterr().err


def test_command_without_an_example_is_run_and_has_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with other_packages(tmp_path, apple=APPLE.replace('EXAMPLE = "assay peel 3"', "")):
        assert main(["peel", "3"]) == 0
        with pytest.raises(SystemExit):
            main(["peel", "--help"])

    text = capsys.readouterr().out
    assert "number of apples" in text
    assert "example" not in text
