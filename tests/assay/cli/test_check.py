"""`assay check`: what it accepts, reports and repairs."""

import gzip
import json
import os
import threading
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.protocols.loader import load_protocol
from tests.helpers.pool_files import write_run_files
from tests.helpers.runs import GOOD

PROTOCOL = load_protocol("arqmath-2020-task1")
P = ["--protocol", "arqmath-2020-task1"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_run_files(tmp_path)


def test_clean_and_warned_files_exit_with_0(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["check", *P, str(files / "good.tsv"), str(files / "windows.tsv.gz")])

    out = capsys.readouterr().out
    assert status == 0
    assert "good.tsv: accepted, 0 errors, 0 warnings (arqmath-5, tag run-1, 12 lines, 3 topics)" in out
    assert "warning: lines end with CR LF, as on Windows" in out


@pytest.mark.parametrize("form", ["text", "json"])
def test_file_with_a_name_that_is_not_utf_8_is_shown_with_backslashes(
    files: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    named = os.fsdecode(os.fsencode(files) + b"/run-\xff.tsv")
    Path(named).write_bytes(GOOD)

    status = main(["check", *P, "--format", form, named])

    assert status == 0
    assert r"run-\udcff.tsv" in capfd.readouterr().out


def test_one_bad_file_exits_with_1_and_names_the_line(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["check", *P, str(files / "good.tsv"), str(files / "bad.tsv")])

    out = capsys.readouterr().out
    assert status == 1
    assert "error: line 2: score “NaN” is not a finite number" in out
    assert "       2 | A.1\t102\t2\tNaN\trun-1" in out


def test_run_is_checked_against_the_topics(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["check", *P, "--topics", str(files / "topics.txt"), str(files / "good.tsv")])

    assert status == 0
    assert "no line for 1 of 4 topics: A.4" in capsys.readouterr().out


def test_report_is_printed_as_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", *P, "--format", "json", str(files / "bad.tsv"), str(files / "good.tsv")])

    bad, good = json.loads(capsys.readouterr().out)
    assert bad["errors"][0]["lines"] == [{"number": 2, "text": "A.1\t102\t2\tNaN\trun-1", "note": ""}]
    assert (good["n_lines"], good["errors"]) == (12, [])


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", *P, "missing.tsv"],
        ["check", "--protocol", "nonesuch", "x.tsv"],
        ["check", *P, "--topics", "missing.txt", "x.tsv"],
        ["pool", *P, "--runs", "missing.csv", "--seed", "1"],
    ],
)
def test_unreadable_files_exit_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"assay {arguments[0]}: ")
    assert "Errno" not in message


def test_run_is_read_from_a_pipe(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = files / "pipe.tsv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(GOOD),))
    writer.start()

    status = main(["check", *P, str(pipe)])

    writer.join()
    assert status == 0
    assert (
        "pipe.tsv: accepted, 0 errors, 0 warnings (arqmath-5, tag run-1, 12 lines" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["pool", *P, "--runs", "m.csv", "--seed", "-1"],
        ["pool", *P, "--runs", "m.csv", "--seed", "1", "--depth", "45"],
    ],
)
def test_wrong_use_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)

    assert stopped.value.code == 2
    assert "--help" in capsys.readouterr().err


def test_repaired_files_are_written_to_the_folder(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "repaired"
    status = main(
        [
            "check",
            *P,
            "--repair",
            str(out),
            *(str(files / n) for n in ("good.tsv", "bad.tsv", "windows.tsv.gz")),
        ]
    )

    assert status == 1
    assert [path.name for path in out.iterdir()] == ["windows.tsv"]
    assert main(["check", *P, str(out / "windows.tsv")]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out.splitlines()[-1]


def test_repair_never_overwrites(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "windows.tsv").write_text("mine")

    assert main(["check", *P, "--repair", str(files), str(files / "windows.tsv.gz")]) == 2
    assert (files / "windows.tsv").read_text() == "mine"


def test_command_looks_up_formulas_in_index_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = tmp_path / "index.tsv"
    index.write_text("10\t5\t4\tquestion\tv1\tx\n11\t6\t4\tanswer\tv2\tx\n12\t6\t4\tcomment\tv1\tx\n")
    run = tmp_path / "run.tsv"
    formulas = ["10\t5", "11\t6", "12\t6", "99\t5"]
    run.write_text("".join(f"B.1\t{pair}\t{k}\t{5 - k}\trun\n" for k, pair in enumerate(formulas, 1)))
    check_it = ["check", "--protocol", "arqmath-2021-task2", str(run), "--formulas"]

    status = main([*check_it, str(index)])
    assert status == 1
    out = capsys.readouterr().out
    assert "the formula is not in the collection" in out
    assert "1 of 4 lines name formulas of comments" in out

    assert main([*check_it, str(run)]) == 2
    assert "run.tsv is neither XML nor" in capsys.readouterr().err


def test_description_of_the_system_in_the_first_line_of_an_ntcir_run_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.txt"
    path.write_text("<SYSDESC>BM25 over <mi> tokens</SYSDESC>\nN1 0 f1 1 2.5 ours\nN1 0 f2 x 1.5 ours\n")

    assert main(["check", "--protocol", "ntcir-12-wikipedia", str(path)]) == 1
    assert "line 3" in capsys.readouterr().out
    path.write_text(path.read_text().replace(" x ", " 2 "))
    assert main(["check", "--protocol", "ntcir-12-wikipedia", str(path)]) == 0
