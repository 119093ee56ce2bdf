"""Functions of `import assay`: they do what the commands do, with files and with values in memory."""

import json
import math
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyndeval
import pytest
from ir_measures import AP, Qrel, ScoredDoc, nDCG

import assay
from assay.cli.main import main
from assay.samples import path
from assay.version import VERSION
from server.paths import ROOT
from tests.helpers.real_files import real_qrels

if TYPE_CHECKING:
    from pandas import DataFrame  # noqa: TID251 -- as below

PROTOCOL = "arqmath-2020-task1"
MEASURES = ["nDCG@10", "AP(rel=2)"]
FILES = [str(path(f"runs/{name}")) for name in ("abacus.tsv", "lemma.tsv", "baseline.tsv.gz")]
QRELS = str(path("qrels.txt"))
Values = dict[str, dict[str, Any]]


def in_pandas(**columns: Any) -> "DataFrame":
    """A table of researchers, which the library reads."""
    import pandas as pd  # noqa: TID251 -- a quarter of a second, in every process of the tests

    return pd.DataFrame(columns)


def frame(file: str, columns: list[str]) -> "DataFrame":
    import pandas as pd  # noqa: TID251 -- as above

    return pd.read_csv(file, sep=r"\s+", names=columns, dtype={"docno": str})


@pytest.fixture
def grades() -> "DataFrame":
    """The qrels as PyTerrier has them."""
    return frame(QRELS, ["qid", "iteration", "docno", "label"])


@pytest.fixture
def lemma() -> "DataFrame":
    """A run likewise."""
    return frame(FILES[1], ["qid", "docno", "rank", "score", "name"])


def nested(table: "DataFrame", number: str) -> Values:
    return {code: dict(zip(rows.docno, rows[number], strict=True)) for code, rows in table.groupby("qid")}


class LazyFrame:
    """A table of polars that is not computed yet: it has names of columns, and no rows."""

    columns = ("qid", "docno", "score")


class OfRanx:
    """A run or qrels of ranx, which the tests do not install."""

    __module__ = "ranx.data_structures"

    def __init__(self, values: dict[str, dict[str, Any]]) -> None:
        self._values = values

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return self._values


def in_pandas_without_rows() -> "DataFrame":
    return in_pandas(qid=[], docno=[], score=[])


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words, "--quiet"]) == 0
    return capsys.readouterr().out


def test_the_package_is_imported_without_its_parts() -> None:
    code = "import sys, assay; print([name for name in sys.modules if name in ('numpy', 'lxml', 'assay.research')])"

    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert process.stdout == "[]\n"


def test_every_public_name_is_there_and_documented() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()

    assert assay.__version__ == VERSION
    assert {"nDCG", "AP", "alpha_nDCG", "ERR_IA"} <= set(assay.measure_names())
    for name in assay.__all__:
        assert getattr(assay, name).__doc__
        assert f"`{name}" in page or f"`assay.{name}" in page
    assert set(assay.__all__) <= set(dir(assay))


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'score'; it offers evaluate, "):
        assay.score  # noqa: B018


def test_scores_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    options = [f"--measure={name}" for name in MEASURES]
    shown = printed(capsys, "evaluate", "--qrels", QRELS, *options, "--format", "json", *FILES)

    result = assay.evaluate(QRELS, FILES, MEASURES)

    columns = result.columns()
    assert columns["run"] == ["abacus", "lemma", "baseline"]
    assert columns["missing"] == [0, 1, 0]
    assert [row["value"] for row in json.loads(shown)] == [
        value for pair in zip(columns["nDCG@10"], columns["AP(rel=2)"], strict=True) for value in pair
    ]
    assert result.values.shape == (3, 5, 2)
    assert result.means.tolist() == result.values.mean(axis=1).tolist()
    assert result.topics == ["A.1", "A.2", "A.3", "A.4", "A.5"]


