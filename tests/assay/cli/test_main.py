"""The command `assay` as a whole: help, examples, errors, exit status, closed pipes and Ctrl-C."""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from assay.cli.main import COMMANDS, load, main
from assay.version import VERSION
from server.paths import ROOT

MODULES = {name: load(name) for name, command in COMMANDS.items() if not command.main}
SHARED = {
    "--protocol",
    "--topics",
    "--qrels",
    "--formulas",
    "--measure",
    "--seed",
    "--quiet",
    "--processes",
    "--level",
}
OF_A_SITE = {
    "login",
    "topics",
    "submit",
    "runs",
    "watch",
    "results",
    "download",
    "site",
}  # tests/test_program.py
QRELS = ["--protocol", "arqmath-2020-task1", "--qrels", "qrels.txt"]


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sample files, as the current folder."""
    shutil.copytree(ROOT / "assay" / "samples", tmp_path / "samples")
    monkeypatch.chdir(tmp_path / "samples")
    return tmp_path / "samples"


def parsers(module: ModuleType) -> list[argparse.ArgumentParser]:
    """The parser of a subcommand, and those of its actions."""
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [parser, *(subparser for action in actions for subparser in action.choices.values())]


def help_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def examples(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The examples in the help of every subcommand and action."""
    lines = []
    for name, module in MODULES.items():
        actions = [list(action.choices) for action in parsers(module)[0]._actions if action.dest == "action"]
        for words in [[name], *([name, action] for names in actions for action in names)]:
            lines += re.findall(r"^  (assay .+)$", help_of(capsys, *words), re.MULTILINE)
    return lines


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(capsys)

    assert dict(re.findall(r"^  ([a-z_-]+) +(.+)$", text, re.MULTILINE)).items() >= {
        (name, command.title) for name, command in COMMANDS.items()
    }


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])

    assert capsys.readouterr().out == f"assay {VERSION}\n"


def test_every_example_works_on_the_sample_files(
    samples: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program `python` of an example is that of the tests: Debian has only `python3`."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    lines = examples(capsys)

    assert {shlex.split(line)[1] for line in lines} == set(MODULES)
    for line in dict.fromkeys(lines):  # a command and its action may have the same one
        if shlex.split(line)[1] in OF_A_SITE:
            continue
        shutil.rmtree(samples / "converted", ignore_errors=True)
        assert main(shlex.split(line)[1:]) == 0, line


@pytest.mark.parametrize("option", sorted(SHARED))
def test_an_option_has_the_same_help_in_every_command(option: str) -> None:
    helps = {
        re.sub(r" \(default: [^)]*\)$", "", str(action.help))
        for module in MODULES.values()
        for parser in parsers(module)
        for action in parser._actions
        if option in action.option_strings
        # the export of a collection takes several, and training a fusion takes one measure
        and action.metavar not in {"[SPLIT=]FILE", "NAME"}
    }

    assert len(helps) == 1


def test_no_option_takes_several_words() -> None:
    for name, module in MODULES.items():
        for parser in parsers(module):
            for action in parser._actions:
                assert not action.option_strings or action.nargs in {None, 0}, (name, action.option_strings)


def test_every_argument_has_help() -> None:
    for name, module in MODULES.items():
        for parser in parsers(module):
            for action in parser._actions:
                is_list_of_actions = isinstance(action, argparse._SubParsersAction)
                assert action.help or is_list_of_actions, (name, action.dest)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "assay: the following arguments are required: COMMAND; see assay --help\n"),
        (["evaluate"], "assay evaluate: the following arguments are required: --qrels, RUN; see"),
        (["score"], "assay: argument COMMAND: invalid choice: 'score'"),
        (["--qrels"], "assay: "),
        (
            ["qrels", "convert", "qrels.txt"],
            "assay qrels convert: the following arguments are required: --output",
        ),
        (
            ["tiers", *QRELS, "--seed", "x", "run"],
            "assay tiers: argument --seed: 'x' is not a whole number from 0",
        ),
        (["slt", "--processes", "9999999999999999999999"], "assay slt: argument --processes: "),
    ],
)
def test_wrong_use_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)

    captured = capsys.readouterr()
    assert ended.value.code == 2
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("--help\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", *QRELS[:2], "none.tsv"], "assay check: none.tsv: No such file or directory\n"),
        (
            ["pool", *QRELS[:2], "--runs", "none.csv", "--seed", "1"],
            "assay pool: none.csv: No such file or directory\n",
        ),
        (["preview", *QRELS[:2], "--runs", "runs"], "assay preview: runs: Is a directory\n"),
        (["evaluate", *QRELS, "none.tsv"], "assay evaluate: none.tsv: No such file or directory\n"),
        (
            ["qrels", "convert", "none", "--output", "x"],
            "assay qrels convert: none: No such file or directory\n",
        ),
        (["agreement", "none.csv"], "assay agreement: none.csv: No such file or directory\n"),
        (["tiers", *QRELS, "none.tsv"], "assay tiers: none.tsv: No such file or directory\n"),
        (["reuse", *QRELS, "--runs", "none.csv"], "assay reuse: none.csv: No such file or directory\n"),
        (["curves", *QRELS, "none.tsv"], "assay curves: none.tsv: No such file or directory\n"),
        (["trec_eval", "none", "runs/abacus-trec.txt"], "trec_eval: none: No such file or directory\n"),
        (["slt", "--input", "none.tsv"], "assay slt: none.tsv: No such file or directory\n"),
        (["cluster", "none.tsv"], "assay cluster: none.tsv: No such file or directory\n"),
        (["protocol", "show", "none"], "assay protocol show: no protocol 'none'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_file_that_does_not_exist_is_one_line_and_status_2(
    words: list[str], message: str, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("assay_extensions.turkle")
    assert main(words) == 2

    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("output", ["/dev/full"])
def test_a_full_disk_is_one_line(output: str, samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "formulas-slt.tsv", "--output", output]) == 2

    assert capsys.readouterr().err.splitlines()[-1] == "assay cluster: No space left on device"


