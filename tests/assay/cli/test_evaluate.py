import gzip
import io
import json
import math
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.errors import InputError
from assay.formats.runs.columns import save
from assay.formats.runs.reader import check_run, read_run
from assay.protocols.loader import load_protocol, shipped_text
from server.paths import ROOT
from tests.helpers.real_files import KNOWN, KNOWN_OVER_ALL_JUDGED, real_qrels

PROTOCOL = ["evaluate", "--protocol", "arqmath-2020-task1"]


@pytest.fixture
def qrels(tmp_path: Path) -> str:
    path = tmp_path / "qrels.txt"
    path.write_bytes(b"A.1 0 10 3\r\nA.1 0 11 0\r\nA.10 0 12 2\r\nA.2 0 13 1\r\n")
    return str(path)


@pytest.fixture
def run(tmp_path: Path) -> str:
    path = tmp_path / "good.tsv"
    path.write_text(
        "A.1\t11\t1\t2.5\tgood\nA.1\t10\t2\t1.5\tgood\nA.10\t12\t1\t9\tgood\nA.7\t12\t1\t9\tgood\n"
    )
    return str(path)


def table(output: str) -> dict[tuple[str, str, str], str]:
    header, *lines = [line.split("\t") for line in output.splitlines()]
    assert header == ["run", "topic", "measure", "value"]
    return {(run, topic, measure): value for run, topic, measure, value in lines}


def test_the_known_values_are_printed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(data / "arqmath" / "runs" / name) for name in KNOWN]

    status = main([*PROTOCOL, "--qrels", str(real_qrels(data)), *runs, "--average", "common"])

    values = table(capsys.readouterr().out)
    assert status == 0
    for name, expected in KNOWN.items():
        stem = name.removesuffix(".gz").removesuffix(".tsv")
        measures = ("nDCG'", "AP(rel=2)'", "P(rel=2)@10'")
        assert tuple(values[stem, "all", measure] for measure in measures) == expected


def test_by_default_the_mean_is_over_all_topics_of_the_qrels(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, expected = next(iter(KNOWN_OVER_ALL_JUDGED.items()))

    main([*PROTOCOL, "--qrels", str(real_qrels(data)), str(data / "arqmath" / "runs" / name)])

    captured = capsys.readouterr()
    values = table(captured.out)
    stem = name.removesuffix(".tsv")
    assert (
        tuple(values[stem, "all", measure] for measure in ("nDCG'", "AP(rel=2)'", "P(rel=2)@10'")) == expected
    )
    assert captured.err == (
        "warning: 45 topics of the qrels are in no run and counted as 0: “A.1”, “A.10”, “A.11”, “A.15”, “A.18” "
        f"and 40 more\n{stem}: averaged over 77 topics; 45 of the qrels missing from the run, counted as 0\n"
    )


def test_topics_are_printed_before_the_mean_and_add_up_to_it(
    qrels: str, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*PROTOCOL, "--qrels", qrels, run, "--per-topic", "--measure", "RR"])

    assert capsys.readouterr().out.splitlines()[1:] == [
        "good\tA.1\tRR\t0.5000",
        "good\tA.10\tRR\t1.0000",
        "good\tA.2\tRR\t0.0000",
        "good\tall\tRR\t0.5000",
    ]


def test_common_topics_alone_are_printed_if_they_alone_are_averaged(
    qrels: str, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*PROTOCOL, "--qrels", qrels, run, "--per-topic", "--measure", "RR", "--average", "common"])

    captured = capsys.readouterr()
    assert [line.split("\t")[1] for line in captured.out.splitlines()] == ["topic", "A.1", "A.10", "all"]
    assert "0.7500" in captured.out
    assert captured.err == (
        "good: averaged over 2 topics; 1 of the qrels missing from the run, left out;"
        " 1 of the run not in the qrels, ignored\n"
    )