@pytest.mark.filterwarnings("ignore:1 topic of the qrels is in no run")
def test_files_dictionaries_tables_and_tuples_give_the_same_scores(
    grades: "DataFrame", lemma: "DataFrame"
) -> None:
    tuples = [Qrel(row.qid, row.docno, row.label) for row in grades.itertuples()]
    rows = [ScoredDoc(row.qid, row.docno, row.score) for row in lemma.itertuples()]
    expected = assay.evaluate(QRELS, FILES[1], MEASURES).means.tolist()

    for qrels, run in (
        (grades, lemma),
        (nested(grades, "label"), nested(lemma, "score")),
        (tuples, rows),
        (iter(tuples), iter(rows)),
        (QRELS, Path(FILES[1])),
        (grades, {"lemma": FILES[1]}),
        (Arrow(grades), Arrow(lemma)),
    ):
        assert assay.evaluate(qrels, run, [nDCG @ 10, AP(rel=2)]).means.tolist() == expected


class Arrow:
    """A table of another library: named columns that NumPy can read, and nothing of pandas."""

    def __init__(self, table: "DataFrame") -> None:
        self._table = table
        self.column_names = list(table.columns)

    def __getitem__(self, name: str) -> Any:
        return self._table[name].to_numpy()


def test_large_grades_are_scored_where_their_gains_are_finite() -> None:
    qrels, run = {"1": {"a": 2_000_000, "b": 1_000_000}}, {"1": {"b": 2.0, "a": 1.0}}

    scores = assay.evaluate(qrels, run, ["nDCG", "ERR", "AP"]).means[0].tolist()

    gain = [(first + second / math.log2(3)) for first, second in ((1, 2), (2, 1))]
    assert scores == pytest.approx([gain[0] / gain[1], 0.5, 1.0])
    with pytest.raises(assay.InputError, match=r"too large for grades above 999"):
        assay.evaluate(qrels, run, "nDCG(dcg=exp-log2)")


def test_topics_of_the_qrels_that_no_run_has_are_named(tmp_path: Path) -> None:
    qrels, run, other = (tmp_path / name for name in ("q", "x", "y"))
    qrels.write_text("1 0 d1 1\n2 0 d1 1\n2\u200b 0 d1 1\n")
    run.write_text("1 Q0 d1 1 2 x\n")
    other.write_text("2 Q0 d1 1 2 y\n")

    with pytest.warns(assay.InputWarning, match=r"1 topic of the qrels is in no run .*: “2\\u200b”$"):
        assay.evaluate(qrels, [run, other], "RR")
    with pytest.warns(assay.InputWarning, match="1 topic of the qrels is in no run"):
        assay.compare(qrels, [run, other], "RR", average="judged").tables  # noqa: B018


def test_topics_that_are_whole_numbers_are_read_as_their_digits() -> None:
    run = in_pandas(q_id=[301, 301], doc_id=["a", "b"], score=[2, 1])

    result = assay.evaluate({301: {"a": 0, "b": np.int64(1)}}, run, "RR")

    assert result.topics == ["301"]
    assert result.columns()["RR"] == [0.5]


def test_a_protocol_brings_measures_and_rules() -> None:
    result = assay.evaluate(QRELS, FILES[0], protocol=PROTOCOL)

    assert result.table().header[3:] == ("nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)", "judged@10")
    with pytest.raises(
        assay.InputError, match=r"qrels: row 1: grade 7 is not in arqmath-2020-task1; use 0, 1, 2 or 3"
    ):
        assay.evaluate({"A.1": {"10": 7}}, FILES[0], protocol=PROTOCOL)


def test_other_grades_and_deep_runs_are_read_without_a_protocol(tmp_path: Path) -> None:
    run = tmp_path / "deep.run"
    run.write_text("".join(f"q Q0 d{n} {n} {5000 - n} deep\n" for n in range(1, 1201)))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q 0 d1200 17\n")

    assert assay.evaluate(qrels, run, "RR").columns()["RR"] == [1 / 1200]


