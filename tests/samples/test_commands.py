"""Each sample file is read by the commands that it is for."""

import json
from pathlib import Path

import pytest

from assay import samples
from tests.samples.conftest import FORMULA_TASK, FORMULAS, RUNS, TASK, Assay, lines_of, rows_of


def test_check_accepts_every_run_of_the_manifest(assay: Assay) -> None:
    reports = json.loads(
        assay("check", "--protocol", TASK, "--topics", "topics.xml", "--format", "json", *RUNS)
    )

    warnings = {
        report["file_name"]: [warning["code"] for warning in report["warnings"]] for report in reports
    }
    assert warnings == {
        "abacus.tsv": [],
        "abacus-text.tsv": ["ties"],
        "lemma.tsv": ["missing-topics"],
        "baseline.tsv.gz": [],
    }


@pytest.mark.parametrize("protocol", [TASK, "trec-adhoc", "protocol.toml"])
def test_check_accepts_the_run_in_the_form_of_trec(assay: Assay, protocol: str) -> None:
    line = assay("check", "--protocol", protocol, "--topics", "topics.txt", "runs/abacus-trec.txt")

    assert "accepted, 0 errors, 0 warnings (trec-6, tag abacus, 29 lines, 5 topics)" in line


def test_the_broken_run_has_the_documented_errors(assay: Assay) -> None:
    words = ("--topics", "topics.txt", "--format", "json", "runs/broken.tsv")

    (report,) = json.loads(assay("check", "--protocol", TASK, *words, status=1))

    lines = {(error["code"], *(line["number"] for line in error["lines"])) for error in report["errors"]}
    assert lines == {
        ("score", 2),
        ("columns", 3),
        ("repeated", 4),
        ("unknown-topic", 5),
        ("score", 6),
        ("rank", 7),
        ("several-tags", 1, 8),
    }
    assert report["warnings"] == []


def test_the_broken_run_is_not_scored(assay: Assay) -> None:
    assert assay("evaluate", "--protocol", TASK, "--qrels", "qrels.txt", "runs/broken.tsv", status=2) == ""


def test_check_accepts_the_formula_runs(assay: Assay) -> None:
    words = ("--topics", "formula-topics.xml", "--format", "json", *FORMULAS)
    runs = ("runs/trees.tsv", "runs/strings.tsv")

    reports = json.loads(assay("check", "--protocol", FORMULA_TASK, *runs, *words))

    assert [[warning["code"] for warning in report["warnings"]] for report in reports] == [
        [],
        ["formula-in-comment", "rank-gaps"],
    ]


def test_the_protocol_has_no_errors(assay: Assay) -> None:
    assert assay("protocol", "check", "protocol.toml").startswith("protocol.toml: no errors")


def test_preview_has_the_size_of_the_pool(assay: Assay) -> None:
    table = assay("preview", "--protocol", TASK, "--runs", "manifest.csv", "--deepest", "8")

    (row,) = (line.split() for line in table.splitlines() if line.split()[:2] == ["3", "2"])
    assert row[2:6] == ["28", "5.6", "4", "7"]


def test_the_formula_pool_has_the_judged_formulas(assay: Assay) -> None:
    words = ("--runs", "formula-manifest.csv", *FORMULAS, "--seed", "7")

    pool = assay("pool", "--protocol", FORMULA_TASK, *words)

    units = {tuple(line.split("\t")[:2]) for line in pool.splitlines()}
    assert units == {(topic, visual) for topic, _, visual, _ in lines_of("formula-qrels.txt")}


def test_the_known_items_are_found_at_ranks_one_and_three(assay: Assay, tmp_path: Path) -> None:
    contributions = tmp_path / "contributions.tsv"
    words = ("--runs", "known-items-manifest.csv", "--known-items", "known-items.tsv", "--seed", "7")

    pool = assay("pool", "--protocol", "ntcir-11-math", *words, "--contributions", str(contributions))

    assert pool == "K.1\t2102\t1\nK.2\t3102\t1\nK.3\t6001\t1\n"
    assert contributions.read_text() == "K.1\t2102\tLemma\tlookup\t1\nK.2\t3102\tLemma\tlookup\t3\n"


def test_grades_of_instances_become_those_of_formulas(assay: Assay, tmp_path: Path) -> None:
    output = tmp_path / "qrels"
    words = (*FORMULAS, "--to", "arqmath", "--output", str(output))

    assay("qrels", "convert", "formula-qrels-instances.txt", *words)

    assert (output / "qrels.tsv").read_bytes() == samples.path("formula-qrels.txt").read_bytes()


def test_qrels_are_in_the_form_that_assay_writes(assay: Assay, tmp_path: Path) -> None:
    for name in ("qrels.txt", "qrels-marek.txt", "formula-qrels-instances.txt"):
        output = tmp_path / name

        assay("qrels", "convert", name, "--to", "arqmath", "--output", str(output))

        assert (output / "qrels.tsv").read_bytes() == samples.path(name).read_bytes()


