import json
from pathlib import Path

import pytest

from assay.cli.main import main
from assay_extensions.metaevaluation.judgments import Kind, check, read_judged

BANK = {"query_id": "1", "title_query": "S", "format_version": "v3", "nugget_bank": {
    "Who?": {"question": "Who?", "query_id": "1", "aggregator_type": "OR",
             "answers": {"he": {"answer": "he", "references": [{"doc_id": "d1"}]}}}}}  # fmt: skip
HIGH = {"query_id": "1", "nugget_bank": {"Who?": {"question": "Who?", "importance": "high"}}}
V4 = {"query": "S", "qid": "2", "nuggets": [{"text": "rain was early", "importance": "vital"}]}


def test_confidence_is_read() -> None:
    rows, problems = read_judged(b"14 Q0 d1 2 0.8 made\n14 Q0 d2 0 1 made\n", "x")
    assert (rows[0], problems) == (("14", "d1", 2, 0.8, "made"), [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("14 Q0 d2 x 0.8 made", "x: line 2: grade: got x; use 0, 1, 2"),
        ("14 Q0 d2 7 0.8 made", "x: line 2: grade: got 7; use 0, 1, 2"),
        ("14 Q0 d2 1 80 made", "x: line 2: confidence: got 80; use a number from 0 to 1"),
        ("14 Q0 d2 1 nan made", "x: line 2: confidence: got nan; use a number from 0 to 1"),
        ("14 Q0 d2 1 1 other", "x: line 2: run: got other; the file is of made"),
        ("14 Q0 d1 1 1 made", "x: line 2: docno: d1 is in line 1 too, of topic 14"),
        ("14 Q0 d2 1", "x: line 2: got 4 columns; expected topic Q0 docno grade confidence run"),
    ],
)
def test_wrong_lines_have_a_line_and_a_key(line: str, message: str) -> None:
    rows, problems = read_judged(f"14 Q0 d1 2 0.8 made\n{line}\n".encode(), "x", (0, 1, 2))
    assert (len(rows), problems) == (1, [message])


@pytest.mark.parametrize(
    ("name", "text", "kind", "n_rows", "problems"),
    [
        ("made.qrels.txt", "1 0 a 2\n2 0 a 1\n", "qrels", 2, []),
        ("made.qrels", "1 0 a 2\n3 0 a 1\n", "qrels", 2, ["no judgments of topic 2", "unknown topic 3"]),
        ("made.qrels.txt", "", "qrels", 0, ["the file has no judgments"]),
        ("made.nuggets.jsonl", f"{json.dumps(BANK)}\n{json.dumps(V4)}\n", "nuggets", 2, []),
        (
            "made.nuggets.jsonl",
            json.dumps(HIGH),
            "nuggets",
            0,
            ["nugget_bank.Who?.importance: expected vital"],
        ),
        ("made.nuggets.jsonl", "{}\n", "nuggets", 0, ["line 1: "]),
        ("made.eval.txt", "r 1 M 1\nr 2 M 1\nr all M 1\n", "scores", 1, []),
        ("made.eval.txt", "r 1 M 1\nr 2 M 1\nr all M 1\ns 1 M 1\n", "scores", 1, ["run s: no M for topic 2"]),
        ("made.eval.txt", "r 1 M 1\nr 2 M 1\nr 1 N 1\nr all M 1\n", "scores", 2, ["run r: no N for topic 2"]),
        ("made.eval.txt", "r 1 M .5\nr 2 M .5\nr 3 M .5\n", "scores", 1, ["line 3: unknown topic 3"]),
        (
            "made.eval.txt",
            "r 1 M 1\nr 2 M 1\nr 1 M 0\n",
            "scores",
            0,
            ["line 3: M of run r, topic 1, is in line 1 too"],
        ),
        ("tmp-made.eval.txt", "r all M 1\n", "partial", 0, ["a partial run"]),
        ("made.judgment.json", "{}", "unknown", 0, []),
        ("made.config.yml", "name: made", "other", 0, []),
    ],
)
def test_files_of_a_judge(name: str, text: str, kind: Kind, n_rows: int, problems: list[str]) -> None:
    checked = check(text.encode(), name, topics=("1", "2"))

    assert (checked.kind, checked.n_rows) == (kind, n_rows)
    assert len(checked.problems) == len(problems)
    assert all(
        line.startswith(f"{name}: ") and words in line
        for line, words in zip(checked.problems, problems, strict=True)
    )


def test_command_checks_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topics = tmp_path / "topics.txt"
    topics.write_text("1\n2\n")
    folder = tmp_path / "judge"
    folder.mkdir()
    (folder / "made.qrels.txt").write_text("1 0 a 2\n2 0 a 9\n")
    (folder / "made.notes").write_text("x")

    assert main(["meta", "check", str(folder)]) == 0
    assert "made.notes\tunknown" in capsys.readouterr().out
    options = ["--topics", str(topics), "--protocol", "arqmath-2020-task1", str(folder)]
    assert main(["meta", "check", *options]) == 1
    error = capsys.readouterr().err
    assert "made.qrels.txt: line 2: grade: got 9; use 0, 1, 2, 3" in error
    assert "no judgments of topic 2" in error
    assert main(["meta", "check", "--kind", "scores", str(folder / "made.qrels.txt")]) == 1
    assert "the order of the columns is not clear" in capsys.readouterr().err
    table = folder / "made.eval.txt"
    table.write_text("r 1 M 1\nr 2 M 1\n")
    assert main(["meta", "check", str(table)]) == 1
    assert "name the form: ir_measures, tot" in capsys.readouterr().err
    assert main(["meta", "check", "--form", "ir_measures", "--topics", str(topics), str(table)]) == 0
    assert main(["meta", "check", "--form", "tot", "--topics", str(topics), str(table)]) == 1
    assert "unknown topic M" in capsys.readouterr().err
    assert main(["meta", "check", "--form", "tot", str(folder / "made.qrels.txt")]) == 2
    assert "--form: A form was chosen, but no file is a table of scores" in capsys.readouterr().err
