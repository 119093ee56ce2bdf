"""Panels of judges, also on the grades of three real models."""

import json
from collections import Counter
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.formats.judgments.reader import parse_judgments
from assay_extensions.machines.model.evidence import Evidence
from assay_extensions.machines.work.panel import entropy, majority, median


def test_three_real_models_have_the_known_counts(data: Path) -> None:
    path = data / "judges/panel/grades.tsv"
    rows = [tuple(map(int, line.split("\t")[2:])) for line in path.read_text().splitlines()[1:]]
    known = json.loads(path.with_name("answers.json").read_text())

    medians = Counter(str(median(grades)) for grades in rows)
    majorities = Counter("none" if (grade := majority(grades)) is None else str(grade) for grades in rows)
    bits = [entropy(grades) for grades in rows]

    assert len(rows) == known["pairs"]
    assert medians == known["median_counts"]
    assert majorities == known["majority_counts"]
    assert sum(bits) / len(bits) == pytest.approx(known["mean_entropy_bits"], abs=1e-12)
    assert bits.count(0) == known["all_three_equal"]


GRADES = {"a": (3, 3, 0), "b": (0, 1, 3), "c": (2, 2, 2)}
KEYS = {3: "high", 2: "medium", 1: "low", 0: "not-relevant"}


@pytest.fixture
def members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three files of judgments; only the first two judged document d."""
    monkeypatch.chdir(tmp_path)
    for n, name in enumerate(("x", "y", "z")):
        grades = {docno: all_grades[n] for docno, all_grades in GRADES.items()} | ({"d": 1} if n < 2 else {})
        rows = [
            {"topic": "A.1", "docno": docno, "assessor": name, "choice": KEYS[grade], "grade": grade}
            for docno, grade in grades.items()
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        shares = {"a": {"high": 0.4, "low": 0.6}, "b": {"low": 1.0}, "c": {"medium": 1.0}, "d": {"low": 1.0}}
        evidence = [
            {
                "topic": "A.1",
                "docno": docno,
                "choice": KEYS[grade],
                "evidence": Evidence("", "", "", "read", shares[docno]).as_json(),
            }
            for docno, grade in grades.items()
        ]
        Path(f"{name}.evidence.jsonl").write_text("".join(json.dumps(row) + "\n" for row in evidence))
    return ["x.jsonl", "y.jsonl", "z.jsonl"]


@pytest.mark.parametrize(
    ("way", "grades", "without"),
    [
        ("median", {"a": 3, "b": 1, "c": 2}, 0),
        ("majority", {"a": 3, "c": 2}, 1),
        ("mean", {"a": 1, "b": 1, "c": 2}, 0),
    ],
)
def test_panel_has_the_units_that_all_members_judged(
    members: list[str], way: str, grades: dict[str, int], without: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["panel", *members, "--protocol", "arqmath-2020-task1", "--by", way, "--assessor", "panel"]

    status = main([*words, "--output", "panel.jsonl", "--table", "table.tsv"])

    rows = parse_judgments(Path("panel.jsonl").read_bytes(), "panel.jsonl").rows
    out = capsys.readouterr().out
    assert status == 0
    assert {row.docno: row.grade for row in rows} == grades
    assert {row.assessor for row in rows} == {"panel"}
    assert "3 units of 3 members" in out
    assert f"{without} without a majority" in out
    assert "all members agree on 1; mean entropy 0.834419 bits" in out
    assert "A.1\tb\t0\t1\t3\t1.584963" in Path("table.tsv").read_text()


def test_panels_that_cannot_be_made_are_refused(
    members: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--protocol", "arqmath-2020-task1", "--assessor", "panel", "--output", "panel.jsonl"]

    assert main(["panel", members[0], *words]) == 2
    assert "at least two members" in capsys.readouterr().err
    assert main(["panel", members[0], f"../{Path.cwd().name}/{members[0]}", *words]) == 2
    assert "the file is given twice; give each member once" in capsys.readouterr().err
    Path("z.evidence.jsonl").unlink()
    assert main(["panel", *members, "--by", "mean", *words]) == 2
    assert "--by mean needs z.evidence.jsonl" in capsys.readouterr().err
    Path("z.jsonl").write_text(Path("x.jsonl").read_text().replace('"A.1"', '"A.2"'))
    assert main(["panel", *members[1:], *words]) == 2
    assert "no unit is judged by all members" in capsys.readouterr().err
