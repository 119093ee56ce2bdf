import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.cli.main import main
from assay_extensions.estimates.tests.conftest import RUNS, Rag25


class Estimate:
    """`assay estimate` on the files of TREC RAG 2025; options of more actions replace these."""

    def __init__(self, rag25: Rag25, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.rag25, self.folder, self.capsys = rag25, folder, capsys
        self.runs = [str(rag25.folder / f"{name}.txt") for name in RUNS]
        self.machine = str(rag25.folder / "machine.txt")
        self.people = str(rag25.folder / "people.txt")
        self.sample = str(rag25.folder / "sample.tsv")

    def tables(self, action: str, *words: str) -> dict[str, list[dict[str, Any]]]:
        runs = [] if action == "share" else self.runs
        assert main(["estimate", action, "--machine", self.machine, "--format", "json", *words, *runs]) == 0
        tables: dict[str, list[dict[str, Any]]] = json.loads(self.capsys.readouterr().out)
        return tables

    def draw(self, *words: str) -> list[list[str]]:
        path = self.folder / "drawn.tsv"
        options = ["--machine", self.machine, "--measure", "DCG@20", "--output", str(path)]
        assert main(["estimate", "sample", *options, *words, *self.runs]) == 0
        return [line.split("\t") for line in path.read_text().splitlines()]

    def refusal(self, action: str, *words: str) -> str:
        runs = [] if action == "share" else self.runs
        status = main(["estimate", action, "--machine", self.machine, *words, *runs])
        assert status == 2
        return self.capsys.readouterr().err

    def write(self, name: str, *lines: str) -> str:
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)


