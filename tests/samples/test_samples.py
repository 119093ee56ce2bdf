"""The sample files: each is read by the commands that it is for, and the values in their README are right."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main

TASK = "arqmath-2020-task1"
FORMULA_TASK = "arqmath-2021-task2"
RUNS = ("runs/abacus.tsv", "runs/abacus-text.tsv", "runs/lemma.tsv", "runs/baseline.tsv.gz")
DEPTHS = ("--depth", "primary=3", "--depth", "alternate=2")
MAX_BYTES = 60_000

Rows = list[dict[str, str]]
Assay = Callable[..., str]


@pytest.fixture
def assay(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Assay:
    """Run a command in the folder of the samples; gives what it prints, and checks the exit status."""
    monkeypatch.chdir(samples.path("qrels.txt").parent)

    def run(*words: str, status: int = 0) -> str:
        capfdbinary.readouterr()
        actual = main(list(words))
        output = capfdbinary.readouterr()
        assert actual == status, output.err.decode()
        return output.out.decode()

    return run


def rows_of(text: str) -> Rows:
    """The rows of one TSV table with a header; comment lines are left out."""
    header, *lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("# ")]
    return [dict(zip(header, line, strict=True)) for line in lines]


def value(text: str, topic: str, measure: str) -> float:
    """The value of a measure in the output of `evaluate`."""
    (row,) = (row for row in rows_of(text) if (row["topic"], row["measure"]) == (topic, measure))
    return float(row["value"])


def lines_of(name: str) -> list[list[str]]:
    """The lines of a sample file as words."""
    return [line.split() for line in samples.path(name).read_text(encoding="utf-8").splitlines()]


# The files


def test_names_lists_every_file_of_the_folder() -> None:
    folder = samples.path("qrels.txt").parent

    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*.*") if file.suffix != ".pyc"}

    assert set(samples.names()) == files - {"__init__.py", "README.md"}
    assert all(samples.path(name).is_file() for name in samples.names())


def test_an_unknown_name_is_refused_with_the_available_names() -> None:
    with pytest.raises(FileNotFoundError, match=r"'qrel.txt'; use one of .*\bqrels\.txt\b"):
        samples.path("qrel.txt")


def test_the_readme_lists_every_file() -> None:
    readme = (samples.path("qrels.txt").parent / "README.md").read_text(encoding="utf-8")

    missing = [name for name in samples.names() if f"`{name}`" not in readme]

    assert missing == []


def test_the_samples_stay_small() -> None:
    assert sum(samples.path(name).stat().st_size for name in samples.names()) < MAX_BYTES


def test_text_files_are_utf8_and_end_with_one_line_feed() -> None:
    for name in samples.names():
        if not name.endswith(".gz"):
            data = samples.path(name).read_bytes()
            assert data.decode().rstrip("\n") + "\n" == data.decode(), name
            assert b"\r" not in data, name


def test_the_compressed_run_has_no_time_and_no_name() -> None:
    data = samples.path("runs/baseline.tsv.gz").read_bytes()

    assert data[3:8] == bytes(5)
    assert gzip.decompress(data).startswith(b"A.1\t33\t1\t")


def test_both_forms_of_the_abacus_run_have_the_same_rows() -> None:
    trec = [[topic, docno, *rest] for topic, _, docno, *rest in lines_of("runs/abacus-trec.txt")]

    assert trec == lines_of("runs/abacus.tsv")


def test_all_forms_of_the_topics_have_the_same_codes() -> None:
    codes = [word for (word,) in lines_of("topics.txt")]
    text = samples.path("topics.jsonl").read_text(encoding="utf-8")
    topics = [json.loads(line) for line in text.splitlines()]
    labels = samples.path("labels.csv").read_text(encoding="utf-8").splitlines()[1:]

    assert [topic["code"] for topic in topics] == codes
    assert [",".join((topic["code"], *topic["labels"].values())) for topic in topics] == labels


def test_every_formula_of_a_document_is_in_each_index() -> None:
    text = samples.path("documents.jsonl").read_text(encoding="utf-8")

    for form in ("latex", "slt", "opt"):
        lines = samples.path(f"formulas-{form}.tsv").read_text(encoding="utf-8").splitlines()[1:]
        in_posts = [line.split("\t") for line in lines if "\tcomment\t" not in line]
        assert len(in_posts) == text.count("math-container")
        for formula, post, *_ in in_posts:
            (document,) = (line for line in text.splitlines() if f'id=\\"{formula}\\"' in line)
            assert json.loads(document)["docno"] == post


# Runs


def test_check_accepts_every_run_of_the_manifest(assay: Assay) -> None:
    reports = json.loads(
        assay("check", "--protocol", TASK, "--topics", "topics.xml", "--format", "json", *RUNS)
    )

    warnings = {report["name"]: [warning["code"] for warning in report["warnings"]] for report in reports}
    assert warnings == {
        "abacus.tsv": [],
        "abacus-text.tsv": ["ties"],
        "lemma.tsv": ["missing-topics"],
        "baseline.tsv.gz": [],
    }


@pytest.mark.parametrize("protocol", [TASK, "trec-adhoc", "protocol.toml"])
def test_check_accepts_the_run_in_the_form_of_trec(assay: Assay, protocol: str) -> None:
    assay("check", "--protocol", protocol, "--topics", "topics.txt", "runs/abacus-trec.txt")


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
    assay("evaluate", "--protocol", TASK, "--qrels", "qrels.txt", "runs/broken.tsv", status=2)


def test_check_accepts_the_formula_runs(assay: Assay) -> None:
    words = ("--topics", "formula-topics.xml", "--format", "json", "--formulas", "formulas-latex.tsv")
    runs = ("runs/trees.tsv", "runs/strings.tsv")

    reports = json.loads(assay("check", "--protocol", FORMULA_TASK, *runs, *words))

    assert [[warning["code"] for warning in report["warnings"]] for report in reports] == [
        [],
        ["formula-in-comment", "rank-gaps"],
    ]


# Pools


@pytest.mark.parametrize("options", [("--protocol", TASK, *DEPTHS), ("--protocol", "protocol.toml")])
def test_the_judged_units_are_the_pool(assay: Assay, options: tuple[str, ...]) -> None:
    pool = assay("pool", *options, "--runs", "manifest.csv", "--topics", "topics.xml", "--seed", "7")

    units = {tuple(line.split("\t")[:2]) for line in pool.splitlines()}
    sizes = {code: sum(topic == code for topic, _ in units) for code, _ in units}
    assert sizes == {"A.1": 7, "A.2": 6, "A.3": 5, "A.4": 6, "A.5": 4}
    assert {docno for topic, docno in units if topic == "A.1"} == {"11", "12", "21", "22", "23", "24", "33"}
    assert units == {(topic, docno) for topic, _, docno, _ in lines_of("qrels.txt")} | {("A.1", "24")}


def test_preview_has_the_size_of_the_pool(assay: Assay) -> None:
    table = assay("preview", "--protocol", TASK, "--runs", "manifest.csv", "--deepest", "8")

    (row,) = (line.split() for line in table.splitlines() if line.split()[:2] == ["3", "2"])
    assert row[2:6] == ["28", "5.6", "4", "7"]


def test_the_formula_pool_has_the_judged_formulas(assay: Assay) -> None:
    words = ("--runs", "formula-manifest.csv", "--formulas", "formulas-latex.tsv", "--seed", "7")

    pool = assay("pool", "--protocol", FORMULA_TASK, *words)

    units = {tuple(line.split("\t")[:2]) for line in pool.splitlines()}
    assert units == {(topic, visual) for topic, _, visual, _ in lines_of("formula-qrels.txt")}


def test_the_known_items_are_found_at_ranks_one_and_three(assay: Assay, tmp_path: Path) -> None:
    contributions = tmp_path / "contributions.tsv"
    words = ("--runs", "known-items-manifest.csv", "--known-items", "known-items.tsv", "--seed", "7")

    pool = assay("pool", "--protocol", "ntcir-11-math", *words, "--contributions", str(contributions))

    assert pool == "K.1\t2102\t1\nK.2\t3102\t1\nK.3\t6001\t1\n"
    assert contributions.read_text() == "K.1\t2102\tLemma\tlookup\t1\nK.2\t3102\tLemma\tlookup\t3\n"


# Scores


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
    words = ("-J", "-l", "2", "-m", "map", "-m", "bpref", "-m", "P.5", "-m", "ndcg")

    lines = [line.split() for line in assay("trec_eval", "-q", *words, "qrels.txt", "runs/abacus-trec.txt").splitlines()]  # fmt: skip  # noqa: E501

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
    words = ("--qrels", "formula-qrels.txt", "--formulas", "formulas-latex.tsv", "--per-topic")

    scores = assay("evaluate", "--protocol", FORMULA_TASK, "runs/trees.tsv", *words)

    assert value(scores, "B.1", "AP(rel=2)'") == 0.7


# Qrels and judgments


def test_grades_of_instances_become_those_of_formulas(assay: Assay, tmp_path: Path) -> None:
    output = tmp_path / "qrels"
    words = ("--formulas", "formulas-latex.tsv", "--to", "arqmath", "--output", str(output))

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

    topics = {name: {line.split()[0] for line in (output / f"{name}.txt").read_text().splitlines()}
              for name in ("train", "test")}  # fmt: skip
    assert (len(topics["train"]), len(topics["test"])) == (3, 2)
    assert not topics["train"] & topics["test"]


def test_judgments_can_be_anonymized(assay: Assay, tmp_path: Path) -> None:
    output = tmp_path / "judgments.csv"

    assay("qrels", "anonymize", "judgments.csv", "--output", str(output))

    text = output.read_text(encoding="utf-8")
    assert "ines" not in text
    assert "marek" not in text
    assert "not displayed" not in text


def test_kappa_is_the_one_worked_out_by_hand(assay: Assay) -> None:
    (row,) = rows_of(assay("agreement", "judgments.csv", "--level", "2", "--table", "pairs"))

    assert (row["first"], row["second"], row["units"]) == ("ines", "marek", "12")
    assert float(row["kappa"]) == 0.5385 == round(56 / 104, 4)
    assert float(row["kappa_two_way"]) == 0.8235 == round(56 / 68, 4)


def test_agreement_skips_the_non_answer_and_the_replaced_judgment(assay: Assay) -> None:
    (row,) = rows_of(assay("agreement", "judgments.csv", "--protocol", TASK, "--table", "all"))

    assert (row["judgments"], row["without_grade"], row["repeated"]) == ("40", "1", "0")


@pytest.mark.parametrize(("assessor", "name"), [("ines", "qrels.txt"), ("marek", "qrels-marek.txt")])
def test_the_qrels_are_the_current_grades_of_an_assessor(assessor: str, name: str) -> None:
    lines = samples.path("judgments.csv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split(",") for line in lines]
    judgments = [dict(zip(header, row, strict=True)) for row in rows]

    current = [row for row in judgments if row["assessor"] == assessor and row["is_current"] == "True"]

    grades = [[row["topic"], "0", row["docno"], row["grade"]] for row in current if row["grade"]]
    assert grades == lines_of(name)


# Analyses


def test_tiers_rank_the_runs(assay: Assay) -> None:
    words = ("--qrels", "qrels.txt", "--measure", "nDCG'", "--table", "ranking", *RUNS)

    ranking = rows_of(assay("tiers", "--protocol", TASK, *words))

    assert [row["run"] for row in ranking] == ["abacus", "abacus-text", "lemma", "baseline"]
    assert [row["tier"] for row in ranking] == ["a", "ab", "ab", "b"]


def test_compare_has_the_difference_of_two_runs(assay: Assay) -> None:
    words = ("--qrels", "qrels.txt", "--measure", "nDCG'", "--table", "summary")

    (row,) = rows_of(assay("compare", "--protocol", TASK, *words, "runs/abacus.tsv", "runs/lemma.tsv"))

    assert (row["wins"], row["ties"], row["losses"]) == ("5", "0", "0")
    assert float(row["p_randomisation"]) == 0.0625 == 2 / 2**5


def test_reuse_shows_what_shallower_pools_miss(assay: Assay) -> None:
    words = ("--qrels", "qrels.txt", "--runs", "manifest.csv", "--measure", "nDCG'", "--table", "depths")

    depths = rows_of(assay("reuse", "--protocol", "protocol.toml", *words))

    assert [depths[n]["pooled"] for n in (0, -1)] == ["19", "28"]
    assert [depths[n]["of_all_relevant"] for n in (0, -1)] == ["0.8182", "1.0000"]


@pytest.mark.parametrize("labels", ["labels.csv", "topics.jsonl"])
def test_report_ranks_the_runs_by_label_and_by_assessor(assay: Assay, labels: str) -> None:
    words = ("--qrels", "qrels.txt", "--labels", labels, "--beside", "marek=qrels-marek.txt")

    scores = rows_of(assay("report", "--protocol", TASK, *words, "--table", "scores", *RUNS))

    assert {row["by"] for row in scores} == {"category", "difficulty", "dependence", "qrels"}
    assert {row["topics"] for row in scores if row["value"] == "marek"} == {"2"}


def test_report_scores_instances_too(assay: Assay) -> None:
    words = ("--formulas", "formulas-latex.tsv", "--instances", "formula-qrels-instances.txt")
    runs = ("runs/trees.tsv", "runs/strings.tsv")

    units = rows_of(
        assay("report", "--protocol", FORMULA_TASK, "--qrels", "formula-qrels.txt", *words, "--table", "units", *runs)
    )  # fmt: skip

    assert [(row["qrels"], row["judged"]) for row in units] == [("qrels", "13"), ("instances", "16")]


# Formulas


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

    kept, made = (rows_of(assay("cluster", *names, *words)) for words in ((), ("--anew",)))

    pairs = {(one["visual_id"], other["visual_id"]) for one, other in zip(kept, made, strict=True)}
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs}) == 38
