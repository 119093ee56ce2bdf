"""The commands of analysis on small files, and on the real runs and qrels of 2020."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.protocols.loader import shipped_text
from server.paths import ROOT
from tests.helpers.real_files import KNOWN, real_qrels
from tests.helpers.score_files import PROTOCOL, ask, qrels, read


def test_two_runs_are_compared_topic_by_topic(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ask(capsys, "compare", *qrels(folder), "--measure", "RR", "--measure", "AP(rel=2)'", *three[:2])

    rr = tables["summary"][0]
    assert (rr["measure"], rr["topics"], rr["first"], rr["second"]) == ("RR", "3", "good", "poor")
    assert (rr["mean_first"], rr["mean_second"]) == ("0.8333", "0.6111")
    assert (rr["wins"], rr["ties"], rr["losses"]) == ("2", "1", "0")
    # of 8 sign patterns of 0.5, 0 and 0.1667, those alike reach 0.6667: half of them
    assert float(rr["p_randomization"]) == 0.5
    assert float(rr["p_wilcoxon"]) == 0.5  # of 4 sign patterns of 0.5 and 0.1667, without the 0
    assert float(rr["low"]) <= float(rr["difference"]) <= float(rr["high"])
    assert [row["difference"] for row in tables["topics"] if row["measure"] == "RR"] == [
        "0.5000", "0.0000", "0.1667"
    ]  # fmt: skip
    assert [row["topic"] for row in tables["overlap"]] == ["all", "A.1", "A.10", "A.2"]
    assert float(tables["overlap"][1]["minimum"]) > 0


def test_two_runs_are_compared_without_qrels(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with_qrels = ask(capsys, "compare", *qrels(folder), "--measure", "RR", *three[:2])["overlap"]

    assert main(["compare", *three[:2]]) == 0
    overlap = capsys.readouterr().out.splitlines()
    assert main(["compare", "--persistence", "0.5", *three[:2]]) == 0
    other = capsys.readouterr().out.splitlines()
    assert main(["compare", "--alpha", "0.1", *three[:2]]) == 2

    assert "--alpha needs --qrels; without it, only the rankings are compared" in capsys.readouterr().err
    assert overlap[0].split("\t")[:5] == ["topic", "first", "second", "common", "common_10"]
    by_topic = {line.split("\t")[0]: line.split("\t") for line in overlap}
    assert {row["topic"]: row["extrapolated"] for row in with_qrels} == {
        row["topic"]: by_topic[row["topic"]][-1] for row in with_qrels
    }
    assert other != overlap


def test_only_topics_of_both_runs_are_compared_if_asked(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*qrels(folder), "--measure", "RR", three[0], three[2]]

    over_all = ask(capsys, "compare", *given)
    common = ask(capsys, "compare", *given, "--average", "common")

    assert [row["topic"] for row in over_all["topics"]] == ["A.1", "A.10", "A.2"]
    assert [row["topic"] for row in common["topics"]] == ["A.1", "A.2"]
    assert common["summary"][0]["topics"] == "2"


def test_runs_are_ranked_with_their_tiers(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ask(capsys, "tiers", *qrels(folder), "--measure", "RR", *three)

    assert (tables["ranking"][0]["rank"], tables["ranking"][0]["run"]) == ("1", "good")
    assert {row["tier"] for row in tables["ranking"]} == {
        "a"
    }  # three topics are too few for a significant difference
    assert tables["tests"][0]["pairs"] == "3"
    assert "pairs" not in tables


@pytest.mark.parametrize("is_sampled", [False, True])
def test_pairs_of_many_runs_can_be_significant_after_holm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_sampled: bool
) -> None:
    """34 runs have 561 pairs: with 10,000 permutations, no p-value times 561 is at most 0.05."""
    if is_sampled:
        monkeypatch.setattr("assay.statistics.significance.MOST_COMPARED", 0)
    topics = [f"T{n}" for n in range(30)]
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 good 1\n{topic} 0 bad 0\n" for topic in topics))
    for run in range(34):
        name = tmp_path / f"run{run}"
        lines = (f"{topic} Q0 {'good' if run % 2 else 'bad'} 1 1.0 run{run}\n" for topic in topics)
        name.write_text("".join(lines))

    runs = sorted(str(path) for path in tmp_path.glob("run*"))
    arguments = ["--protocol", "trec-adhoc", "--qrels", str(tmp_path / "qrels"), "--measure", "P@1"]
    assert main(["tiers", *arguments, "--table", "pairs", *runs]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter="\t"))
    main(["tiers", *arguments, "--pairs", *runs])
    printed = capsys.readouterr().out

    note = "p_randomization below 0.01 estimated by importance sampling, 1000 patterns"
    assert (note if is_sampled else ", 33660 for Holm") in printed
    holm = [float(row["p_randomization_holm"]) for row in rows]
    assert (len(rows), sum(p <= 0.05 for p in holm)) == (561, 17 * 17)
    for column in ("p_t_holm", "p_wilcoxon_holm"):
        # the t of equal runs is undefined
        assert [p <= 0.05 for p in holm] == [float(row[column] or "1") <= 0.05 for row in rows]


def test_a_run_without_a_judged_document_is_not_compared(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.tsv").write_text("A.1\t77\t1\t1.0\tother\n")

    given = [*qrels(folder), "--measure", "RR"]
    main(["tiers", *given, "--pairs", *three, str(folder / "other.tsv")])
    ranked = read(capsys.readouterr().out)
    main(["compare", *given, three[0], str(folder / "other.tsv")])
    printed = capsys.readouterr().out
    compared = read(printed)["summary"][0]

    assert [row["tier"] for row in ranked["ranking"]] == ["a", "a", "a", "not comparable"]
    last = ranked["ranking"][-1]
    assert (last["run"], last["rank"], last["mean"], last["low"]) == ("other", "", "0.0000", "")
    assert "other" not in {row[side] for row in ranked["pairs"] for side in ("first", "second")}
    assert ranked["tests"][0]["pairs"] == "3"
    assert {compared[name] for name in ("low", "high", "t", "p_t", "p_randomization", "p_wilcoxon")} == {""}
    assert "; other: no judged document, so not comparable" in printed


@pytest.mark.parametrize("command", ["tiers", "compare", "reuse"])
def test_measures_of_a_protocol_other_than_means_are_left_out_with_a_note(
    command: str, folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = shipped_text(PROTOCOL[1]).replace('measures = ["', 'measures = ["GMAP(rel=2)", "NumRet(rel=2)", "')
    (folder / "own.toml").write_text(text)
    given = ["--protocol", str(folder / "own.toml"), *qrels(folder)[2:]]
    runs = three[:2]
    if command == "reuse":
        runs = ["--runs", str(folder / "runs.csv"), "--samples", "10"]

    assert main([command, *given, *runs]) == 0
    printed = capsys.readouterr()
    refused = main([command, *given, "--measure", "GMAP", *runs])

    assert "nDCG'" in printed.out
    assert "GMAP" not in printed.out
    for name in ("GMAP(rel=2)", "NumRet(rel=2)"):
        assert f"{name} is left out: it is not a mean over topics" in printed.err
    assert refused == 2
    assert "GMAP is not a mean over topics" in capsys.readouterr().err


def test_a_single_topic_has_no_test_and_no_interval(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.txt").write_text("A.1 0 11 2\nA.1 0 12 0\n")
    given = [*qrels(folder)[:2], "--qrels", str(folder / "one.txt"), "--measure", "RR"]

    compared = ask(capsys, "compare", *given, *three[:2])["summary"][0]
    ranked = ask(capsys, "tiers", *given, *three[:2])

    assert compared["topics"] == "1"
    assert {compared[name] for name in ("low", "high", "t", "p_t", "p_randomization", "p_wilcoxon")} == {""}
    assert {row[name] for row in ranked["ranking"] for name in ("low", "high", "tier")} == {""}
    assert (ranked["tests"][0]["share"], ranked["tests"][0]["critical_0.05"]) == ("", "")


def test_pairs_are_printed_if_asked_for(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ask(capsys, "tiers", *qrels(folder), "--measure", "RR", "--pairs", *three)
    assert main(["tiers", *qrels(folder), "--measure", "RR", "--table", "pairs", *three]) == 0

    assert len(tables["pairs"]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_the_same_seed_prints_the_same(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for seed in ("1", "1", "2"):
        main(["tiers", *qrels(folder), "--pairs", "--seed", seed, *three])
        printed.append(capsys.readouterr().out)

    assert printed[0] == printed[1] != printed[2]


def test_json_has_the_numbers_of_the_text(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = ask(capsys, "compare", *qrels(folder), *three[:2])
    main(["compare", *qrels(folder), "--format", "json", *three[:2]])
    tables = json.loads(capsys.readouterr().out)

    assert list(tables) == list(text)
    for name, rows in tables.items():
        for row, expected in zip(rows, text[name], strict=True):
            for key, value in row.items():
                shown = f"{value:.4f}" if isinstance(value, float) else "" if value is None else str(value)
                assert shown == expected[key]


def test_a_team_is_left_out_and_pools_are_cut(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = ask(
        capsys,
        "reuse",
        *qrels(folder),
        "--runs",
        str(folder / "runs.csv"),
        "--measure",
        "RR",
        "--samples",
        "20",
    )

    assert [(row["team"], row["runs"]) for row in tables["teams"]] == [("Ours", "2"), ("Theirs", "1")]
    # every document that the runs rank is in the depth-50 pool; short and good contribute nothing more than poor
    assert [row["judged_alone"] for row in tables["teams"]] == ["0", "0"]
    assert [row["run"] for row in tables["left_out"]] == ["good", "short", "poor"]
    assert [row["depth"] for row in tables["depths"]][-1] == "100%"
    assert tables["depths"][-1]["of_all_relevant"] == "1.0000"
    assert [row["topics"] for row in tables["topics"]] == ["3"]
    assert tables["discrimination"][0]["pairs"] == "3"


def test_a_protocol_without_depths_has_one_pool(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("good", "poor", "short"):
        lines = (folder / f"{name}.tsv").read_text().splitlines()
        words = [line.split("\t") for line in lines]
        (folder / f"{name}.tsv").write_text(
            "".join("\t".join([topic, "1", *rest]) + "\n" for topic, *rest in words)
        )
    arguments = ["--protocol", "ntcir-10-math", "--qrels", str(folder / "qrels.txt")]

    tables = ask(capsys, "reuse", *arguments, "--runs", str(folder / "runs.csv"), "--measure", "RR")

    assert [row["depth"] for row in tables["depths"]] == ["100%"]


def test_curves_of_runs_are_printed(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ask(capsys, "curves", *qrels(folder), *three)

    assert tables["recall_precision"][0] == {"run": "good", "recall": "0.0", "precision": "0.8333"}
    assert len(tables["precision"]) == 3 * 9


@pytest.fixture
def classes(folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """The classes of topics that `evaluate` prints the means of, each once."""

    def printed(labels: Path, *options: str) -> list[str]:
        words = ["evaluate", *qrels(folder), "--measure", "RR", "--quiet", "--labels", str(labels), *options]
        assert main([*words, three[0]]) == 0
        topics = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()]
        return [topic for topic in topics if "=" in topic]

    return printed


def test_means_are_of_the_topic_classes_of_the_protocol(
    folder: Path, classes: Callable[..., list[str]]
) -> None:
    labels, plain = folder / "labels.csv", folder / "plain.toml"
    labels.write_text(
        "topic,color,dependence,category\nA.1,red,text,proof\nA.10,blue,formula,concept\nA.2,red,text,proof\n"
    )
    plain.write_text(
        shipped_text("arqmath-2020-task1").replace(
            'topic_classes = ["category", "difficulty", "dependence"]', "topic_classes = []"
        )
    )

    own = ["category=concept", "category=proof", "dependence=formula", "dependence=text"]
    assert classes(labels) == own
    assert classes(labels, "--label", "color") == ["color=blue", "color=red"]
    assert classes(labels, "--protocol", str(plain)) == ["color=blue", "color=red", *own[2:], *own[:2]]


def test_a_label_of_numbers_has_classes_if_asked_for(folder: Path, classes: Callable[..., list[str]]) -> None:
    labels = folder / "labels.json"
    labels.write_text('{"A.1": {"Assessor": 1}, "A.2": {"Assessor": 2}}')

    assert classes(labels) == []
    assert classes(labels, "--label", "Assessor") == ["Assessor=1", "Assessor=2"]


def test_evaluate_adds_the_means_of_each_class(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    labels = folder / "labels.csv"
    labels.write_text("topic,Difficulty\nA.1,easy\nA.10,hard\nA.2,easy\n")
    command = ["evaluate", *qrels(folder), "--measure", "RR", "--quiet", "--per-topic", "--format", "json"]

    assert main([*command, "--labels", str(labels), three[0]]) == 0

    rows = {row["topic"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    assert rows["Difficulty=easy"] == pytest.approx((rows["A.1"] + rows["A.2"]) / 2)
    assert rows["Difficulty=hard"] == pytest.approx(rows["A.10"])


def test_labels_may_be_in_the_topic_file(folder: Path, classes: Callable[..., list[str]]) -> None:
    topics = folder / "topics.jsonl"
    topics.write_text(
        '{"code": "A.1", "labels": {"kind": "proof"}}\n{"code": "A.2", "labels": {"kind": "concept"}}\n'
    )

    marked = folder / "topics.xml"
    rows = (
        f'<topic number="{n}" kind="{kind}"><query>x</query></topic>'
        for n, kind in (("A.1", "a"), ("A.2", "b"))
    )
    marked.write_text(f"<topics>{''.join(rows)}</topics>")

    assert classes(topics) == ["kind=concept", "kind=proof"]
    assert classes(marked) == ["kind=a", "kind=b"]


def test_only_one_table_is_printed_if_asked(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["curves", *qrels(folder), "--table", "precision", *three]) == 0

    assert capsys.readouterr().out.splitlines()[0].startswith("run\tk\t")


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("evaluate", "compare", "tiers", "curves", "agreement"):
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])

        assert ended.value.code == 0
        assert f"assay {name}" in capsys.readouterr().out


def test_a_reader_that_stops_early_is_no_error(folder: Path, three: list[str]) -> None:
    line = [sys.executable, "-m", "assay", "curves", *qrels(folder), *three]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None

        process.stdout.close()

        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_real_runs_of_2020_are_in_these_tiers(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(data / "arqmath" / "runs" / name) for name in KNOWN]

    tables = ask(
        capsys, "tiers", *PROTOCOL, "--qrels", str(real_qrels(data)), "--measure", "nDCG'", "--pairs", *runs
    )

    ranking = {row["run"].split("-")[0]: (row["rank"], row["mean"], row["tier"]) for row in tables["ranking"]}
    assert ranking == {
        "scm_ensemble": ("1", "0.3979", "a"),
        "prim_MathDowsers": ("2", "0.3446", "ab"),
        "psu": ("3", "0.2625", "bc"),
        "prim_Approach0": ("4", "0.2470", "c"),
        "prim_MIRMU": ("5", "0.2378", "c"),
        "prim_zbMATH": ("6", "0.0418", "d"),
    }
    assert tables["tests"][0]["significant"] == "10"