def test_quiet_prints_nothing_on_standard_error(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = [*QRELS[:2], "--runs", "manifest.csv"]
    for words in (
        ["pool", *manifest, "--seed", "7"],
        ["preview", *manifest],
        ["evaluate", *QRELS, "runs/abacus.tsv"],
        ["tiers", *QRELS, "runs/abacus.tsv", "runs/lemma.tsv"],
        ["slt", "--input", "formulas-slt.tsv"],
        ["cluster", "formulas-latex.tsv"],
    ):
        assert main([*words, "--quiet"]) == 0, words
        assert capsys.readouterr().err == "", words


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["evaluate", "--help"],
        ["protocol", "list"],
        ["evaluate", *QRELS, "runs/abacus.tsv", "--quiet"],
    ],
    ids=["help", "help of a command", "list", "scores"],
)
def test_a_closed_pipe_ends_a_command_silently(words: list[str], samples: Path) -> None:
    source, sink = os.pipe()
    os.close(source)

    done = subprocess.run(
        [sys.executable, "-m", "assay", *words],
        stdout=sink,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )

    os.close(sink)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("processes", ["1", "3"])
def test_ctrl_c_ends_a_command_without_a_traceback(processes: str, samples: Path) -> None:
    runs = []
    for n in range(4):  # the second process waits for a pipe too
        runs.append(f"pipe{n}")
        os.mkfifo(runs[-1])
    words = ["evaluate", *QRELS, *runs, "--quiet", "--processes", processes]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a background process inherits "ignore"
    with subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        stderr=subprocess.PIPE,
        env=environment,
        process_group=0,
    ) as process:
        signal.signal(signal.SIGINT, before)
        pipe = _opened_by_the_command(Path(runs[0]))
        os.killpg(process.pid, signal.SIGINT)
        try:
            _, error = process.communicate(timeout=120)
        finally:
            process.kill()  # or a failure would wait for it without end

    os.close(pipe)
    assert (process.returncode, error) == (130, b"")


def _opened_by_the_command(pipe: Path) -> int:
    """Wait until the command reads the pipe."""
    for _ in range(2400):
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(pipe)


IMPORTS = """\
import sys
from assay.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""


def imported_by(*words: str) -> set[str]:
    """The modules that a command imports."""
    line = [sys.executable, "-c", IMPORTS, *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
    return set(done.stderr.split())


def test_evaluate_imports_only_what_it_needs(samples: Path) -> None:
    modules = imported_by("evaluate", *QRELS, "runs/abacus.tsv", "--quiet")

    assert "assay.measures.scores" in modules
    slow = {"tqdm", "lxml", "nh3", "numpy.ma", "numpy.random", "multiprocessing", "assay.html", "assay.pools"}
    assert not modules & {*slow, "assay.statistics", "assay.formats.documents", "django"}


def test_listing_protocols_does_not_import_numpy() -> None:
    assert not imported_by("protocol", "list") & {"numpy", "lxml", "tqdm"}


def test_help_imports_no_command() -> None:
    modules = imported_by("--help")

    assert not {module for module in modules if module.startswith("assay.cli.commands")}
    assert not {module for module in modules if re.match(r"assay_extensions\.\w+\.", module)}
    assert "numpy" not in modules
