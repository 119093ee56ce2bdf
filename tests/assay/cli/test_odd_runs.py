"""Runs of the field that differ from the rules of uploads: commands score them, with a warning where it matters."""

from pathlib import Path
from typing import NamedTuple

import pytest

import assay
from assay.cli.main import main
from assay.formats.compression import Limits
from assay.protocols.loader import shipped_text

QRELS = "1 0 d1 1\n2 0 d2 1\n"
RUN = "1 Q0 d1 1 2 t\n2 Q0 d3 1 2 t\n2 Q0 d2 2 1 t\n"  # RR is 1 and 1/2
EVALUATE = ("evaluate", "--measure", "RR", "--format", "json")


class Row(NamedTuple):
    """A row with a rank, as ir_datasets has it."""

    query_id: str
    doc_id: str
    score: float
    rank: int


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    return tmp_path


def score(
    folder: Path, capsys: pytest.CaptureFixture[str], run: str, *options: str, qrels: str = QRELS
) -> tuple[bool, str]:
    """Return whether the mean is 0.75, and the warnings."""
    (folder / "qrels").write_text(qrels)
    (folder / "run").write_text(run)
    assert main([*EVALUATE, "--quiet", "--qrels", str(folder / "qrels"), str(folder / "run"), *options]) == 0
    printed = capsys.readouterr()
    return '"value": 0.75' in printed.out, printed.err.replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("rank", "warning"),
    [
        ("131.4", "line 1: rank “131.4” is not a whole number of at most nine digits"),
        ("-", "line 1: rank “-” is not a whole number of at most nine digits"),
        ("NA", "line 1: rank “NA” is not a whole number of at most nine digits"),
    ],
)
def test_rank_that_nothing_uses_may_be_anything(
    folder: Path, capsys: pytest.CaptureFixture[str], rank: str, warning: str
) -> None:
    run = RUN.replace(" 1 2 t", f" {rank} 2 t", 1)

    assert score(folder, capsys, run) == (True, f"warning: run: {warning}\n")

    (folder / "qrels").write_text(QRELS)
    for command in ("tiers", "fuse"):
        options = ["--quiet", "--protocol", "trec-adhoc"]
        options += ["--qrels", str(folder / "qrels")] if command == "tiers" else ["--tag", "f"]
        (folder / "other").write_text(RUN.replace(" t\n", " o\n"))
        assert main([command, *options, str(folder / "run"), str(folder / "other")]) == 0
        assert warning in capsys.readouterr().err


@pytest.mark.parametrize("line", ["1 Q0 d1 3.5 t\n", "1 Q0 d1\u00a01 3.5 t\n"])
def test_rank_of_a_line_that_lacks_a_column_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    (folder / "run").write_text(line)

    assert main([*EVALUATE, "--qrels", str(folder / "qrels"), str(folder / "run")]) == 2
    assert "line 1: rank “d1" in capsys.readouterr().err


def test_rank_that_decides_must_be_a_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shipped_text("trec-adhoc").replace('formats = ["trec-6"]', 'formats = ["columns"]')
    text = text.replace("[pool]", '[runs.columns]\norder = ["topic", "docno", "rank"]\n\n[pool]')
    (folder / "own.toml").write_text(text)
    (folder / "run").write_text("1 d1 1\n1 d2 NA\n")
    options = ["--protocol", str(folder / "own.toml"), "--qrels", str(folder / "qrels"), str(folder / "run")]

    assert main(["evaluate", *options]) == 2
    assert "line 2: rank “NA” is not a whole number" in capsys.readouterr().err


def test_ranks_out_of_range_of_arqmath_are_only_a_warning_here(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RUN.replace(" 2 1 t", " 0 1 t")
    warning = "warning: run: line 3: the rank is outside 1 to 1,000\n"

    assert score(folder, capsys, run, "--protocol", "arqmath-2020-task1") == (True, warning)
    assert main(["check", "--protocol", "arqmath-2020-task1", str(folder / "run")]) == 1
    (folder / "m.csv").write_text("file,team,tag,kind\nrun,one,x,primary\n")
    pool = ["pool", "--protocol", "arqmath-2020-task1", "--runs", str(folder / "m.csv"), "--seed", "1"]
    assert main(pool) == 0
    of_memory = {"run": [Row("1", "d1", 2.0, 0)]}  # as PyTerrier counts
    evaluated = assay.evaluate({"1": {"d1": 1}}, of_memory, "RR", protocol="arqmath-2020-task1")
    assert evaluated.means.tolist() == [[1.0]]


def test_run_with_several_tags_is_scored_without_a_protocol(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RUN.replace("2 1 t", "2 1 u")

    is_right, warnings = score(folder, capsys, run)

    assert is_right
    assert warnings == "warning: run: lines 1, 3: the file has 2 tags: “t” (2 lines), “u” (1 line)\n"
    assert (
        main([*EVALUATE, "--qrels", str(folder / "qrels"), str(folder / "run"), "--protocol", "trec-adhoc"])
        == 2
    )


def test_document_that_is_the_topic_is_left_out_if_the_option_or_the_protocol_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = "1 Q0 1 1 9 t\n" + RUN.replace("2 Q0 d3", "2 Q0 d4")
    text = shipped_text("trec-adhoc")
    for rule in ("error", "ignore"):
        changed = text.replace("max_ranks = 1000", f'max_ranks = 1000\ntopic_documents = "{rule}"')
        (folder / f"{rule}.toml").write_text(changed)
    kept = "warning: run: line 1: the document has the id of its topic\n"
    left_out = kept.replace("topic\n", "topic, and is left out\n")

    assert score(folder, capsys, run) == (False, kept)
    assert score(folder, capsys, run, "--ignore-topic-documents") == (True, left_out)
    assert score(folder, capsys, run, "--protocol", str(folder / "ignore.toml")) == (True, left_out)
    assert main(["check", "--protocol", "trec-adhoc", str(folder / "run")]) == 0
    assert "warning: line 1: the document has the id of its topic" in capsys.readouterr().out
    assert main(["check", "--protocol", str(folder / "error.toml"), str(folder / "run")]) == 1
    by_chance = run + "".join(f"{n} Q0 d1 1 1 t\n" for n in range(3, 20))
    assert score(folder, capsys, by_chance) == (False, "")
    of_memory = {"1": {"1": 9, "d1": 2}, "2": {"d3": 2, "d2": 1}}
    with pytest.warns(assay.InputWarning, match="is left out"):
        result = assay.evaluate(
            {"1": {"d1": 1}, "2": {"d2": 1}}, of_memory, "RR", ignore_topic_documents=True
        )
    assert result.means.tolist() == [[0.75]]


def test_local_file_has_no_limit_of_lines_or_bytes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of uploads are lowered below the size of the file."""
    monkeypatch.setattr(Limits.__new__, "__defaults__", (10, 10, 100, 4096, 2))

    assert score(folder, capsys, RUN) == (True, "")
    assert main(["check", "--protocol", "trec-adhoc", str(folder / "run")]) == 0
    trec_eval = ["trec_eval", "-m", "recip_rank", str(folder / "qrels"), str(folder / "run")]
    assert main(trec_eval) == 0