def test_json_has_the_same_rows(qrels: str, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(
        [
            *PROTOCOL,
            "--qrels",
            qrels,
            run,
            "--format",
            "json",
            "--measure",
            "RR",
            "--measure",
            "nDCG'",
            "--quiet",
        ]
    )

    captured = capsys.readouterr()
    assert captured.err == "warning: 1 topic of the qrels is in no run and counted as 0: “A.2”\n"
    assert [(row["run"], row["topic"], row["measure"]) for row in json.loads(captured.out)] == [
        ("good", "all", "RR"),
        ("good", "all", "nDCG'"),
    ]


def test_a_measure_longer_than_a_file_name_is_refused(
    qrels: str, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([*PROTOCOL, "--qrels", qrels, run, "--measure", f"nDCG@{'9' * 5000}"])

    assert status == 2
    assert "nDCG@999" in capsys.readouterr().err


def test_a_run_after_a_measure_is_a_run(qrels: str, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PROTOCOL, "--qrels", qrels, "--measure", "RR", "--measure", "P@5", run]) == 0
    assert len(table(capsys.readouterr().out)) == 2


def test_standard_input_can_be_a_run_or_the_qrels(
    qrels: str, run: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, path in ((["--qrels", qrels, "-"], run), (["--qrels", "-", run], qrels)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))

        assert main([*PROTOCOL, *arguments, "--measure", "RR"]) == 0

        assert next(iter(table(capsys.readouterr().out).values())) == "0.5000"


def test_run_and_qrels_are_read_from_pipes(
    qrels: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*PROTOCOL, "--qrels", qrels, run])
    expected = capsys.readouterr().out
    pipes = [tmp_path / "pipe-qrels", tmp_path / "pipe" / "good.tsv"]
    pipes[1].parent.mkdir()
    writers = []
    for pipe, path in zip(pipes, (qrels, run), strict=True):
        os.mkfifo(pipe)
        writers.append(threading.Thread(target=pipe.write_bytes, args=(Path(path).read_bytes(),)))
        writers[-1].start()

    status = main([*PROTOCOL, "--qrels", str(pipes[0]), str(pipes[1])])

    for writer in writers:
        writer.join()
    assert status == 0
    assert capsys.readouterr().out == expected


def test_packed_files_are_read(
    qrels: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = [tmp_path / "qrels.gz", tmp_path / "good.tsv.gz"]
    for path, plain in zip(packed, (qrels, run), strict=True):
        path.write_bytes(gzip.compress(Path(plain).read_bytes()))

    main([*PROTOCOL, "--qrels", str(packed[0]), str(packed[1]), "--measure", "RR"])

    assert table(capsys.readouterr().out) == {("good", "all", "RR"): "0.5000"}


def test_runs_with_the_same_file_name_have_their_path_as_name(
    qrels: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    second = other / "good.tsv"
    second.write_bytes(Path(run).read_bytes())

    main([*PROTOCOL, "--qrels", qrels, run, str(second), "--measure", "RR"])

    assert {name for name, _, _ in table(capsys.readouterr().out)} == {run, str(second)}


def broken(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "broken.tsv"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"A.1\t10\t1\t2\tr\nA.1\t11\t2\n", "broken.tsv: line 2: expected"),
        (b"", "broken.tsv: "),
        (b"A.1\t10\t1\tnan\tr\n", "broken.tsv: line 1: "),
        (b"%PDF-1.7", "broken.tsv: "),
    ],
)
def test_a_broken_run_is_one_message_and_status_2(
    qrels: str, run: str, tmp_path: Path, content: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([*PROTOCOL, "--qrels", qrels, run, broken(tmp_path, content), "--quiet"])

    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert reason in captured.err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b"A.1 0 10 3\nA.1 0 10 2\n",
            "broken.tsv: line 2: document 10 of topic A.1 is already in line 1",
        ),
        (b"", "broken.tsv: the file contains no qrels"),
        (b"\x1f\x8b\x08broken", "broken.tsv: The gz file is damaged"),
    ],
)
def test_broken_qrels_are_one_message_and_status_2(
    run: str, tmp_path: Path, content: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([*PROTOCOL, "--qrels", broken(tmp_path, content), run])

    captured = capsys.readouterr()
    assert (status, captured.out, captured.err.count("\n")) == (2, "", 1)
    assert reason in captured.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--qrels", "QRELS", "nowhere.tsv"], "nowhere.tsv: No such file or directory"),
        (["--qrels", "nowhere.txt", "RUN"], "nowhere.txt: No such file or directory"),
        (["--qrels", "-", "-"], "standard input (-) can be read only once"),
        (
            ["--qrels", "QRELS", "RUN", "--measure", "ndcg"],
            "there is no measure 'ndcg'; did you mean nDCG? Use nDCG, AP",
        ),
        (["--qrels", "QRELS", "RUN", "--protocol", "nothing"], "no protocol 'nothing'"),
    ],
)
def test_what_cannot_be_used_is_named(
    qrels: str, run: str, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [{"QRELS": qrels, "RUN": run}.get(word, word) for word in arguments]

    status = main([*PROTOCOL, *words])

    captured = capsys.readouterr()
    assert (status, captured.out, captured.err.count("\n")) == (2, "", 1)
    assert reason in captured.err


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rbp.95", "did you mean RBP(p=0.95)?"),
        ("Hit@10", "did you mean Success@10?"),
        ("hit_rate@5", "did you mean Success@5?"),
        ("ndcg_rel", "only assay trec_eval computes it"),
        ("f1", "did you mean SetF?"),
        ("F1@5", "did you mean SetF, which takes no rank?"),
        ("r-precision", "did you mean Rprec?"),
        ("ndcg_burges@10", "did you mean nDCG(dcg=exp-log2)@10?"),
        ("Q-measure", "did you mean Q?"),
        ("Hole@10", "did you mean judged@10, the share that is judged?"),
        ("iprec_at_recall_0.10", "did you mean IPrec@0.1?"),
        ("set_recall", "did you mean SetR?"),
        ("I-rec@10", "did you mean StRecall@10?"),
        ("nDCG@10000000000", "the rank after @ must be at most 999999; for all ranks, leave it out"),
    ],
)
def test_name_of_another_tool_gets_the_name_here(
    qrels: str, run: str, name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "--qrels", qrels, run, "--measure", name]) == 2
    assert hint in capsys.readouterr().err