def test_labels_give_means_of_classes() -> None:
    result = assay.evaluate(
        QRELS, FILES[:1], "nDCG", labels={"A.1": {"size": "low"}, "A.2": {"size": "high"}}
    )

    assert [row[1:3] for row in result.table("classes").rows] == [("size=low", 1), ("size=high", 1)]


def test_tables_as_pyterrier_makes_them_are_read_by_their_ids() -> None:
    run = in_pandas(
        qid=["1", "1"],
        query=["what is owl", "what is owl"],
        docid=[17, 4],
        docno=["a", "b"],
        rank=[0, 1],
        score=[2, 1],
    )
    qrels = in_pandas(qid=["1", "1"], docno=["b", "a"], label=[1, 0], iteration=["0", "0"])

    with warnings.catch_warnings(action="error"):
        result = assay.evaluate(qrels, {"bm25": run}, ["RR", "P@1"])

    assert result.means.tolist() == [[0.5, 0.0]]


def test_runs_and_qrels_of_ranx_are_read() -> None:
    run, qrels = OfRanx({"1": {"a": 2.0, "b": 1.0}}), OfRanx({"1": {"b": 1}})

    assert assay.evaluate(qrels, run, "RR").means.tolist() == [[0.5]]
    assert assay.evaluate(qrels, {"x": run, "y": run}, "RR").names == ["x", "y"]


@pytest.mark.parametrize("nothing", [[], {}, partial(in_pandas_without_rows)])
def test_run_that_found_nothing_gets_zeros(nothing: Any) -> None:
    mine = nothing() if isinstance(nothing, partial) else nothing
    runs = {"mine": mine, "other": {"1": {"a": 2.0}}}

    result = assay.evaluate({"1": {"a": 1, "b": 0}}, runs, ["nDCG@10", "AP", "bpref", "P@5", "ERR", "RBP"])

    assert result.means[0].tolist() == [0.0] * 6
    assert result.columns()["missing"] == [1, 0]


def test_subtopics_in_memory_give_the_values_of_pyndeval() -> None:
    rows = [("1", "a", 1, "1"), ("1", "b", 1, "2"), ("1", "a", 0, "2"), ("1", "c", 1, "1")]
    scores = {"1": {"b": 3.0, "a": 2.0, "c": 1.0}}
    expected = pyndeval.ndeval(
        [pyndeval.SubtopicQrel(topic, subtopic, docno, grade) for topic, docno, grade, subtopic in rows],
        [pyndeval.ScoredDoc("1", docno, score) for docno, score in scores["1"].items()],
        measures=["alpha-nDCG@10"],
    )
    names = ("query_id", "doc_id", "relevance", "iteration")

    for qrels in (
        [Qrel(*row) for row in rows],
        in_pandas(**dict(zip(names, zip(*rows, strict=True), strict=True))),
    ):
        result = assay.evaluate(qrels, {"x": scores}, "alpha_nDCG@10")
        assert result.means[0].tolist() == [pytest.approx(expected["1"]["alpha-nDCG@10"], abs=1e-6)]


def test_runs_are_fused_as_by_the_command(tmp_path: Path) -> None:
    output = tmp_path / "fused.tsv"
    words = [
        "fuse",
        "--protocol",
        "arqmath-2020-task1",
        "--method",
        "rrf",
        "--output",
        str(output),
        "--quiet",
    ]
    assert main([*words, *FILES[:2]]) == 0

    fused = assay.fuse(FILES[:2], method="rrf", protocol="arqmath-2020-task1")

    lines = [line.split("\t") for line in output.read_text().splitlines()]
    assert [(line[0], line[1]) for line in lines] == [
        (topic, docno) for topic, run in fused.items() for docno in run
    ]
    assert (
        assay.evaluate(QRELS, {"fused": fused}, "nDCG").means == assay.evaluate(QRELS, output, "nDCG").means
    )
    with pytest.raises(assay.InputError, match="at least two runs"):
        assay.fuse(FILES[0])
    with pytest.raises(assay.InputError, match="depth 0: use a whole number from 1"):
        assay.fuse(FILES[:2], depth=0)