def test_qrels_can_be_split(assay: Assay, tmp_path: Path) -> None:
    output = tmp_path / "split"
    words = ("--test-share", "0.4", "--seed", "7", "--output", str(output))

    assay("qrels", "split", "qrels.txt", *words)

    train, test = (
        {line.split()[0] for line in (output / name).read_text().splitlines()}
        for name in ("train.txt", "test.txt")
    )
    assert (len(train), len(test)) == (3, 2)
    assert not train & test


def test_judgments_can_be_anonymized(assay: Assay, tmp_path: Path) -> None:
    output = tmp_path / "judgments.csv"

    assay("qrels", "anonymize", "judgments.csv", "--output", str(output))

    text = output.read_text(encoding="utf-8")
    assert "ines" not in text
    assert "marek" not in text
    assert "not displayed" not in text


def test_tiers_rank_the_runs(assay: Assay) -> None:
    words = ("--qrels", "qrels.txt", "--measure", "nDCG'", "--table", "ranking", *RUNS)

    ranking = rows_of(assay("tiers", "--protocol", TASK, *words))

    assert [row["run"] for row in ranking] == ["abacus", "abacus-text", "lemma", "baseline"]
    assert [row["tier"] for row in ranking] == ["a", "ab", "ab", "b"]


def test_compare_has_the_difference_of_two_runs(assay: Assay) -> None:
    words = ("--qrels", "qrels.txt", "--measure", "nDCG'", "--table", "summary")

    (row,) = rows_of(assay("compare", "--protocol", TASK, *words, "runs/abacus.tsv", "runs/lemma.tsv"))

    assert (row["wins"], row["ties"], row["losses"]) == ("5", "0", "0")
    assert float(row["p_randomization"]) == 0.0625 == 2 / 2**5


def test_reuse_shows_what_shallower_pools_miss(assay: Assay) -> None:
    words = ("--qrels", "qrels.txt", "--runs", "manifest.csv", "--measure", "nDCG'", "--table", "depths")

    depths = rows_of(assay("reuse", "--protocol", "protocol.toml", *words))

    assert [depths[n]["pooled"] for n in (0, -1)] == ["19", "28"]
    assert [depths[n]["of_all_relevant"] for n in (0, -1)] == ["0.8182", "1.0000"]


def test_collections_have_rankings_by_label_by_assessor_and_by_instances(assay: Assay) -> None:
    by = {
        table: rows_of(
            assay(
                "collections", "--measure", "nDCG'", "--label", "difficulty", "--table", table, "tracks.toml"
            )
        )
        for table in ("complexity", "groups", "units")
    }

    assert ("AP correlation", "easy – hard") in [tuple(row.values())[:2] for row in by["complexity"]]
    assert "nDCG': marek" in by["groups"][0]
    assert ("instances", "16") in [(row["Units"], row["Judged: Total"]) for row in by["units"]]


def test_record_of_the_pool_is_that_of_the_command(assay: Assay, tmp_path: Path) -> None:
    words = ("--protocol", FORMULA_TASK, "--runs", "formula-manifest.csv", *FORMULAS, "--seed", "7")
    assay("pool", *words, "--output", str(tmp_path / "pool.tsv"))

    made, stored = (
        json.loads(path.read_bytes())
        for path in (tmp_path / "pool.tsv.json", samples.path("formula-pool.tsv.json"))
    )

    assert made | {"protocol": {}} == stored | {"protocol": {}}


def test_every_formula_has_an_slt_string(assay: Assay) -> None:
    strings = rows_of(assay("slt", "--input", "formulas-slt.tsv"))

    assert len(strings) == 50
    assert all(row["slt"] for row in strings)
    assert {row["slt"] for row in strings if row["formula_id"] in {"2001", "2002"}} == {"[O!root,w[N!2]]"}


def test_cluster_completes_the_visual_ids(assay: Assay, tmp_path: Path) -> None:
    output = tmp_path / "report.tsv"

    rows = rows_of(assay("cluster", "formulas-latex.tsv", "formulas-slt.tsv", "--report", str(output)))

    visual = {row["formula_id"]: row["visual_id"] for row in rows}
    lines = samples.path("formulas-latex.tsv").read_text(encoding="utf-8").splitlines()[1:]
    given = {cells[0]: cells[6] for cells in (line.split("\t") for line in lines)}
    assert {formula: visual[formula] for formula in visual if visual[formula] != given[formula]} == {
        "2402": "7"
    }
    assert len(output.read_text().splitlines()) == 1  # the ids of the index and the strings agree


def test_cluster_makes_the_same_groups_without_the_given_ids(assay: Assay) -> None:
    names = ("formulas-latex.tsv", "formulas-slt.tsv")

    kept, made = (rows_of(assay("cluster", *names, *words)) for words in ((), ("--from-scratch",)))

    ids = [[row["visual_id"] for row in rows] for rows in (kept, made)]
    pairs = set(zip(*ids, strict=True))
    assert len(pairs) == len(set(ids[0])) == len(set(ids[1])) == 38