@pytest.fixture
def estimate(rag25: Rag25, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Estimate:
    return Estimate(rag25, tmp_path, capsys)


def test_actions_read_what_the_others_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On made files: the machine is one grade too kind to every third document."""
    units = [(f"q{topic}", f"p{n}", n * topic % 4) for topic in range(1, 11) for n in range(1, 13)]
    files = {
        "machine": [
            f"{topic} 0 {docno} {min(3, g + (docno in {'p3', 'p6', 'p9', 'p12'}))}"
            for topic, docno, g in units
        ],
        "people": [f"{topic} 0 {docno} {g}" for topic, docno, g in units],
        "up": [f"{topic} Q0 {docno} 1 {docno[1:]} up" for topic, docno, _ in units],
        "down": [f"{topic} Q0 {docno} 1 -{docno[1:]} down" for topic, docno, _ in units],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    machine, people, up, down = (str(tmp_path / name) for name in files)
    drawn, following = str(tmp_path / "drawn"), str(tmp_path / "next")
    measure, judged = ("--measure", "CG@5"), ("--people", people)

    def tables(action: str, *words: str) -> dict[str, list[dict[str, Any]]]:
        assert main(["estimate", action, "--machine", machine, "--format", "json", *words]) == 0
        read: dict[str, list[dict[str, Any]]] = json.loads(capsys.readouterr().out)
        return read

    assert (
        main(
            [
                "estimate",
                "sample",
                "--machine",
                machine,
                *measure,
                "--share",
                "0.5",
                "--output",
                drawn,
                up,
                down,
            ]
        )
        == 0
    )
    capsys.readouterr()
    values = tables("values", *measure, *judged, "--sample", drawn, up, down)
    added = tables(
        "next", *measure, *judged, "--sample", drawn, "--units", "5", "--output", following, up, down
    )
    bias = tables("bias", *measure, *judged, "--sample", following, up, down)
    some = tmp_path / "some"
    some.write_text("".join(f"{line}\n" for line in files["people"][::2]))
    shares = tables("share", "--people", str(some), "--level", "2")

    assert {row["run"] for row in values["ranking"]} == {"up", "down"}
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in values["ranking"])
    assert len(added["units"]) == 5
    assert {row["of"]: row["leniency"] for row in bias["leniency"]}["all"] > 0
    assert shares["share"][0]["units"] == 60


def test_values_from_a_sample(estimate: Estimate, known: dict[str, Any]) -> None:
    tables = estimate.tables("values", "--measure", "DCG@20", "--sample", estimate.sample)
    answers = known["difference"]["DCG@20"]
    for row in tables["ranking"]:
        numbers = [row["estimate"], row["low"], row["high"], row["machine"]]
        mean, _, *ends, machine = answers["runs"][row["run"]]
        assert numbers == pytest.approx([mean, *ends, machine], abs=1e-6)
        assert row["tier"]
    assert [row["rank"] for row in tables["ranking"]] == [1, 2, 3, 4, 5, 6]
    widths = {
        who: sum(row[f"{who}high"] - row[f"{who}low"] for row in tables["ranking"]) for who in ("", "people_")
    }
    assert widths[""] < widths["people_"]
    pairs = {f"{row['first']} - {row['second']}": row["difference"] for row in tables["differences"]}
    assert pairs == pytest.approx(
        {name: answer[0] for name, answer in answers["differences"].items()}, abs=1e-6
    )
    values = {row["topic"]: row["value"] for row in tables["topics"] if row["run"] == "r1"}
    assert values == pytest.approx(answers["U of r1"], abs=1e-6)


def test_grades_of_a_sample_are_in_the_qrels_of_people(estimate: Estimate) -> None:
    rows = estimate.draw("--share", "0.05")
    assert sum(row[3] == "sample" for row in rows) == 259
    assert len(rows) == 5163
    assert sum(float(row[4]) for row in rows) == pytest.approx(259)
    drawn = str(estimate.folder / "drawn.tsv")
    words = ("--measure", "DCG@20", "--sample", drawn)
    tables = estimate.tables("values", *words, "--people", estimate.people)
    truth = estimate.tables("values", "--measure", "DCG@20", "--people", estimate.people)
    true_of = {row["run"]: row["estimate"] for row in truth["ranking"]}
    assert all(row["low"] < true_of[row["run"]] < row["high"] for row in tables["ranking"])
    assert "people have not judged 259 of 259 units in the sample" in estimate.refusal("values", *words)


def test_with_people_alone_values_are_those_of_tiers(
    estimate: Estimate, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = estimate.tables("values", "--measure", "nDCG@10", "--people", estimate.people)
    words = ["tiers", "--measure", "nDCG@10", "--qrels", estimate.people, "--format", "json", *estimate.runs]
    assert main(words) == 0
    ranking = json.loads(capsys.readouterr().out)["ranking"]
    for row, own in zip(ranking, tables["ranking"], strict=True):
        assert [own["rank"], own["run"], own["tier"]] == [row["rank"], row["run"], row["tier"]]
        for names in (("estimate", "low", "high"), ("people", "people_low", "people_high")):
            assert [own[name] for name in names] == [row[name] for name in ("mean", "low", "high")]


def test_values_from_whole_topics(estimate: Estimate) -> None:
    lines = Path(estimate.people).read_text().splitlines()
    words = ("values", "--measure", "nDCG@10", "--people")
    some = estimate.write("some.txt", *(line for line in lines if line.split()[0] not in {"72", "707"}))
    tables = estimate.tables(*words, some)
    for row in tables["ranking"]:
        assert row["low"] < row["estimate"] < row["high"]
        assert row["people"] is not None
    pooled = (
        f"{topic} 0 {docno} -1" for topic, _, docno, _ in map(str.split, lines) if topic in {"72", "707"}
    )
    both = estimate.write("both.txt", *Path(some).read_text().splitlines(), *pooled)
    assert estimate.tables(*words, both) == tables  # topics that people have not judged yet
    few = estimate.write("few.txt", *(line for line in lines if line.split()[0] in {"14", "72", "707"}))
    assert "people judged 3 topics, and at least 8 are needed" in estimate.refusal(*words, few)


def test_a_sample_from_strata_and_for_the_fit(estimate: Estimate) -> None:
    fit = estimate.folder / "fit.tsv"
    words = ("--units", "200", "--stratum", "grade", "--stratum", "run", "--fit", str(fit))
    rows = estimate.draw(*words)
    for_fit = [line.split("\t") for line in fit.read_text().splitlines()]
    topics, topics_for_fit = {row[0] for row in rows}, {row[0] for row in for_fit}
    assert (len(topics), len(topics_for_fit)) == (6, 5)
    assert not topics & topics_for_fit
    assert sum(row[3] == "sample" for row in rows + for_fit) == 200
    assert estimate.draw(*words) == rows  # the seed is the same
    assert estimate.draw(*words, "--seed", "2") != rows
    alone = estimate.draw("--units", "200")
    pilot = estimate.draw("--units", "200", "--people", estimate.people)
    assert pilot != alone
    assert "--stratum is for --units" in estimate.refusal("sample", "--share", "0.1", "--stratum", "run")


def test_next_units_make_a_new_sample(estimate: Estimate) -> None:
    estimate.draw("--share", "0.05")
    drawn, output = str(estimate.folder / "drawn.tsv"), str(estimate.folder / "next.tsv")
    words = ("--measure", "DCG@20", "--people", estimate.people, "--units", "30")
    tables = estimate.tables("next", *words, "--sample", drawn, "--output", output)
    assert len(tables["units"]) == 30
    for row in tables["intervals"]:
        assert row["expected"] < row["now"]
        assert row["sentence"].startswith("One more hour (30 units) is expected to narrow this interval by ")
    rows = [line.split("\t") for line in Path(output).read_text().splitlines()]
    new = {(row["topic"], row["docno"]) for row in tables["units"]}
    assert {(row[0], row[1]) for row in rows if row[3] == "sample" and row[2] == "-1"} == new
    assert {row[4] for row in rows if (row[0], row[1]) in new} == {"1"}
    estimate.tables("values", "--measure", "DCG@20", "--people", estimate.people, "--sample", output)
    pairs = estimate.tables("next", *words, "--sample", drawn, "--differences")
    assert len(pairs["intervals"]) == 5
    assert pairs["units"] != tables["units"]


def test_bias_tables(estimate: Estimate) -> None:
    documents = [
        json.dumps({"docno": docno, "text": "planets " * n})
        for n, docno in enumerate(
            sorted({line.split()[2] for line in Path(estimate.people).read_text().splitlines()}), 1
        )
    ]
    words = (
        *("--measure", "DCG@20", "--people", estimate.people, "--sample", estimate.sample, "--family", "r4"),
        *("--documents", estimate.write("documents.jsonl", *documents)),
        *("--topics", estimate.write("topics.txt", "14\tplanets and moons", "72\tplanets")),
        *(
            "--attributes",
            estimate.write("attributes.tsv", "topic\tdocno\tposition", "14\td0001\t3", "14\td0002\t"),
        ),
        *("--repeat", estimate.machine, "--baseline", estimate.runs[5]),
    )
    tables = estimate.tables("bias", *words)
    assert [row["attribute"] for row in tables["slopes"]] == [
        *("best rank", "log length", "share of topic words", "position")
    ]
    leniency = {row["of"]: row["leniency"] for row in tables["leniency"]}
    assert {"all", "machine's grade 0", "people's grade 4", "run r1"} < set(leniency)
    for row in tables["leniency"]:  # grades are 0 to 4
        if row["of"].startswith(("machine's grade", "people's grade")):
            grade = int(row["of"].split()[-1])
            ends = (grade - 4, grade) if row["of"].startswith("machine") else (-grade, 4 - grade)
            assert row["low"] is None or ends[0] <= row["low"] <= row["high"] <= ends[1]
    assert leniency["run r4"] > leniency["run r1"]  # r4 follows the machine, r1 follows people
    assert sum(row["units"] for row in tables["confusion"]) == 259
    assert tables["preference"][0]["difference"] > 0
    assert [row["value"] for row in tables["repeats"]] == [1.0, 0.0]
    [gain] = tables["reranked"]
    assert gain["machine"] > gain["people"]
    assert gain["low"] < gain["difference"] < gain["high"]
    assert gain["difference"] == pytest.approx(gain["machine"] - gain["people"])


def test_a_share(estimate: Estimate) -> None:
    lines = Path(estimate.people).read_text().splitlines()
    rng = np.random.default_rng(1)
    some = estimate.write(
        "some.txt", *(lines[row] for row in sorted(rng.choice(len(lines), 1500, replace=False)))
    )
    tables = estimate.tables("share", "--people", some, "--level", "2", "--plan", "300")
    (row,) = tables["share"]
    truth = np.mean([line.split()[3] >= "2" for line in lines])
    assert row["low"] < truth < row["high"]
    assert row["units"] == 5163 - 1500
    (plan,) = tables["plan"]
    assert plan["no"] + plan["yes"] == 300
    every = estimate.refusal("share", "--people", estimate.people)
    assert "0 are left for the machine alone; at least one of each is needed" in every


def test_wrong_files_are_answered(estimate: Estimate) -> None:
    linear, sample = ("--measure", "DCG@20"), ("--sample", estimate.sample)
    assert "name the measures" in estimate.refusal("values", *sample)
    assert "give --sample, --people, or both" in estimate.refusal("values", *linear)
    assert "give --sample, --people, or both" in estimate.refusal("bias", *linear)
    assert "nDCG@5 cannot be estimated from sampled units" in estimate.refusal(
        "values", "--measure", "nDCG@5", *sample
    )
    wrong = estimate.write("wrong.tsv", "14\td0001\t1\tsample\t1.5")
    assert "line 1: '1.5' is not a probability" in estimate.refusal("values", *linear, "--sample", wrong)
    other = estimate.write("other.tsv", "14\tother\t1\tsample\t0.5")
    assert "14 other is not in" in estimate.refusal("values", *linear, "--sample", other)
    only_rest = estimate.write("rest.tsv", "14\td0001\t1\trest\t0.5")
    assert "no unit is in the sample" in estimate.refusal("values", *linear, "--sample", only_rest)
    one_topic = estimate.write("topic.tsv", "14\td0001\t1\tsample\t0.5")
    assert "no unit of topic 144 is in the sample" in estimate.refusal(
        "values", *linear, "--sample", one_topic
    )
    assert "the probability of every unit is needed" in estimate.refusal("next", *linear, *sample)
    assert "units are ordered for one measure" in estimate.refusal(
        "next", *linear, "--measure", "CG@5", *sample_of_all(estimate)
    )
    assert "there is no run 'r9'; use r1" in estimate.refusal("bias", *linear, *sample, "--family", "r9")
    every = [word for name in RUNS for word in ("--family", name)]
    assert "name some runs, not all" in estimate.refusal("bias", *linear, *sample, *every)
    assert "--topics is for --documents" in estimate.refusal("bias", *linear, *sample, "--topics", "x")


def sample_of_all(estimate: Estimate) -> tuple[str, str]:
    """A sample with the probability of every unit."""
    rows = estimate.draw("--share", "0.05")
    return "--sample", estimate.write("all.tsv", *("\t".join([*row[:2], "1", *row[3:]]) for row in rows))


@pytest.mark.parametrize(
    ("option", "lines", "message"),
    [
        ("--attributes", ["topic\tdocno"], "line 1: expected topic, docno and names of attributes"),
        ("--attributes", ["topic\tdocno\tlength", "14\td0001"], "line 2: expected 3 columns, got 2"),
        (
            "--attributes",
            ["topic\tdocno\tlength", "14\td0001\tlong"],
            "line 2: length: 'long' is not a number",
        ),
        ("--documents", ['{"docno": "d0001", "text": "x"}', "[1]"], "line 2: not a JSON object"),
        ("--documents", ['{"text": "x"}'], "line 1: docno is missing"),
        ("--documents", ['{"docno": "other", "text": "x"}'], "no document of "),
    ],
)
def test_wrong_attributes_are_answered(
    estimate: Estimate, option: str, lines: list[str], message: str
) -> None:
    words = ("--measure", "DCG@20", "--sample", estimate.sample, option, estimate.write("attributes", *lines))
    assert message in estimate.refusal("bias", *words)
