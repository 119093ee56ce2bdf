import json
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import parse_qrels
from assay_extensions.metaevaluation.qrels import kappas, paired, tables

AGREEMENT = {  # of irrCAC
    "ac1": 0.336721, "ac2_quadratic": 0.772263, "kappa": 0.250231, "kappa_quadratic": 0.512605,
    "alpha_nominal": 0.247795, "alpha_interval": 0.512036, "ac1_two_way": 0.437985,
}  # fmt: skip
COLUMNS = {"Precision": 1, "Recall": 2, "F1": 3, "Jaccard": 4, "ARI": 5, "Kappa_w": 9, "Kripp_a": 10}


def qrels_of(text: str) -> QrelsColumns:
    return parse_qrels(text.encode())


@pytest.mark.parametrize("level", [1, 2])
def test_answers_are_those_of_qrel_evaluate(data: Path, level: int) -> None:
    folder = data / "judges" / "rag25"
    truth, judge = (parse_qrels((folder / f"{name}.qrels").read_bytes()) for name in ("people", "machine"))
    answers = json.loads((folder / "qrel-evaluate.answers.json").read_text())[f"relevant_from_{level}"]
    agreement, topics, thresholds, confusion, leniency = tables(truth, judge, level=level)
    rows = {row[0]: row for row in topics.rows}
    by_topic = {pair.topic: kappas(pair, 4) for pair in paired(truth, judge)}
    assert len(rows) == len(answers) == 12
    for expected in answers:
        is_mean = expected["Topic"] == "MEAN"
        near = 1.2e-4 if is_mean else 6e-5  # the program rounds, and then takes means
        row = rows["all" if is_mean else expected["Topic"]]
        for name, column in COLUMNS.items():
            assert row[column] == pytest.approx(expected[name], abs=near), (name, row[0])
        if not is_mean:
            assert row[6:9] == (expected["TP"], expected["FP"], expected["FN"])
        for t in range(1, 5):
            for p in range(1, 5):
                value = thresholds.rows[t - 1][p] if is_mean else by_topic[expected["Topic"]][t, p]
                theirs = expected[f"Kappa@{t}v{p}"]
                assert value == pytest.approx(
                    float("nan") if theirs is None else theirs, abs=near, nan_ok=True
                )
    assert sum(sum(row[1:6]) for row in confusion.rows) == leniency.rows[-1][1] == 5163
    if level == 2:
        values = {row[0]: row[2] for row in agreement.rows}
        for name, value in AGREEMENT.items():
            assert values[name] == pytest.approx(value, abs=5e-7), name


def test_documents_that_the_judge_left_out_count_as_0() -> None:
    truth = qrels_of("1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n")
    judge = qrels_of("1 0 a 1\n1 0 b 2\n1 0 d 1\n")
    _, topics, _, confusion, leniency = tables(truth, judge, level=1, grades=(0, 1, 2, 3))

    assert topics.rows[0][:4] == ("1", pytest.approx(1 / 3), 0.5, 0.4)
    assert topics.rows[1][:4] == ("2", 0, 0, 0)
    assert [row[:5] for row in confusion.rows] == [
        (0, 0, 1, 1, 0),
        (1, 2, 0, 0, 0),
        (2, 0, 1, 0, 0),
        (3, 0, 0, 0, 0),
    ]
    assert [row[-1] for row in confusion.rows] == [1, 2, 0, 0]
    assert leniency.rows == [
        (0, 1, 2, 1, 0, 0), (1, 0, None, None, None, None), (2, 1, -1, 0, 0, 1), (3, 0, None, None, None, None),
        ("all", 2, 0.5, 0.5, 0, 0.5),
    ]  # fmt: skip


def test_qrels_without_a_common_topic_are_refused() -> None:
    with pytest.raises(InputError, match="no topic in common"):
        paired(qrels_of("1 0 a 1\n"), qrels_of("2 0 a 1\n"))