def test_a_run_without_judged_documents_is_a_warning() -> None:
    with pytest.warns(assay.InputWarning, match=r"x: none of its topics is in the qrels, every value is 0"):
        result = assay.evaluate(QRELS, {"x": {"Z.1": {"10": 1.0}}}, "nDCG")

    assert result.columns()["nDCG"] == [0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measures": ()}, "name the measures, such as nDCG@10, or a protocol"),
        ({"measures": "nDGC@10"}, "did you mean nDCG@10?"),
        (
            {"measures": "alpha_nDCG@10", "qrels": {"A": {"b": 1}}},
            "a dictionary has no subtopics; give a table or named tuples with topic, subtopic, docno",
        ),
        ({"qrels": "none.txt"}, "none.txt: No such file"),
        (
            {"qrels": partial(in_pandas, qid=[1], docno=["x"])},
            "no column for grade: grade, relevance, rel, score; ",
        ),
        (
            {"qrels": {"A": {"b": 1.5}}},
            "row 1: grade 1.5 is a fraction; grades are whole numbers. Multiplied by 2",
        ),
        ({"qrels": {"A": {"b": float("nan")}}}, "row 1: grade 'nan' is not a whole number"),
        ({"qrels": {}}, "there are no qrels; expected rows of topic, docno and grade"),
        (
            {"qrels": 3},
            "qrels: int cannot be read; use a path, a dictionary, a table with named columns, or named",
        ),
        ({"runs": []}, "there are no runs; give at least one"),
        ({"runs": [FILES[0], FILES[0]]}, "the run is given twice"),
        ({"runs": [{"A": {"b": 1}}]}, "a run of a list is a dict, which has no name"),
        (
            {"runs": {"x": {"A": {1.5: 2}}}},
            "x: row 1: the docno 1.5 cannot be used; use text or a whole number",
        ),
        (
            {"runs": {"x": {"A": {"b c": 2}}}},
            "x: row 1: the docno 'b c' cannot be used; use text of 1 to 400 bytes",
        ),
        (
            {"runs": {"x": {"A": {"b": 1, "c": "high"}}}},
            "x: row 2: the score 'high' cannot be used; use a finite",
        ),
        (
            {"runs": {"x": {"A": {"b": float("inf")}}}},
            "x: row 1: the score inf cannot be used; use a finite number",
        ),
        (
            {"runs": partial(in_pandas, qid=["A"] * 2, docno=["b"] * 2, score=[2, 1], name=["x", "y"])},
            "run: the column name names several runs; give {name: run}",
        ),
        (
            {"runs": partial(in_pandas, qid=[301.0], docno=["b"], score=[2])},
            "the topic 301.0 cannot be used; use text or a whole number; if the table read ids as numbers, table",
        ),
        ({"runs": partial(LazyFrame)}, "run: a LazyFrame has no rows yet; give table.collect()"),
        ({"runs": {"x": {"A": {"b": 1}, "B": 3}}}, "topic B: expected {docno: number}, got int"),
        (
            {"runs": partial(in_pandas, qid=["A"] * 2, docno=["b"] * 2, score=[2, 1])},
            "run: row 2: the topic already contains the document; accepted: Each document once per topic.",
        ),
        ({"average": "all"}, "average 'all': use judged or common"),
        ({"units": "parts"}, "units 'parts': use distinct or instances or visual-ids"),
        ({"scale": 0}, "scale 0: use a whole number from 1"),
        ({"protocol": "arq"}, "no protocol 'arq'; use the path of a .toml file or one of"),
        (
            {"labels": {"B.1": {"size": "low"}}},
            "labels: no label is for a topic of the qrels; the labels are for “B.1”, the qrels have “A.1”, “A.2”",
        ),
        (
            {"labels": {"A.1": {"size": "low"}}, "label": ["color"]},
            "labels: no label 'color'; the labels are size",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_what_is_accepted(change: dict[str, Any], message: str) -> None:
    made = {name: value() if isinstance(value, partial) else value for name, value in change.items()}

    with pytest.raises(assay.InputError) as refusal:
        assay.evaluate(**{"qrels": QRELS, "runs": FILES, "measures": "nDCG"} | made)

    assert message in str(refusal.value)


def test_two_runs_are_compared_as_by_the_command(
    capsys: pytest.CaptureFixture[str], lemma: "DataFrame"
) -> None:
    options = [
        "--measure",
        "nDCG",
        "--seed",
        "3",
        "--permutations",
        "500",
        "--alpha",
        "0.1",
    ]
    shown = printed(capsys, "compare", "--qrels", QRELS, *options, "--persistence", "0.8", *FILES[:2])

    result = assay.compare(
        QRELS,
        {"abacus": FILES[0], "lemma": lemma},
        "nDCG",
        seed=3,
        permutations=500,
        alpha=0.1,
        persistence=0.8,
    )

    assert str(result) == shown
    with pytest.raises(assay.InputError, match=r"compare takes two runs, got 3; assay\.tiers ranks any"):
        assay.compare(QRELS, FILES, "nDCG")
    with pytest.raises(assay.InputError, match="persistence 1: use a number between 0 and 1"):
        assay.compare(QRELS, FILES[:2], "nDCG", persistence=1)
    with pytest.raises(assay.InputError, match="GMAP is not a mean over topics"):
        assay.compare(QRELS, FILES[:2], "GMAP")


def test_runs_are_ranked_as_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--measure",
        "nDCG",
        "--permutations",
        "500",
        "--average",
        "common",
        "--pairs",
    ]
    shown = printed(capsys, "tiers", "--qrels", QRELS, *options, *FILES)

    result = assay.tiers(QRELS, FILES, "nDCG", permutations=500, average="common", pairs=True)

    assert str(result) == shown
    with pytest.raises(assay.InputError, match="alpha 3: use a number between 0 and 1"):
        assay.tiers(QRELS, FILES, "nDCG", alpha=3)
    with pytest.raises(assay.InputError, match="use whole numbers from 0 and 1"):
        assay.tiers(QRELS, FILES, "nDCG", permutations=0)


def test_agreement_is_that_of_the_command(capsys: pytest.CaptureFixture[str], grades: "DataFrame") -> None:
    from pandas import concat  # noqa: TID251 -- as above

    second = str(path("qrels-marek.txt"))
    shown = printed(capsys, "agreement", "--level", "2", QRELS, second)
    by_name = {"qrels": grades, "qrels-marek": second}
    long = grades.assign(assessor="qrels")[["qid", "docno", "label", "assessor"]]
    other = frame(second, ["qid", "iteration", "docno", "label"]).assign(assessor="qrels-marek")

    assert str(assay.agreement([QRELS, second], level=2)) == shown
    assert str(assay.agreement(by_name, level=2)) == shown
    assert str(assay.agreement(concat([long, other]), level=2)) == shown


def test_a_grade_that_is_missing_is_a_non_answer() -> None:
    rows = {"topic": ["A", "A"], "docno": ["b", "b"], "assessor": ["x", "y"], "grade": [1, None]}

    result = assay.agreement(in_pandas(**rows))

    assert result.columns()["without_grade"] == [1]
    assert result.why_not_compared.startswith("no unit has grades from two assessors")


@pytest.mark.parametrize(
    ("judgments", "options", "message"),
    [
        (
            [{"A": {"b": 1}}],
            {},
            "a list has a dict, which has no assessor; give judgments as {assessor: values}",
        ),
        ({"A": {"b": 1}}, {}, "A: topic b: expected {docno: number}, got int"),
        (
            partial(in_pandas, topic=["A"], docno=["b"], grade=[1]),
            {},
            "no column for assessor: assessor, judge",
        ),
        ({"x": {"A": {"b": 1.5}}}, {}, "x: row 1: grade '1.5' is not a whole number"),
        (
            QRELS,
            {"columns": {"color": "c"}},
            "columns: there is no field 'color'; the fields are topic, docno",
        ),
        (str(path("judgments.csv")), {"kinds": ["other"]}, "no batch of the kind 'other'; the kinds are "),
    ],
)
def test_judgments_that_cannot_be_used_are_named(
    judgments: Any, options: dict[str, Any], message: str
) -> None:
    made = judgments() if isinstance(judgments, partial) else judgments

    with pytest.raises(assay.InputError) as refusal:
        assay.agreement(made, **options)

    assert message in str(refusal.value)


def test_a_pool_is_that_of_the_command(tmp_path: Path) -> None:
    words = [
        "--protocol",
        PROTOCOL,
        "--runs",
        str(path("manifest.csv")),
        "--seed",
        "7",
        "--runs-per-team",
        "1",
    ]
    main(["pool", *words, "--depth", "primary=5", "--quiet", "--output", str(tmp_path / "pool.tsv")])

    result = assay.pool(
        path("manifest.csv"), protocol=PROTOCOL, seed=7, runs_per_team=1, depth={"primary": 5}
    )
    result.write(tmp_path / "own.tsv")

    for suffix in ("", ".json"):
        assert (tmp_path / f"own.tsv{suffix}").read_bytes() == (tmp_path / f"pool.tsv{suffix}").read_bytes()
    assert result.columns()["docno"] == [line.split("\t")[1] for line in result.data.decode().splitlines()]


def test_a_pool_of_files_and_of_memory_is_the_same(lemma: "DataFrame") -> None:
    options: dict[str, Any] = {
        "depth": 3,
        "seed": 7,
        "kinds": {"lemma": "alternate"},
        "teams": {"abacus": "Ours"},
    }

    of_files = assay.pool(FILES[:2], **options)
    of_memory = assay.pool({"abacus": FILES[0], "lemma": lemma}, **options)

    assert of_files.data == of_memory.data
    assert [row[:4] for row in of_memory.table("runs").rows] == [
        ("abacus", "Ours", "primary", 3),
        ("lemma", "lemma", "alternate", 3),
    ]
    assert of_memory.record["runs"][1]["run"] == "lemma"


def test_a_pool_leaves_out_what_was_pooled_and_takes_another_order() -> None:
    first = assay.pool(FILES[:1], depth=2, seed=7)
    units: dict[str, list[str]] = {}
    for topic, docno, _ in first.table().rows:
        units.setdefault(str(topic), []).append(str(docno))

    more = assay.pool(FILES[:2], depth=2, seed=7, top_up=units, order="by-run-votes", topics=list(units))

    pairs = {(topic, docno) for topic, docno, _ in more.table().rows}
    assert pairs.isdisjoint({(topic, docno) for topic, own in units.items() for docno in own})
    assert more.record["order"] == "by-run-votes"
    assert more.record["n_already"] == len(first.table().rows)


def test_known_items_are_read_from_a_file_or_a_dictionary() -> None:
    items: dict[str, list[str]] = {}
    for line in path("known-items.tsv").read_text().splitlines():
        topic, docno = line.split("\t")
        items.setdefault(topic, []).append(docno)
    options: dict[str, Any] = {"protocol": "ntcir-11-math", "seed": 1}
    manifest = path("known-items-manifest.csv")

    of_file = assay.pool(manifest, known_items=path("known-items.tsv"), **options)

    assert of_file.data == assay.pool(manifest, known_items=items, **options).data
    assert len(of_file.table().rows) == sum(map(len, items.values()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": None}, "name the depth, such as 100, or a protocol, which has its own"),
        ({"depth": {"other": 3}}, "there is no depth for the kind other; use primary, alternate, baseline"),
        ({"kinds": {"abacus": "other"}}, "abacus: kind 'other' is not one of primary, alternate, baseline"),
        ({"order": "other"}, "there is no order 'other'; use by-answer, by-run-votes"),
        ({"seed": -1}, "seed -1: use a whole number from 0"),
        ({"topics": ["A.1"]}, "4 unknown topics: A.2, A.3, A.4 and 1 more"),
        (
            {"topics": ["A.1"], "runs": {"x": {"Z": {"10": 1.0}}}},
            "x: unknown topic Z; use one of the topics given, 1 in all",
        ),
        ({"runs": [str(path("runs/broken.tsv"))], "protocol": PROTOCOL}, "assay check names them all"),
        ({"top_up": "none.tsv"}, "none.tsv"),
    ],
)
def test_what_cannot_be_pooled_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises((assay.InputError, FileNotFoundError)) as refusal:
        assay.pool(**{"runs": FILES, "depth": 3, "seed": 1} | change)

    assert message in str(refusal.value)


def test_a_notebook_shows_tables_and_plots() -> None:
    names = {"<b>": FILES[0], "lemma": FILES[1]}
    results = [
        assay.evaluate(QRELS, names, MEASURES),
        assay.compare(QRELS, names, MEASURES, permutations=100),
        assay.tiers(QRELS, names, MEASURES, permutations=100),
        assay.agreement([QRELS, str(path("qrels-marek.txt"))]),
        assay.pool(names, depth=3, seed=1),
    ]

    for result in results:
        html, svg = result._repr_html_(), result.plot()._repr_svg_()
        assert html.count("<table>") == len(result.tables)
        assert "<b><b>" not in html
        assert svg.startswith("<svg")
        assert "\\begin{axis}" in result.plot().to_latex()
        for table in result.tables:
            assert result.to_latex(table.name).count(r"\\") == len(table.rows) + 1
            assert in_pandas(**result.columns(table.name)).shape == (len(table.rows), len(table.header))
    with pytest.raises(assay.InputError, match="there is no table 'other'; use runs, topics"):
        results[0].table("other")


def test_plot_of_many_runs_names_each_of_them() -> None:
    runs = {f"run-{n}": {"1": {"a": 1.0 + n % 2, "b": 1.5}} for n in range(36)}
    result = assay.evaluate({"1": {"a": 1}}, runs, ["RR", "P@1"])

    first, other = result.plot().svg, result.plot("P@1").svg

    assert all(f">run-{n}</text>" in first for n in range(36))
    assert first.index(">run-1<") < first.index(">run-0<"), "the best run is on top"
    assert "P@1" in other
    assert "P@1" not in first
    with pytest.raises(assay.InputError, match="there is no measure 'AP'; use RR, P@1"):
        result.plot("AP")


def test_a_long_table_is_cut_where_it_is_shown(tmp_path: Path) -> None:
    run = {f"q{n}": {"a": 1.0} for n in range(70)}

    result = assay.evaluate({topic: {"a": 1} for topic in run}, run, "RR")

    assert result._repr_html_().count("<tr><td") == 1 + 60
    assert "the first 60 of 70 rows" in result._repr_html_()
    assert "# topics: the first 60 of 70 rows; columns('topics') has all" in str(result)
    assert len(str(result).splitlines()) < 75
    assert len(result.columns("topics")["RR"]) == 70


def test_intervals_below_zero_are_drawn_inside_the_picture() -> None:
    first = {"A": {"a": 0, "b": 1, "c": 0, "d": 1}}
    second = {"A": {"a": 1, "b": 0, "c": 1, "d": 1}}

    svg = assay.agreement({"x": first, "y": second}).plot().svg

    assert ">-1<" in svg
    assert 'cx="-' not in svg


def test_large_files_are_scored_by_all_processors_only_without_threads(data: Path) -> None:
    runs = sorted((data / "arqmath" / "runs").glob("*.tsv"))[:2]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = assay.evaluate(real_qrels(data), runs, protocol=PROTOCOL)
        alone = assay.evaluate(real_qrels(data), runs, protocol=PROTOCOL, processes=1)

    assert result.means.tolist() == alone.means.tolist()
