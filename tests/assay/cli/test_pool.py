"""`assay pool`: what it writes, prints and refuses."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.cli import pooling
from assay.cli.main import main
from assay.formats.runs import examples
from assay.processes import map_forked
from assay.protocols.loader import load_protocol, shipped_slugs
from assay.research import evaluation
from server.paths import ROOT
from tests.fixtures import wait_until
from tests.helpers.answer_runs import answer_run
from tests.helpers.form_runs import bolt_run, formula_run, ntcir_run
from tests.helpers.pool_files import (
    INDEX,
    TASK_2,
    TREC,
    add_the_late_run,
    lines_of,
    pool,
    write_formula_files,
    write_run_files,
    write_trec_files,
)
from tests.helpers.runs import run_bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_formula_files(tmp_path)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_run_files(tmp_path)


@pytest.fixture
def trec(tmp_path: Path) -> Path:
    return write_trec_files(tmp_path)


P = ["--protocol", "arqmath-2020-task1"]


def test_pool_is_written_with_its_record(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, contributions = files / "pool.tsv", files / "contributions.tsv"
    arguments = [
        "pool",
        *P,
        "--runs",
        str(files / "m.csv"),
        "--seed",
        "7",
        "--depth",
        "primary=2",
        "--depth",
        "alternate=1",
    ]

    status = main([*arguments, "--output", str(out), "--contributions", str(contributions)])

    record = json.loads((files / "pool.tsv.json").read_text())
    assert status == 0
    assert len(out.read_text().splitlines()) == 9
    assert contributions.read_text().splitlines()[0] == "A.1\t101\tone\trun-1\t1"
    assert record["protocol"]["sha256"] == load_protocol("arqmath-2020-task1").digest
    assert [run["depth"] for run in record["runs"]] == [2, 1]
    assert (
        f"9 units of 3 topics from 2 runs; by topic 3 to 3, mean 3.00; sha256 {record['sha256']}"
        in capsys.readouterr().err
    )


def test_same_seed_prints_the_same_bytes(files: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    arguments = ["pool", *P, "--runs", str(files / "m.csv"), "--seed"]
    outputs = []
    for seed in ("7", "7", "8"):
        main([*arguments, seed])
        outputs.append(capfdbinary.readouterr().out)

    assert outputs[0] == outputs[1] != outputs[2]


def test_run_with_errors_stops_the_pool(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "m.csv").write_text("file,team,tag,kind\nbad.tsv,one,run-1,primary\n")

    status = main(
        ["pool", *P, "--runs", str(files / "m.csv"), "--seed", "7", "--output", str(files / "p.tsv")]
    )

    captured = capsys.readouterr()
    assert (status, captured.out) == (1, "")
    assert "score “NaN”" in captured.err
    assert not (files / "p.tsv").exists()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # other tests left threads
def test_large_runs_are_read_by_several_processes(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["pool", *P, "--runs", str(files / "m.csv"), "--seed", "7", "--output"]
    main([*arguments, str(files / "alone.tsv")])
    monkeypatch.setattr(evaluation, "SMALL", 0)
    monkeypatch.setattr(evaluation, "processors", lambda: 2)
    monkeypatch.setattr(evaluation.threading, "active_count", lambda: 1)
    readers = files / "readers"
    readers.mkdir()

    def recorded(read: Callable[[Any], Any], *arguments: Any, **options: Any) -> Any:
        def noted(run: Any) -> Any:
            (readers / str(os.getpid())).touch()
            wait_until(lambda: len(list(readers.iterdir())) == 2, reason="a second process reads")
            return read(run)

        return map_forked(noted, *arguments, **options)

    monkeypatch.setattr(pooling, "map_forked", recorded)

    main([*arguments, str(files / "pool.tsv")])

    assert (files / "pool.tsv").read_bytes() == (files / "alone.tsv").read_bytes()
    assert (files / "pool.tsv.json").read_bytes() == (files / "alone.tsv.json").read_bytes()


def test_errors_of_all_runs_are_reported_in_the_order_of_the_manifest(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluation, "SMALL", 0)
    monkeypatch.setattr(evaluation, "processors", lambda: 2)
    bad = (files / "bad.tsv").read_bytes()
    (files / "worse.tsv").write_bytes(bad.replace(b"NaN", b"inf"))
    rows = "".join(f"{name}.tsv,one,{name},primary\n" for name in ("worse", "bad"))
    (files / "m.csv").write_text(f"file,team,tag,kind\n{rows}")

    status = main(["pool", *P, "--runs", str(files / "m.csv"), "--seed", "7"])

    errors = capsys.readouterr().err
    assert status == 1
    assert 0 < errors.index("score “inf”") < errors.index("score “NaN”")


# ---- formulas


def test_pool_of_formulas_is_written_with_members_runs_and_teams(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["contributions", "members", "member-contributions", "teams"]
    files = {name: folder / f"{name}.tsv" for name in names}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]

    status = pool(folder, "--formulas", str(folder / "index.tsv"), *options)

    assert status == 0
    units = sorted(line.split("\t")[:2] for line in lines_of(folder / "pool.tsv"))
    assert units == [["B.1", "100"], ["B.1", "200"], ["B.2", "100"], ["B.2", "200"]]
    assert lines_of(files["contributions"]) == [
        "B.1\t100\tone\ta\t1",
        "B.1\t200\tone\ta\t3",
        "B.1\t200\ttwo\tb\t1",  # the formula of the comment above it was left out
        "B.2\t100\ttwo\tb\t1",
        "B.2\t200\tone\ta\t1",
    ]
    assert [line.rsplit("\t", 1)[0] for line in lines_of(files["members"])] == [
        "B.1\t100\t1\t11\t10",
        "B.1\t100\t2\t12\t10",
        "B.1\t200\t3\t21\t20",
        "B.1\t200\t4\t20\t20",
        "B.2\t100\t1\t11\t10",
        "B.2\t200\t4\t20\t20",
        "B.2\t200\t6\t31\t30",
    ]
    assert lines_of(files["member-contributions"])[2:4] == [
        "B.1\t200\t3\tone\ta\t3",
        "B.1\t200\t4\ttwo\tb\t1",
    ]
    assert lines_of(files["teams"]) == [
        "team\ttopic\tunits\tbrought\talone",
        "one\tB.1\t2\t2\t1",
        "one\tB.2\t2\t1\t1",
        "two\tB.1\t2\t1\t0",
        "two\tB.2\t2\t1\t1",
    ]
    messages = capsys.readouterr().err
    assert "4 units of 2 topics from 2 runs" in messages
    assert "7 members, 7 of them to be shown" in messages
    assert "units (0.0 %) have more members than are shown" in messages
    assert "without one: 2 units; only one contributed 2 of its 3 units" in messages


def test_record_lists_all_inputs(folder: Path) -> None:
    pool(folder, "--formulas", str(folder / "index.tsv"), "--members", str(folder / "members.tsv"))

    record = json.loads((folder / "pool.tsv.json").read_text())

    def sha256(name: str) -> str:
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    assert record["formulas"] == [{"file": "index.tsv", "sha256": sha256("index.tsv")}]
    assert record["sha256"] == sha256("pool.tsv")
    assert record["members"] == {"n": 7, "shown": 7, "partly": 0, "sha256": sha256("members.tsv")}
    assert record["runs"][0]["reach"] == [3, 2]
    assert (record["order"], record["seed"]) == ("random", 7)


def test_same_seed_gives_the_same_bytes_in_separate_processes(folder: Path) -> None:
    outputs = []
    for hash_seed in ("1", "4711"):
        out = folder / hash_seed
        out.mkdir()
        names = ["contributions", "members", "member-contributions", "teams"]
        options = [text for name in names for text in (f"--{name}", str(out / name))]
        command = [sys.executable, "-m", "assay", "pool", *TASK_2, "--runs", str(folder / "m.csv")]
        command += [
            "--formulas",
            str(folder / "index.tsv"),
            "--seed",
            "5",
            "--output",
            str(out / "pool"),
            *options,
        ]
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        subprocess.run(command, check=True, cwd=ROOT, env=environment, capture_output=True)
        outputs.append({path.name: path.read_bytes() for path in out.iterdir()})

    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 6


def test_run_with_an_unknown_formula_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "index.tsv").write_text(INDEX.replace("\n6\t", "\n66\t"))

    assert pool(folder, "--formulas", str(folder / "index.tsv")) == 1
    assert "the formula is not in the collection" in capsys.readouterr().err


def test_unknown_formulas_are_skipped_if_allowed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "map.tsv").write_text("formula_id\tvisual_id\n1\t100\n2\t100\n4\t200\n")

    assert pool(folder, "--formulas", str(folder / "map.tsv"), "--allow-unknown") == 0

    messages = capsys.readouterr().err
    assert "skipped 3 pooled instances without a visual id" in messages
    assert sorted(line.split("\t")[:2] for line in lines_of(folder / "pool.tsv")) == [
        ["B.1", "100"],
        ["B.1", "200"],
        ["B.2", "100"],
        ["B.2", "200"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "add the formulas with their visual ids"),
        ("formula_id\tvisual_id\n", "the files contain no formula"),
        ("formula_id\tvisual_id\n1\n", "expected 2 columns"),
        ("just words\n", "map.tsv"),
    ],
)
def test_unusable_formula_files_are_refused(
    folder: Path, text: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = []
    if text is not None:
        (folder / "map.tsv").write_text(text)
        options = ["--formulas", str(folder / "map.tsv")]

    assert pool(folder, *options) == 2
    assert message in capsys.readouterr().err


# ---- orders, top-ups, known items


def test_order_of_judging_can_be_chosen(trec: Path) -> None:
    add_the_late_run(trec)

    pool(trec, "--order", "by-run-votes", protocol=TREC)

    assert lines_of(trec / "pool.tsv")[0] == "1\tb\t1"
    assert json.loads((trec / "pool.tsv.json").read_text())["order"] == "by-run-votes"


def test_top_up_leaves_out_units_of_the_earlier_pool(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool(trec, protocol=TREC)
    earlier = trec / "pool.tsv"
    earlier.rename(trec / "first.tsv")
    add_the_late_run(trec)

    assert pool(trec, "--top-up", str(trec / "first.tsv"), protocol=TREC) == 0

    assert lines_of(trec / "pool.tsv") == ["1\td\t1", "2\te\t1"]
    assert "left out 3 units of the earlier pool" in capsys.readouterr().err
    record = json.loads((trec / "pool.tsv.json").read_text())
    assert record["top_up"]["file"] == "first.tsv"
    assert record["n_already"] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1\ta\t1\n2 c 1\n", "old.tsv: line 2: expected a topic and, in column 2, a docno"),
        (b"", "old.tsv: line 1: expected a topic"),
        (b"1\t\x81\t1\n", "old.tsv: Line 1 is neither UTF-8 nor Windows-1252"),
    ],
)
def test_file_that_is_not_a_pool_is_refused(
    trec: Path, text: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (trec / "old.tsv").write_bytes(text)

    assert pool(trec, "--top-up", str(trec / "old.tsv"), protocol=TREC) == 2
    assert message in capsys.readouterr().err


def test_top_up_without_new_units_is_empty(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool(trec, protocol=TREC)
    (trec / "pool.tsv").rename(trec / "first.tsv")

    assert pool(trec, "--top-up", str(trec / "first.tsv"), protocol=TREC) == 0

    assert lines_of(trec / "pool.tsv") == []
    assert "0 units of 2 topics from 1 run;" in capsys.readouterr().err


def test_known_items_are_pooled_with_the_runs_that_retrieved_them(trec: Path) -> None:
    (trec / "known.tsv").write_text("1\tb\n2\tz\n")

    status = pool(
        trec,
        "--known-items",
        str(trec / "known.tsv"),
        "--contributions",
        str(trec / "contributions.tsv"),
        protocol=["--protocol", "ntcir-11-math"],
    )

    assert status == 0
    assert lines_of(trec / "pool.tsv") == ["1\tb\t1", "2\tz\t1"]
    assert lines_of(trec / "contributions.tsv") == ["1\tb\tone\tearly\t2"]


def test_known_item_protocols_need_the_known_items(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pool(trec, protocol=["--protocol", "ntcir-11-math"]) == 2
    assert "2 topics have no known item, such as 1, 2" in capsys.readouterr().err


def test_depth_for_a_protocol_without_depths_is_refused(
    trec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pool(trec, "--depth", "primary=5", protocol=["--protocol", "ntcir-10-math"]) == 2
    assert "this protocol has no depths" in capsys.readouterr().err


def test_impossible_depth_is_refused(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        pool(trec, "--depth", f"primary={10**30}")

    assert stopped.value.code == 2
    assert "is not KIND=K, such as primary=45" in capsys.readouterr().err


# ---- all shipped protocols


def answers_of(form: str) -> bytes:
    return f"{examples.EXAMPLES[form]}\n".replace("Owls-main", "ours").encode()


EXAMPLES = {
    "arqmath-5": lambda: run_bytes(["A.1\t101\t1\t9.5\tours", "A.1\t102\t2\t8.5\tours"]),
    "arqmath-6": formula_run,
    "trec-6": lambda: b"M-1 Q0 Ring:1 1 9.5 ours\nM-2 Q0 Ring:2 1 9.5 ours\n",
    "ntcir-xml": ntcir_run,
    "bolt-xml": bolt_run,
    "rag-2024": lambda: answer_run(tag="ours"),
    **{name: partial(answers_of, name) for name in ("rag-2025", "rag-2026", "ragtime", "dragun")},
    "columns": lambda: b"Q1\tQ1_C1\t1\t0.9\ttrue\nQ1\tQ1_C2\t2\t0.5\tfalse\n",
}
OWN_COLUMNS = {  # columns that are others than those of SemEval
    "arqmath-2022-task3": b"ours A.301 x1\nours A.302 x2\n",
    "touche-2025-images": b"1-1\tI1\t1\tours\n1-1\tI2\t2\tours\n",
}
EVERY_FORMAT = [(slug, form) for slug in shipped_slugs() for form in load_protocol(slug).runs.formats]


@pytest.mark.parametrize(("slug", "form"), EVERY_FORMAT)
def test_runs_of_every_shipped_protocol_are_pooled(tmp_path: Path, slug: str, form: str) -> None:
    protocol = load_protocol(slug)
    (tmp_path / "run").write_bytes(OWN_COLUMNS.get(slug) or EXAMPLES[form]())
    (tmp_path / "m.csv").write_text(f"file,team,tag,kind\nrun,one,ours,{protocol.runs.keys[0]}\n")
    (tmp_path / "map.tsv").write_text("".join(f"{900 + n}\tlook-{n % 2}\n" for n in range(1, 4)))
    (tmp_path / "known.tsv").write_text("M-1\tRing:1\nM-2\tRing:2\n")
    options = ["--known-items", str(tmp_path / "known.tsv")]
    if protocol.unit == "visually-distinct-formula":
        options += ["--formulas", str(tmp_path / "map.tsv")]

    first = pool(tmp_path, *options, protocol=["--protocol", slug])
    written = (tmp_path / "pool.tsv").read_bytes()
    again = pool(tmp_path, *options, protocol=["--protocol", slug])

    assert (first, again) == (0, 0)
    assert written
    assert (tmp_path / "pool.tsv").read_bytes() == written


@pytest.mark.parametrize(
    ("slug", "topic", "line", "pooled", "expected"),
    [
        # 2.5 of 2 + 1 / log2(3)
        ("touche-2025-images", "1-1", "{t}\t{d}\t{r}\tours", 5, {"nDCG@1": 1.0, "nDCG@3": 0.9502, "judged@5": 1}),
        ("longeval-2026-sci", "q1", "{t} Q0 {d} {r} -{r} ours", 10, {"nDCG@10'": 0.9502, "P@10": 0.2}),
        ("trec-ikat-2025", "1-2_3", "{t} Q0 {d} {r} -{r} ours", 5, {"nDCG@5": 0.9502, "P(rel=2)@5": 0.2}),
        ("llmjudge", "7", "{t} Q0 {d} {r} -{r} ours", 10, {"nDCG@10": 0.9502, "RR(rel=2)": 1, "P(rel=2)@10": 0.1}),
        ("trec-rag-2026-retrieval", "rag2026-0", "{t} Q0 {d} {r} -{r} ours", 10, {"SetF(rel=2)": 2 / 11}),
    ],
)  # fmt: skip
def test_rankings_of_2025_and_2026_go_from_topics_and_a_run_to_a_board(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    slug: str,
    topic: str,
    line: str,
    pooled: int,
    expected: Any,
) -> None:
    run, qrels, grades = str(tmp_path / "run"), tmp_path / "qrels", {"d:1": 2, "d:3": 1}
    (tmp_path / "topics.tsv").write_text(f"{topic}\tBoxing leads to serious injuries\n")
    documents = [f"d:{rank}" for rank in range(1, min(10, load_protocol(slug).runs.max_ranks) + 1)]
    rows = [line.format(t=topic, d=docno, r=rank) for rank, docno in enumerate(documents, 1)]
    (tmp_path / "run").write_text("\n".join(rows) + "\n")
    kind = load_protocol(slug).runs.keys[0]
    (tmp_path / "m.csv").write_text(f"file,team,tag,kind\nrun,one,ours,{kind}\n")

    checked = main(["check", "--protocol", slug, "--topics", str(tmp_path / "topics.tsv"), run])
    assert (checked, pool(tmp_path, protocol=["--protocol", slug])) == (0, 0)
    units = [row.split("\t")[1] for row in (tmp_path / "pool.tsv").read_text().splitlines()]
    qrels.write_text("".join(f"{topic} 0 {docno} {grades.get(docno, 0)}\n" for docno in units))
    capsys.readouterr()
    arguments = ["--protocol", slug, "--qrels", str(qrels), run, "--format", "ir_measures", "--quiet"]
    assert main(["evaluate", *arguments]) == 0

    values = {row.split()[2]: float(row.split()[3]) for row in capsys.readouterr().out.splitlines()}
    assert sorted(units) == sorted(documents[:pooled])
    assert {name: values[name] for name in expected} == pytest.approx(expected, abs=5e-5)


def test_limit_of_runs_per_team_pools_the_first_of_the_manifest(files: Path) -> None:
    (files / "m.csv").write_text(
        "file,team,tag,kind\nother.tsv,one,run-2,alternate\ngood.tsv,one,run-1,primary\n"
    )
    out = files / "pool.tsv"
    arguments = ["pool", *P, "--runs", str(files / "m.csv"), "--seed", "7", "--output", str(out), "--quiet"]

    status = main([*arguments, "--runs-per-team", "1"])

    record = json.loads((files / "pool.tsv.json").read_text())
    assert status == 0
    assert [run["tag"] for run in record["runs"]] == ["run-2"]
    assert record["runs_per_team"] == 1
    assert [(run["file"], run["team"], run["tag"]) for run in record["left_out"]] == [
        ("good.tsv", "one", "run-1")
    ]
    assert set(record["left_out"][0]) == {"file", "sha256", "team", "tag"}