def test_a_protocol_that_scores_distinct_formulas_is_refused(
    qrels: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    protocol = tmp_path / "own.toml"
    text = shipped_text("arqmath-2020-task1")
    protocol.write_text(text.replace("[scoring]", "[scoring]\ncollapse_instances = true"))

    status = main(["evaluate", "--protocol", str(protocol), "--qrels", qrels, run])

    assert status == 2
    assert "scoring.collapse_instances" in capsys.readouterr().err


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "DJANGO_SETTINGS_MODULE"}
    }
    line = [sys.executable, "-X", "importtime", "-m", "assay", *arguments]
    return subprocess.run(line, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)


def test_the_command_needs_no_settings_and_no_django(qrels: str, run: str) -> None:
    done = command(*PROTOCOL, "--qrels", qrels, run, "--measure", "RR")

    assert done.returncode == 0
    assert done.stdout == "run\ttopic\tmeasure\tvalue\ngood\tall\tRR\t0.5000\n"
    assert "django" not in done.stderr
    assert "urllib.request" not in done.stderr  # it takes a tenth of a short evaluation


def test_the_command_gives_its_status_to_the_shell(qrels: str) -> None:
    assert command(*PROTOCOL, "--qrels", qrels, "nowhere.tsv").returncode == 2


def test_a_reader_that_stops_early_is_no_error(data: Path) -> None:
    runs = sorted(str(path) for path in (data / "arqmath" / "runs").glob("prim_M*"))
    line = [
        sys.executable,
        "-m",
        "assay",
        *PROTOCOL,
        "--qrels",
        str(real_qrels(data)),
        *runs,
        "--per-topic",
        "--quiet",
    ]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None

        process.stdout.close()

        assert process.stderr.read() == b""
        assert process.wait() == 0


def made_run(path: Path, n: int, seed: int) -> str:
    """A run of a few hundred kilobytes."""
    lines = (
        f"A.{t}\t{(d * 37 + seed) % 9999}\t{d + 1}\t{n - d}.5\tr{seed}\n"
        for t in range(1, 11)
        for d in range(n)
    )
    path.write_text("".join(lines))
    return str(path)


def test_several_processes_print_what_one_prints(tmp_path: Path, qrels: str) -> None:
    runs = [made_run(tmp_path / f"{n}.tsv", 900, n) for n in range(5)]
    arguments = [*PROTOCOL, "--qrels", qrels, *runs, "--per-topic"]

    alone, together = (command(*arguments, "--processes", n) for n in ("1", "3"))

    assert (alone.returncode, together.returncode) == (0, 0), together.stderr
    assert together.stdout == alone.stdout
    assert alone.stdout.count("\n") > 5


