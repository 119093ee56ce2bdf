"""The values that the README of the samples works out by hand are those that the commands print."""

import re

import pytest

from assay import samples
from tests.samples.conftest import FORMULA_TASK, FORMULAS, TASK, Assay, lines_of, rows_of, value

DEPTHS = ("--depth", "primary=3", "--depth", "alternate=2")


@pytest.mark.parametrize("options", [("--protocol", TASK, *DEPTHS), ("--protocol", "protocol.toml")])
def test_the_judged_units_are_the_pool(assay: Assay, options: tuple[str, ...]) -> None:
    pool = assay("pool", *options, "--runs", "manifest.csv", "--topics", "topics.xml", "--seed", "7")

    units = {tuple(line.split("\t")[:2]) for line in pool.splitlines()}
    sizes = {code: sum(topic == code for topic, _ in units) for code, _ in units}
    assert sizes == {"A.1": 7, "A.2": 6, "A.3": 5, "A.4": 6, "A.5": 4}
    assert {docno for topic, docno in units if topic == "A.1"} == {"11", "12", "21", "22", "23", "24", "33"}
    assert units == {(topic, docno) for topic, _, docno, _ in lines_of("qrels.txt")} | {("A.1", "24")}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("nDCG'", 0.9219),
        ("AP(rel=2)'", 0.8056),
        ("P(rel=2)@5'", 0.6),
        ("P(rel=2)@5", 0.4),
        ("bpref(rel=2)", 0.7778),
        ("judged@5", 0.6),
        ("judged@10", 0.625),
    ],
)
def test_scores_of_one_topic_are_those_worked_out_by_hand(
    assay: Assay, measure: str, expected: float
) -> None:
    words = ("--per-topic", "--measure", measure, "--qrels", "qrels.txt", "runs/abacus.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    assert value(scores, "A.1", measure) == expected


@pytest.mark.parametrize(
    ("run", "by_topic", "mean"),
    [
        ("abacus", (0.9219, 0.9762, 0.9725, 1.0, 0.9514), 0.9644),
        ("lemma", (0.8365, 0.5784, 0.8175, 0.7350, 0.0), 0.5935),
    ],
)
def test_means_are_those_worked_out_by_hand(
    assay: Assay, run: str, by_topic: tuple[float, ...], mean: float
) -> None:
    words = ("--per-topic", "--measure", "nDCG'", "--qrels", "qrels.txt", f"runs/{run}.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    assert tuple(value(scores, f"A.{n}", "nDCG'") for n in range(1, 6)) == by_topic
    assert value(scores, "all", "nDCG'") == mean == pytest.approx(sum(by_topic) / 5, abs=1e-4)


def test_both_forms_of_the_abacus_run_have_the_same_scores(assay: Assay) -> None:
    words = ("--protocol", TASK, "--qrels", "qrels.txt", "runs/abacus.tsv", "runs/abacus-trec.txt")

    scores = rows_of(assay("evaluate", *words))

    by_run = [
        [(row["measure"], row["value"]) for row in scores if row["run"] == run]
        for run in ("abacus", "abacus-trec")
    ]
    assert by_run[0] == by_run[1] != []


def test_trec_eval_prints_the_values_worked_out_by_hand(assay: Assay) -> None:
    words = ("-q", "-J", "-l", "2", "-m", "map", "-m", "bpref", "-m", "P.5", "-m", "ndcg")

    output = assay("trec_eval", *words, "qrels.txt", "runs/abacus-trec.txt")

    lines = [line.split() for line in output.splitlines()]
    values = {measure: number for measure, topic, number in lines if topic == "A.1"}
    assert values == {"map": "0.8056", "bpref": "0.7778", "P_5": "0.6000", "ndcg": "0.9219"}


def test_tied_documents_are_ordered_by_id_and_not_by_rank(assay: Assay) -> None:
    words = ("--measure", "nDCG@3", "--per-topic", "--qrels", "qrels.txt", "runs/abacus-text.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    with_83_third = (1 + 3 / 1.5850 + 3 / 2) / (3 + 3 / 1.5850 + 1 / 2)
    assert value(scores, "A.5", "nDCG@3") == pytest.approx(with_83_third, abs=1e-4)


def test_a_near_duplicate_takes_the_grade_of_the_judged_document(assay: Assay) -> None:
    words = ("--per-topic", "--qrels", "qrels.txt", "--duplicates", "duplicates.tsv", "runs/abacus.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    assert value(scores, "A.1", "AP(rel=2)'") == 0.8667


def test_formula_scores_count_each_visual_id_once(assay: Assay) -> None:
    words = ("--qrels", "formula-qrels.txt", *FORMULAS, "--per-topic")

    scores = assay("evaluate", "--protocol", FORMULA_TASK, "runs/trees.tsv", *words)

    assert value(scores, "B.1", "AP(rel=2)'") == 0.7


def test_kappa_is_the_one_worked_out_by_hand(assay: Assay) -> None:
    (row,) = rows_of(assay("agreement", "judgments.csv", "--level", "2", "--table", "pairs"))

    assert (row["first"], row["second"], row["units"]) == ("ines", "marek", "12")
    assert float(row["kappa"]) == 0.5385 == round(56 / 104, 4)
    assert float(row["kappa_two_way"]) == 0.8235 == round(56 / 68, 4)


def test_agreement_skips_the_non_answer_and_the_replaced_judgment(assay: Assay) -> None:
    (row,) = rows_of(assay("agreement", "judgments.csv", "--protocol", TASK, "--table", "all"))

    assert (row["judgments"], row["without_grade"], row["repeated"]) == ("40", "1", "0")


def test_the_commands_of_the_readme_run(assay: Assay) -> None:
    readme = (samples.path("qrels.txt").parent / "README.md").read_text(encoding="utf-8")

    commands = re.findall(r"`assay ([a-z_]+ [^`]+)`", readme)

    assert {command.split()[0] for command in commands} == {
        "check",
        "pool",
        "evaluate",
        "trec_eval",
        "agreement",
        "nuggets",
    }
    for command in commands:
        assert assay(*command.split(), status=1 if "broken" in command else 0)