def test_a_broken_run_among_several_processes_is_one_message(tmp_path: Path, qrels: str) -> None:
    runs = [made_run(tmp_path / f"{n}.tsv", 900, n) for n in range(5)]
    with Path(runs[3]).open("a") as file:
        file.write("A.1\t5\t1\t2\n")
    line = [
        sys.executable,
        "-m",
        "assay",
        *PROTOCOL,
        "--qrels",
        qrels,
        *runs,
        "--processes",
        "3",
        "--quiet",
    ]

    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "3.tsv: line 9001: expected" in done.stderr


def outcome(content: bytes, path: Path) -> object:
    """The columns of a file, which the full check and the fast check read alike."""
    path.write_bytes(content)
    protocol = load_protocol("arqmath-2020-task1")
    checked = check_run(path, protocol=protocol, name="r")
    if checked.columns is None:
        with pytest.raises(InputError, match=re.escape(f"{path}: {checked.report.errors[0]}")):
            read_run(str(path), protocol)
        return None
    columns = read_run(str(path), protocol)
    assert save(columns) == save(checked.columns)
    return columns


LINE = b"A.1\t%d\t%d\t%s\tr\n"
GOOD = b"".join(LINE % (n, n, repr(100 / n).encode()) for n in range(1, 40))


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + GOOD,
        GOOD.rstrip(),
        GOOD + b"\nA.2\t8  \t9\t-0.0\tr\n",
        b"topic\tPost_Id\trank\tscore\trun_number\n" + GOOD,
        gzip.compress(GOOD),
    ],
)
def test_what_an_upload_accepts_is_read_to_be_scored(content: bytes, tmp_path: Path) -> None:
    assert outcome(content, tmp_path / "r.tsv") is not None


@pytest.mark.parametrize(
    "content",
    [
        GOOD + GOOD,
        GOOD + b"A.1\t7\t1\t2\tr\n",
        GOOD + b"A.2\t7\t1\t1e400\tr\n",
        GOOD + b"A.2\t8\t9\t2\tother\n",
        GOOD + b"A.2\t8\t9\n",
        GOOD + b"A.2\t\x81\t9\t2\tr\n",
        GOOD + b"A.2\tx\x00y\t9\t2\tr\n",
        GOOD + b"A.2\t" + b"d" * 401 + b"\t9\t2\tr\n",
        GOOD + b"A.2\tx\t9\t2,5\tr\n",
        b"",
        b"%PDF-1.5",
        b"".join(LINE % (n, n, b"1") for n in range(1, 1003)),
        gzip.compress(GOOD)[:60],
    ],
)
def test_what_is_read_to_be_scored_is_refused_as_an_upload_is(content: bytes, tmp_path: Path) -> None:
    assert outcome(content, tmp_path / "r.tsv") is None


def test_real_runs_are_read_to_be_scored_as_they_are_uploaded(data: Path, tmp_path: Path) -> None:
    for path in sorted((data / "arqmath" / "runs").iterdir()):
        if "task2" not in path.name:
            assert outcome(path.read_bytes(), tmp_path / "r.tsv") is not None, path.name


FORMULA_RUN = "B.1\tf1\t10\t1\t9\tr\nB.1\tf2\t10\t2\t8\tr\nB.1\tf3\t11\t3\t7\tr\nB.1\tf4\t12\t4\t6\tr\n"
ID_MAP = "formula_id\tvisual_id\nf1\tv1\nf2\tv1\nf3\tv2\n"
FORMULAS = ["evaluate", "--protocol", "arqmath-2020-task2", "--measure", "P@2", "--measure", "P@4"]


@pytest.fixture
def formulas(tmp_path: Path) -> list[str]:
    """Qrels by distinct formula, a run of four instances, and the map of three of them to two formulas."""
    for name, text in (("q.txt", "B.1 0 v1 0\nB.1 0 v2 3\n"), ("r.tsv", FORMULA_RUN), ("map.tsv", ID_MAP)):
        (tmp_path / name).write_text(text)
    return ["--qrels", str(tmp_path / "q.txt"), str(tmp_path / "r.tsv")]


def test_instances_are_scored_as_distinct_formulas(
    formulas: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([*FORMULAS, *formulas, "--formulas", str(tmp_path / "map.tsv")])

    captured = capsys.readouterr()
    assert status == 0
    assert table(captured.out) == {("r", "all", "P@2"): "0.5000", ("r", "all", "P@4"): "0.2500"}
    assert "4 instances, 2 distinct formulas, 1 instance without a visual id skipped" in captured.err


def test_instances_are_scored_one_by_one_where_that_is_asked_for(
    formulas: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.txt").write_text("B.1 0 f1 0\nB.1 0 f3 3\nB.1 0 f4 2\n")

    main([*FORMULAS, *formulas, "--units", "instances"])

    assert table(capsys.readouterr().out) == {("r", "all", "P@2"): "0.0000", ("r", "all", "P@4"): "0.5000"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            [],
            "arqmath-2020-task2: scoring.collapse_instances: each instance counts as its visually distinct formula",
        ),
        (["--formulas", "nowhere.tsv"], "nowhere.tsv: No such file or directory"),
        (["--formulas", "QRELS"], "q.txt"),
        (["--protocol", "trec-adhoc", "--units", "distinct"], "--units distinct: name the formula index"),
    ],
)
def test_distinct_formulas_need_an_index(
    formulas: list[str], arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [formulas[1] if word == "QRELS" else word for word in arguments]

    status = main([*FORMULAS, *formulas, *words])

    captured = capsys.readouterr()
    assert (status, captured.out) == (2, "")
    assert reason in captured.err


NTCIR = ["evaluate", "--protocol", "ntcir-12-wikipedia", "--quiet"]


def test_the_published_values_of_tangent_cft_come_out(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mansouri et al. (2019): bpref .60 for fully, .71 for partially relevant formulas of the concrete topics."""
    files = [
        data / "ntcir" / name
        for name in ("qrels.ntcir12-math-browsing-concrete.txt", "TangentCFT_ntcir12_wikiformula.txt.gz")
    ]

    status = main(
        [
            *NTCIR,
            "--qrels",
            *map(str, files),
            "--measure",
            "bpref(rel=3)",
            "--measure",
            "bpref(rel=1)",
            "--average",
            "common",
        ]
    )

    assert status == 0
    assert sorted(table(capsys.readouterr().out).values()) == ["0.5963", "0.7134"]


def test_fractional_grades_are_scaled_or_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels = str(data / "ntcir" / "NTCIR12-ArXiv-Math.dat")
    run = tmp_path / "r.txt"
    run.write_text("NTCIR12-MathIR-1 1 0710.3032_1_22 1 2 r\nNTCIR12-MathIR-1 1 0804.0935_1_28 2 1 r\n")
    arguments = [*NTCIR, "--qrels", qrels, str(run), "--measure", "P(rel=3)@2", "--average", "common"]

    assert main(arguments) == 2
    assert "is a fraction" in capsys.readouterr().err
    assert main([*arguments, "--scale", "3"]) == 0
    assert list(table(capsys.readouterr().out).values()) == ["0.5000"]


@pytest.mark.parametrize("line", ["{} 0 {} 1\n", "{}\t{}\r\n"], ids=["qrels", "known items"])
def test_known_items_are_scored_by_reciprocal_rank(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NTCIR-11: the formula that a query was made from is the one that is relevant."""
    known = {"Q1": "Article:3", "Q2": "Łojasiewicz,_(n):0", "Q3": "Other:1"}
    (tmp_path / "known.txt").write_text("".join(line.format(*item) for item in known.items()))
    lines = [
        "Q1 1 Article:9 1 9 r",
        "Q1 1 Article:3 2 8 r",
        "Q2 1 Łojasiewicz,_(n):0 1 5 r",
        "Q3 1 X:1 1 5 r",
    ]
    (tmp_path / "r.txt").write_text("\n".join(lines))

    status = main(
        [
            "evaluate",
            "--protocol",
            "ntcir-11-math",
            "--qrels",
            str(tmp_path / "known.txt"),
            str(tmp_path / "r.txt"),
        ]
    )

    assert status == 0
    assert table(capsys.readouterr().out) == {("r", "all", "RR"): "0.5000"}


def test_grade_outside_the_protocol_is_refused_with_its_lines(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels = tmp_path / "q.txt"
    qrels.write_text("A.1 0 10 3\nA.1 0 11 7\nA.10 0 12 5\nA.2 0 13 4\n")

    assert main([*PROTOCOL, "--qrels", str(qrels), run]) == 2

    error = capsys.readouterr().err
    assert "line 2: grade 7 is not in arqmath-2020-task1; use 0, 1, 2 or 3; line 4: grade 4" in error
    assert "line 3" not in error


def test_code_of_a_non_answer_counts_as_not_judged(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def output(grade: str) -> str:
        qrels = tmp_path / "q.txt"
        qrels.write_text(f"A.1 0 10 3\nA.1 0 11 {grade}\n")
        assert main([*PROTOCOL, "--quiet", "--qrels", str(qrels), run]) == 0
        return capsys.readouterr().out

    assert output("5") == output("6") == output("-1")
    assert output("5") != output("3")


def test_sum_of_judges_is_in_the_scale_of_its_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, qrels = tmp_path / "r.trec", tmp_path / "q.txt"
    run.write_text("T1 Q0 a 1 2.0 r\n")
    qrels.write_text("T1 0 a 4\nT1 0 b 5\n")

    assert main(["evaluate", "--protocol", "ntcir-12-wikipedia", "--qrels", str(qrels), str(run)]) == 2

    error = capsys.readouterr().err
    assert "q.txt: line 2: grade 5 is not in ntcir-12-wikipedia; use 0 to 4\n" in error


@pytest.mark.parametrize(
    ("qrels", "problem"),
    [
        (
            "B.1 0 10 3\n",
            "none of its topics is in the qrels, every value is 0; the run has A.1, the qrels have B.1",
        ),
        (
            "A.1 0 x 3\n",
            "none of its documents is judged, every value is 0; for topic A.1, the run has 11, the qrels",
        ),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "tiers"])
def test_run_without_a_judged_document_is_named(
    command: str, qrels: str, problem: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "q.txt"
    path.write_text(qrels)

    main([command, *PROTOCOL[1:], "--quiet", "--average", "judged", "--qrels", str(path), run])

    assert f"warning: good: {problem}" in capsys.readouterr().err


def test_json_has_all_digits(qrels: str, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*PROTOCOL, "--qrels", qrels, "--measure", "nDCG'", "--format", "json", run])

    (row,) = json.loads(capsys.readouterr().out)
    assert row["value"] == pytest.approx((1 / math.log2(3) + 1) / 3, abs=1e-15)


def test_run_of_visual_ids_may_have_the_columns_of_the_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, qrels, protocol = tmp_path / "v.tsv", tmp_path / "q.txt", tmp_path / "p.toml"
    run.write_text("101\tB.1\t2\n102\tB.1\t1\n")
    qrels.write_text("B.1 0 101 3\n")
    text = shipped_text("arqmath-2020-task2").replace('formats = ["arqmath-6"]', 'formats = ["columns"]')
    text = text.replace('out_of_range_ranks = "error"\n', "")
    own = '\n[runs.columns]\norder = ["docno", "topic", "score"]\n'
    protocol.write_text(text.replace("\n[[runs.kind]]", f"{own}\n[[runs.kind]]", 1))
    words = ["evaluate", "--protocol", str(protocol), "--measure", "judged", "--qrels", str(qrels)]

    assert main([*words, "--units", "visual-ids", str(run)]) == 0

    assert capsys.readouterr().out.split()[-1] == "0.5000"


@pytest.mark.parametrize(
    "line",
    ["B.1\t{id}\t1\t0.5\tv", "B.1\t{id}\t77\t1\t0.5\tv", "B.1 Q0 {id} 1 0.5 v"],
    ids=["5", "6", "trec"],
)
def test_run_of_visual_ids_is_scored_in_every_form_of_lines(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, qrels = tmp_path / "v.tsv", tmp_path / "q.txt"
    run.write_text("".join(line.format(id=n) + "\n" for n in (101, 102)))
    qrels.write_text("B.1 0 101 3\n")
    words = ["evaluate", "--protocol", "arqmath-2020-task2", "--measure", "judged", "--qrels", str(qrels)]

    assert main([*words, "--units", "visual-ids", str(run)]) == 0

    assert "v\tall\tjudged\t0.5000\n" in capsys.readouterr().out


def test_non_answers_of_arqmath_2022_are_pooled_and_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels").write_text("A.301 0 1 3\nA.301 0 2 5\nA.301 0 3 6\nA.301 0 4 2\n")
    (tmp_path / "run.tsv").write_text(
        "".join(f"A.301\t{docno}\t{rank}\t{10 - rank}\tours\n" for rank, docno in enumerate((2, 1, 3, 4), 1))
    )
    arguments = [
        "--protocol",
        "arqmath-2022-task1",
        "--qrels",
        str(tmp_path / "qrels"),
        "--measure",
        "P(rel=2)@2'",
    ]

    assert main(["evaluate", *arguments, str(tmp_path / "run.tsv")]) == 0

    assert "1.0000" in capsys.readouterr().out  # 1 and 4, since nobody judged 2 and 3


def test_judged_submission_of_bolt_is_scored_by_its_own_judgments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = tmp_path / "judged.xml"
    grades = iter(("no", "yes", "maybe"))
    text = samples.path("runs/bolt-owls.xml").read_text()
    judged.write_text(re.sub("<cite ", lambda _: f'<cite rel="{next(grades, "no")}" chksrc="yes" ', text))
    options = [
        "evaluate",
        "--quiet",
        "--protocol",
        "bolt-ir-p3",
        "--qrels",
        str(judged),
        "--average",
        "common",
    ]

    scored = main([*options, "--per-topic", "--measure", "charP@5", str(judged)])

    assert scored == 0
    lengths = (27, 42, 14, 19, 41)
    assert f"BIR_1\tcharP@5\t{(42 + 14) / sum(lengths):.4f}\n" in capsys.readouterr().out
    assert main(["check", "--protocol", "bolt-ir-p3", str(judged)]) == 1


def test_a_set_of_qrels_is_scored_with_its_own_grades_and_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "quality.txt").write_text("1 0 a 2\n1 0 b 0\n1 0 c 0\n")
    (tmp_path / "stance.txt").write_text("1 0 a 1\n1 0 b 2\n")
    (tmp_path / "run.txt").write_text("1 Q0 b 1 9 owls\n1 Q0 a 2 8 owls\n")
    protocol, run = str(samples.path("arguments-lab.toml")), str(tmp_path / "run.txt")

    def evaluate(key: str, qrels: str) -> tuple[int, str, str]:
        files = ["--qrels", str(tmp_path / qrels), run]
        return (
            main(["evaluate", "--protocol", f"{protocol}:{key}", "--quiet", *files]),
            *capsys.readouterr(),
        )

    assert evaluate("quality", "quality.txt") == (
        0, "run\ttopic\tmeasure\tvalue\nrun\tall\tnDCG@5\t0.6309\nrun\tall\tP@5\t0.2000\n", ""
    )  # fmt: skip
    assert "grade 2 is not in arguments-two-scales; use 0 or 1" in evaluate("stance", "stance.txt")[2]
    assert "no set of qrels 'color'; use quality, stance, good-pro" in evaluate("color", "quality.txt")[2]


@pytest.mark.parametrize(
    ("slug", "expected"),
    [
        ("trec-rag-2026-retrieval", {"SetF(rel=2)": 0.75, "SetP(rel=2)": 0.75, "SetR(rel=2)": 0.75}),
        ("llmjudge", {"P(rel=2)@10": 0.1, "RR(rel=2)": 1.0}),
    ],
)
def test_runs_of_other_depths_per_topic_are_scored_by_what_they_return(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], slug: str, expected: dict[str, float]
) -> None:
    (tmp_path / "q").write_text("T1 0 d1 3\nT1 0 d2 1\nT1 0 d3 2\nT2 0 d4 2\n")
    (tmp_path / "r").write_text("T1 Q0 d1 1 9 x\nT1 Q0 d2 2 8 x\nT2 Q0 d4 1 9 x\n")
    arguments = ["--protocol", slug, "--qrels", str(tmp_path / "q"), str(tmp_path / "r")]

    assert main(["evaluate", *arguments, "--format", "ir_measures", "--quiet"]) == 0

    values = {row.split()[2]: float(row.split()[3]) for row in capsys.readouterr().out.splitlines()}
    assert {name: values[name] for name in expected} == expected
