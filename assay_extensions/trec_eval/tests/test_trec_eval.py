import gzip
import io
import math
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytrec_eval
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.cli.main import main
from assay_extensions.trec_eval.catalog import MEASURES, NICKNAMES
from assay_extensions.trec_eval.files import FileError, read_blocks
from server.paths import ROOT
from tests.assay.formats.test_compression import BROKEN

Grades = dict[str, dict[str, int]]
N_CASES = 15


class Evaluated(SimpleNamespace):
    status: int
    values: dict[tuple[str, str], str]  # (measure, topic) -> what is printed
    lines: list[str]
    error: str


class Files:
    """Writes qrels and a run, and evaluates them as the command line does."""

    def __init__(self, folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.folder = folder
        self.capture = capsysbinary

    def write(self, name: str, text: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def evaluate(self, qrels: str | bytes, run: str | bytes, options: str = "") -> Evaluated:
        return self.command(*shlex.split(options), self.write("qrels", qrels), self.write("run", run))

    def command(self, *words: str) -> Evaluated:
        status = main(["trec_eval", *words])
        out, err = self.capture.readouterr()
        lines = out.decode(errors="surrogateescape").splitlines()
        cells = [line.split("\t") for line in lines if line.count("\t") == 2]
        values = {(measure.strip(), topic): value for measure, topic, value in cells}
        return Evaluated(status=status, values=values, lines=lines, error=err.decode())


@pytest.fixture
def files(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Files:
    return Files(tmp_path, capsysbinary)


@pytest.mark.parametrize("number", range(N_CASES))
def test_output_for_trec_eval_10s_own_tests_is_the_same_byte_for_byte(
    data: Path, number: int, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = data / "trec_eval"
    cases = (folder / "CASES.tsv").read_text().splitlines()[1:]
    assert len(cases) == N_CASES
    options, qrels, run, expected = cases[number].split("\t")
    monkeypatch.chdir(folder)

    status = main(["trec_eval", *shlex.split(options), qrels, run])

    assert status == 0
    assert capsysbinary.readouterr().out == (folder / expected).read_bytes()


# Lines of files


def test_ties_are_in_descending_order_of_bytes(files: Files) -> None:
    run = "1 Q0 10 1 0.0 r\n1 Q0 9 2 -0.0 r\n1 Q0 é 3 0 r\n1 Q0 Z 4 0.0 r\n1 Q0 a 5 0e0 r\n"

    strings = [
        files.evaluate(f"1 0 {docno} 1\n", run, "-q -m relstring").values["relstring", "1"]
        for docno in ("é", "a", "Z", "9", "10")
    ]

    assert strings == ["'1----'", "'-1---'", "'--1--'", "'---1-'", "'----1'"]


def test_scores_that_are_equal_in_32_bits_are_different(files: Files) -> None:
    run = "1 Q0 a 1 0.90000000001 r\n1 Q0 b 2 0.9 r\n"

    assert files.evaluate("1 0 a 1\n", run, "-m recip_rank").values["recip_rank", "all"] == "1.0000"


def test_rank_and_order_of_lines_are_ignored(files: Files) -> None:
    run = "2 Q0 x 1 1 r\n1 Q0 b 1 1 r\n2 Q0 a 9 3 r\n1 Q0 a 2 2 last\n"

    evaluated = files.evaluate("1 0 a 1\n2 0 a 1\n", run, "-q")

    assert evaluated.values["recip_rank", "1"] == evaluated.values["recip_rank", "2"] == "1.0000"
    assert evaluated.values["runid", "all"] == "last"


def test_topics_are_sorted_by_bytes(files: Files) -> None:
    topics = ["A.10", "B.1", "A.2", "é", "A.1"]
    qrels = "".join(f"{topic} 0 a 1\n" for topic in topics)
    run = "".join(f"{topic} Q0 a 1 1 r\n" for topic in topics)

    lines = files.evaluate(qrels, run, "-q -n -m map").lines

    assert [line.split("\t")[1] for line in lines] == ["A.1", "A.10", "A.2", "B.1", "é"]


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ("\ufeff1 0 a 1\n1 0 b 0\n", "\ufeff1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n"),
        ("1\t0\ta\t1\r\n1 0  b\t 0 \r\n", "1\tQ0\ta\t1\t2\tr\r\n 1 \v Q0 b 2 1 r\t\r\n"),
        ("  1 0 a +1\n1 0 b 00", "  1 Q0 a 1 2e0 r\n1 Q0 b 2 1. r"),
        ("# first\n# second\n1 0 a 1.0\n# third\n1 0 b 0\n#", "# x\n\n1 Q0 a 1 2 r\n\n#\n1 Q0 b 2 1 r\n\n"),
        ("1 0 a 1\r1 0 b 0\r", "1 Q0 a 1 2 r\r1 Q0 b 2 1 r\r"),
        ("1 0 a 1\n1 0 b 0\n", "1 Q0 a 1 2 r and more\n1 Q0 b 2 1 r of it\n"),
    ],
    ids=["byte order mark", "CRLF and tabs", "no last end of line", "comments", "CR", "more columns"],
)
def test_every_usual_way_to_write_lines_is_accepted(files: Files, qrels: str, run: str) -> None:
    evaluated = files.evaluate(qrels, run)

    assert evaluated.status == 0
    assert [evaluated.values[name, "all"] for name in ("runid", "num_ret", "num_rel", "map")] == [
        "r",
        "2",
        "1",
        "1.0000",
    ]


def test_names_hold_any_character(files: Files) -> None:
    names = ["CR#9", 'a,"b"', "Group_theory:17", "0012", "1e5", "⊕"]
    qrels = "".join(f"t#1 0 {name} 1\n" for name in names)
    run = "".join(f"t#1 Q0 {name} 1 1 r\n" for name in names) + "t#1 Q0 12 1 1 r\n"

    assert files.evaluate(qrels, run).values["num_rel_ret", "all"] == "6"


def test_bytes_that_are_not_utf_8_are_printed_unchanged(files: Files) -> None:
    evaluated = files.evaluate(b"t\xff 0 a 1\n", b"t\xff Q0 a 1 1 \xfe\n", "-q -m map -m runid")

    assert [line.encode(errors="surrogateescape") for line in evaluated.lines] == [
        b"map                   \tt\xff\t1.0000",
        b"runid                 \tall\t\xfe",
        b"map                   \tall\t1.0000",
    ]


def test_a_run_comes_from_standard_input_or_packed(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    run = b"1 Q0 a 1 1 r\n"
    qrels = files.write("qrels.gz", gzip.compress(b"1 0 a 1\n") + gzip.compress(b"1 0 b 1\n"))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(run)))

    assert files.command("-m", "map", qrels, "-").values["map", "all"] == "0.5000"
    assert files.command("-m", "map", qrels, files.write("run.gz", gzip.compress(run))).status == 0


# Which topics count


QRELS_OF_THREE = "1 0 a 1\n2 0 a 1\n3 0 a 1\n"
RUN_OF_ONE = "1 Q0 a 1 1 r\n9 Q0 a 1 1 r\n"


def test_a_topic_without_results_is_left_out_and_reported(files: Files) -> None:
    evaluated = files.evaluate(QRELS_OF_THREE, RUN_OF_ONE, "-q")

    assert evaluated.status == 0
    assert evaluated.values["num_q", "all"] == "1"
    assert evaluated.values["map", "all"] == "1.0000"
    assert ("map", "2") not in evaluated.values
    assert "2 topics of" in evaluated.error
    assert "-c counts them as 0" in evaluated.error


def test_with_c_a_topic_without_results_counts_0(files: Files) -> None:
    evaluated = files.evaluate(QRELS_OF_THREE, RUN_OF_ONE, "-q -c -m all_trec -m yaap")

    assert evaluated.error == ""
    assert evaluated.values["num_q", "all"] == "3"
    assert evaluated.values["map", "all"] == "0.3333"
    assert evaluated.values["relstring", "2"] == "''"
    not_nothing = {"num_rel", "relstring", "yaap"}
    of_two = {name: value for (name, topic), value in evaluated.values.items() if topic == "2"}
    assert {value for name, value in of_two.items() if name not in not_nothing} == {"0", "0.0000"}


def test_a_geometric_mean_has_a_floor_for_each_topic(files: Files) -> None:
    value = files.evaluate(QRELS_OF_THREE, RUN_OF_ONE, "-c -m gm_map").values["gm_map", "all"]

    assert value == f"{math.exp(2 / 3 * math.log(1e-5)):.4f}"


def test_with_j_a_topic_of_unjudged_documents_counts_0(files: Files) -> None:
    run = "1 Q0 x 1 2 r\n2 Q0 x 1 2 r\n2 Q0 a 2 1 r\n"

    evaluated = files.evaluate("1 0 a 1\n2 0 a 1\n", run, "-q -J -m all_trec")

    assert evaluated.values["num_q", "all"] == "2"
    assert evaluated.values["map", "2"] == "1.0000"
    assert evaluated.values["map", "all"] == "0.5000"
    assert evaluated.values["iprec_at_recall_0.00", "1"] == "0.0000"  # 10.0 divides by zero and prints -nan
    assert evaluated.values["num_ret", "1"] == "0"


def test_the_depth_cuts_before_unjudged_documents_are_removed(files: Files) -> None:
    run = "1 Q0 x 1 3 r\n1 Q0 y 2 2 r\n1 Q0 a 3 1 r\n"

    assert files.evaluate("1 0 a 1\n", run, "-J -M2 -m map").values["map", "all"] == "0.0000"
    assert files.evaluate("1 0 a 1\n", run, "-J -M3 -m map").values["map", "all"] == "1.0000"


def test_one_topic_can_be_evaluated(files: Files) -> None:
    run = "1 Q0 a 1 1 r\n2 Q0 a 1 1 r\n"

    assert files.evaluate(QRELS_OF_THREE, run, "-D 0.2 -q -n -m map").lines == [
        "map                   \t2\t1.0000"
    ]


# Options


def test_options_may_be_joined_or_long_or_after_the_files(files: Files) -> None:
    qrels, run = files.write("qrels", "1 0 a 1\n1 0 b 2\n"), files.write("run", "1 Q0 a 1 1 r\n")

    together = files.command("-qcl2", "-mmap", qrels, run)
    in_words = files.command(
        qrels, run, "--query_eval_wanted", "--complete", "--level_for_rel=2", "--measure", "map"
    )

    assert together.lines == in_words.lines == [f"map                   \t{t}\t0.0000" for t in ("1", "all")]


def test_without_a_summary_only_topics_are_printed(files: Files) -> None:
    assert files.evaluate("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-q -n -m map -m gm_map -m num_q").lines == [
        "map                   \t1\t1.0000"
    ]


def test_measures_are_always_printed_in_the_same_order(files: Files) -> None:
    evaluated = files.evaluate("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m recall.2 -m P.10,5 -m set -m map")

    assert [line.split()[0] for line in evaluated.lines] == [
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "P_5", "P_10", "recall_2", "utility"),
        *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    ]


def test_first_of_several_parameters_of_a_measure_is_used(files: Files) -> None:
    assert list(files.evaluate("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m P.3 -m P.7").values) == [("P_3", "all")]


def test_utility_knows_the_size_of_the_collection(files: Files) -> None:
    qrels, run = "1 0 a 1\n1 0 b 1\n", "1 Q0 a 1 2 r\n1 Q0 x 2 1 r\n"

    value = files.evaluate(qrels, run, "-N 100 -m utility.1,-2,-4,0.5").values

    assert value == {("utility_1,-2,-4,0.5", "all"): f"{1 - 2 - 4 + 0.5 * 97:.4f}"}


def test_relstring_distinguishes_pooled_and_unpooled_documents(files: Files) -> None:
    qrels = "1 0 a 12\n1 0 b 0\n1 0 c -1\n1 0 d 3\n"
    run = "".join(f"1 Q0 {docno} 1 {9 - n} r\n" for n, docno in enumerate("abcde"))

    assert files.evaluate(qrels, run, "-q -m relstring").values["relstring", "1"] == "'>0.3-'"
    assert files.evaluate(qrels, run, "-q -m relstring.2").values["relstring_2", "1"] == "'>0'"


def test_zscores_replace_values(files: Files) -> None:
    zscores = files.write("z", "1 map 0.5 0.25\n1 P_5 0.2 0\n1 recip_rank 0.1 0\n")
    options = f"-q -Z {zscores} -m map -m P.5 -m recip_rank -m bpref -m num_q"

    evaluated = files.evaluate("1 0 a 1\n", "1 Q0 a 1 1 r\n", options)

    assert evaluated.lines[:4] == [
        "Zmap                   \t1\t2.0000",
        "Zbpref                 \t1\t-1000000.0000",
        "Zrecip_rank            \t1\t-1000000.0000",
        "ZP_5                   \t1\t0.0000",
    ]
    assert evaluated.values["Znum_q", "all"] == "1.0000"


def test_help_describes_every_measure(files: Files) -> None:
    everything, some = files.command("-h"), files.command("-h", "-m", "P")

    assert everything.status == some.status == 0
    for name in (*MEASURES, *NICKNAMES):
        assert any(line.startswith(f"  {name} ") for line in everything.lines)
    assert any(line.startswith("  P ") for line in some.lines)
    assert not any(line.startswith("  map ") for line in some.lines)


def test_version_is_printed(files: Files) -> None:
    evaluated = files.command("-v")

    assert (evaluated.status, evaluated.lines) == (0, [])
    assert "10.0" in evaluated.error


# Errors


@pytest.mark.parametrize(
    ("qrels", "run", "options", "status", "message"),
    [
        (
            "1 0 a\n",
            "1 Q0 a 1 1 r\n",
            "",
            2,
            "qrels: line 1: expected 4 columns (topic, 0, docno, grade), got 3",
        ),
        ("1 0 a 1 2\n", "1 Q0 a 1 1 r\n", "", 2, "line 1: expected 4 columns"),
        ("1 0 a 1\n\n1 0 b 0.5\n", "1 Q0 a 1 1 r\n", "", 2, "line 3: grade '0.5' is not a whole number"),
        ("1 0 a yes\n", "1 Q0 a 1 1 r\n", "", 2, "line 1: grade 'yes' is not a whole number"),
        ("1 0 a 1\n", "# c\n1 Q0 a 1 1\n", "", 2, "run: line 2: expected 6 columns"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n1 Q0 b 1 nan r\n", "", 2, "line 2: score 'nan' is not a finite number"),
        ("1 0 a 1\n", "1 Q0 a 1 1e999 r\n", "", 2, "score '1e999' is not a finite number"),
        ("1 0 a 1\n", "1 Q0 a 1 high r\n", "", 2, "score 'high' is not a finite number"),
        ("1 0 a 1\n", "1 Q0 a 1 1_0 r\n", "", 2, "score '1_0' is not a finite number"),
        ("", "1 Q0 a 1 1 r\n", "", 2, "qrels: the file contains no lines"),
        ("1 0 a 1\n", "# nothing\n", "", 2, "run: the file contains no lines"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n".encode("utf-16"), "", 2, "UTF-16"),
        ("1 0 a 1\n", gzip.compress(b"1 Q0 a 1 1 r\n")[:-9], "", 2, "cannot be decompressed"),
        ("1 0 a 1\n", b"\x1f\x8bnothing", "", 2, "cannot be decompressed"),
        ("1 0 a 1\n", "1 Q0 a\0 1 1 r\n", "", 2, "run: the file contains NUL bytes"),
        (
            "1 0 a 1\n",
            "1 Q0 a 1 2 r\n2 Q0 a 1 1 r\n1 Q0 a 2 1 r\n",
            "",
            4,
            "run: line 3: document a of topic 1 is repeated",
        ),
        ("1 0 a 1\n1 0 a 2\n", "1 Q0 a 1 2 r\n", "", 4, "qrels: line 2: document a of topic 1"),
        ("1 0 a 1\n", "2 Q0 a 1 2 r\n", "", 7, "no topic has both"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m MAP", 1, "illegal measure 'MAP'; use official, set,"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m P.", 1, "a parameter must follow the full stop"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m P.5,5", 2, "measure P.5,5: a number is repeated"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m P.0", 2, "a rank is at least 1"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m P.x", 2, "'x' is not a number"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m P.1e3", 2, "is not a number that is accepted"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m utility.1,2", 4, "utility takes four numbers"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m ndcg.1", 2, "'1' is not a pair"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m ndcg.x=1", 2, "'x' is not a grade"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-m prefs_simp", 4, "computed from -R prefs"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-R jpg", 2, "-R jpg: no such format"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-T jpg", 2, "-T jpg: no such format"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-l high", 1, "-l takes a whole number"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "-x", 1, "usage: trec_eval"),
        ("1 0 a 1\n", "1 Q0 a 1 1 r\n", "third", 1, "expected two files, QRELS and RUN; got 3"),
    ],
)
def test_error_names_file_and_line(
    files: Files, qrels: str, run: str | bytes, options: str, status: int, message: str
) -> None:
    refused = files.evaluate(qrels, run, options)

    assert refused.status == status
    assert message in refused.error
    assert refused.error.startswith("trec_eval: ")
    assert refused.lines == []


def test_missing_files_are_named(files: Files) -> None:
    assert "nowhere: No such file" in files.command("nowhere", files.write("run", "1 Q0 a 1 1 r\n")).error
    assert "read only once" in files.command("-", "-").error


@pytest.mark.parametrize("wrong", [1, 2, 500, 999, 1000])
def test_the_first_wrong_score_of_many_lines_is_named(files: Files, wrong: int) -> None:
    scores = ["x" if line in {wrong, 1000} else "0.5" for line in range(1, 1001)]
    run = "".join(f"1 Q0 d{n} 1 {score} r\n" for n, score in enumerate(scores))

    assert f"run: line {wrong}: score 'x'" in files.evaluate("1 0 a 1\n", run).error


def test_a_closed_pipe_ends_the_command_silently(files: Files) -> None:
    topics = range(3000)  # more than a pipe holds
    qrels = files.write("qrels", "".join(f"{topic} 0 a 1\n" for topic in topics))
    run = files.write("run", "".join(f"{topic} Q0 a 1 1 r\n" for topic in topics))
    line = [sys.executable, "-m", "assay", "trec_eval", "-q", qrels, run]

    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"num_ret               \t0\t1\n"
        process.stdout.close()
        error = process.stderr.read()

    assert (process.returncode, error) == (0, b"")


def test_a_document_may_be_repeated_in_an_unjudged_topic(files: Files) -> None:
    run = "1 Q0 a 1 2 r\n2 Q0 a 1 2 r\n2 Q0 a 1 1 r\n"

    assert files.evaluate("1 0 a 1\n", run).status == 0


# Cases in which 10.0 differs: the table in docs/reference/measures.md


def test_number_of_relevant_documents_of_all_topics_is_the_sum_of_those_of_each(files: Files) -> None:
    qrels, run = "1 0 a 1\n1 0 b 2\n2 0 a 1\n3 0 c 2\n", "1 Q0 a 1 1 r\n"

    values = files.evaluate(qrels, run, "-q -c -l2 -m num_rel").values

    assert [values["num_rel", topic] for topic in ("1", "2", "3", "all")] == ["1", "0", "1", "2"]


def test_a_document_that_is_repeated_below_the_depth_is_refused(files: Files) -> None:
    refused = files.evaluate("1 0 a 1\n", "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n1 Q0 b 3 1 r\n", "-M 1 -m map")

    assert (refused.status, refused.lines) == (4, [])
    assert "run: line 3: document b of topic 1 is repeated" in refused.error


@pytest.mark.parametrize("measure", ["ndcg.-1=1", "Rndcg.-2=1", "rbp.-1=1"])
def test_documents_without_a_grade_get_no_gain(files: Files, measure: str) -> None:
    refused = files.evaluate("1 0 a 1\n", "1 Q0 x 1 3 r\n1 Q0 a 2 2 r\n", f"-m {measure}")

    assert refused.status == 2
    assert "is not a grade" in refused.error


def test_a_blank_line_of_qrels_is_skipped(files: Files) -> None:
    values = files.evaluate("1 0 a 1\n\n \t\n1 0 b 1\n\n", "1 Q0 a 1 2 r\n\n1 Q0 b 2 1 r\n", "-m map").values

    assert values["map", "all"] == "1.0000"


def test_a_byte_order_mark_and_comments_are_no_part_of_qrels(files: Files) -> None:
    qrels = "\ufeff# one\n# two\n1 0 a 1\n# end\n"

    assert files.evaluate(qrels, "1 Q0 a 1 2 r\n", "-m map").values["map", "all"] == "1.0000"


def test_a_topic_that_begins_with_a_hash_behind_a_space_counts(files: Files) -> None:
    qrels = "# one\n #t 0 a 1\n1 0 a 1\n"

    values = files.evaluate(qrels, " #t Q0 b 1 2 r\n1 Q0 a 1 2 r\n", "-m map").values

    assert values["map", "all"] == "0.5000"


def test_a_hexadecimal_score_is_refused(files: Files) -> None:
    refused = files.evaluate("1 0 a 1\n", "1 Q0 a 1 0x1p3 r\n")

    assert refused.status == 2
    assert "line 1: score '0x1p3' is not a finite number" in refused.error


def test_no_common_topic_has_a_status_of_its_own(files: Files) -> None:
    repeated = "1 Q0 a 1 2 r\n1 Q0 a 2 1 r\n"

    assert files.evaluate("2 0 a 1\n", repeated).status == 7
    assert files.evaluate("1 0 a 1\n", repeated).status == 4


def test_a_level_above_all_grades_has_no_relevant_documents(files: Files) -> None:
    values = files.evaluate("1 0 a 1\n1 0 b 2\n", "1 Q0 a 1 2 r\n", "-l 9 -m bpref -m num_rel").values

    assert (values["bpref", "all"], values["num_rel", "all"]) == ("0.0000", "0")


def test_a_missing_topic_has_no_utility(files: Files) -> None:
    values = files.evaluate("1 0 a 1\n2 0 b 1\n", "1 Q0 x 1 2 r\n", "-q -c -m utility.1,-1,0,0").values

    assert values["utility_1,-1,0,0", "2"] == "0.0000"


# Measures for which 10.0 is not a reference, or that its own tests leave out


def test_gains_that_differ_by_less_than_one_are_sorted(files: Files) -> None:
    qrels, run = "1 0 a 1\n1 0 b 2\n1 0 c 3\n", "1 Q0 c 1 3 r\n1 Q0 b 2 2 r\n1 Q0 a 3 1 r\n"

    values = files.evaluate(qrels, run, "-m ndcg.1=0.2,2=0.5,3=0.9 -m Rndcg -m ndcg_rel -m G").values

    assert values["ndcg_1=0.2,2=0.5,3=0.9", "all"] == "1.0000"
    assert values["Rndcg", "all"] == values["ndcg_rel", "all"] == "1.0000"


def test_rank_biased_precision_divides_grades_by_the_highest_of_the_topic(files: Files) -> None:
    qrels = "1 0 a 1\n1 0 b 2\n1 0 c 4\n"
    run = "1 Q0 a 1 3 r\n1 Q0 x 2 2 r\n1 Q0 b 3 1 r\n"

    values = files.evaluate(qrels, run, "-m rbp.p=0.5 -m rbp_resid.p=0.5 -m unj.2").values

    assert values["rbp_p=0.5", "all"] == f"{0.5 * (0.25 + 0.5 * 0.25):.4f}"
    assert values["rbp_resid_p=0.5", "all"] == f"{0.5 * 0.5 + 0.5**3:.4f}"
    assert values["unj_2", "all"] == "0.5000"


def test_inferred_average_precision_assumes_that_pooled_documents_are_like_judged_ones(files: Files) -> None:
    qrels = "1 0 a 1\n1 0 p -1\n1 0 n 0\n1 0 b 1\n"
    run = "1 Q0 a 1 9 r\n1 Q0 p 2 8 r\n1 Q0 n 3 7 r\n1 Q0 x 4 6 r\n1 Q0 b 5 5 r\n"

    value = files.evaluate(qrels, run, "-m infAP").values["infAP", "all"]

    expected_at_b = 1 / 5 + 4 / 5 * (3 / 4) * ((1 + 1e-5) / (2 + 2e-5))
    assert value == f"{(1 + expected_at_b) / 2:.4f}"


def test_yet_another_average_precision(files: Files) -> None:
    run = "1 Q0 x 1 2 r\n1 Q0 a 2 1 r\n"

    value = files.evaluate("1 0 a 1\n1 0 b 1\n", run, "-m yaap").values["yaap", "all"]

    assert value == f"{math.log(1.5 / 2.5):.4f}"


def test_groups_of_assessors_are_averaged(files: Files) -> None:
    qrels = "1 u a 1\n1 v a 0\n1 v b 1\n2 u a 1\n"
    run = "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n2 Q0 x 1 2 r\n2 Q0 a 2 1 r\n"

    values = files.evaluate(qrels, run, "-q -R qrels_jg -m map_avgjg -m P_avgjg.1").values

    assert values["map_avgjg", "1"] == "0.7500"
    assert values["map_avgjg", "2"] == "0.5000"
    assert values["P_avgjg_1", "1"] == "0.5000"


def test_preferences_of_one_list_are_those_between_its_levels(files: Files) -> None:
    levels = {"d1": 3, "d2": 2, "d3": 0, "d4": 6, "d5": 0, "d6": 2}
    prefs = "".join(f"1 u s {docno} {level}\n" for docno, level in levels.items())

    values = files.evaluate(prefs, "1 Q0 d4 1 2 r\n1 Q0 d3 2 1 r\n", "-R prefs -m all_prefs").values

    assert values["prefs_num_prefs_poss", "all"] == "13"
    assert values["prefs_num_prefs_ful_ret", "all"] == "1"
    assert values["prefs_num_prefs_ful", "all"] == "5"


def test_preferences_implied_by_several_lists_of_a_group_count(files: Files) -> None:
    prefs = "1 u s a 3\n1 u s b 2\n1 u s c 1\n1 u t b 5\n1 u t d 4\n"
    run = "1 Q0 d 1 9 r\n1 Q0 a 2 8 r\n1 Q0 b 3 7 r\n1 Q0 c 4 6 r\n"

    values = files.evaluate(prefs, run, "-R prefs -m all_prefs").values

    assert values["prefs_num_prefs_poss", "all"] == "5"
    assert values["prefs_num_prefs_ful", "all"] == "3"
    assert values["prefs_simp", "all"] == values["prefs_pair_ret", "all"] == "0.6000"


def test_each_of_several_disagreeing_assessors_counts(files: Files) -> None:
    prefs = "1 u 0 a 2\n1 u 0 b 1\n1 v 0 a 1\n1 v 0 b 2\n1 w 0 a 2\n1 w 0 b 1\n"
    values = files.evaluate(
        prefs, "1 Q0 a 1 1 r\n1 Q0 b 1 0 r\n", "-R prefs -m prefs_pair -m prefs_avgjg"
    ).values

    assert values["prefs_pair", "all"] == values["prefs_avgjg", "all"] == "0.6667"


def test_tied_documents_are_in_ascending_order_among_preferences(files: Files) -> None:
    values = files.evaluate(
        "1 0 a 1\n1 0 b 0\n", "1 Q0 b 1 1 r\n1 Q0 a 2 1 r\n", "-R qrels_prefs -m prefs_simp"
    ).values

    assert values["prefs_simp", "all"] == "1.0000"


def test_a_group_with_fewer_relevant_documents_counts_as_many_nonrelevant_ones(files: Files) -> None:
    prefs = "1 u s a 2\n1 u s n 0\n1 u s m 0\n1 u t a 2\n1 u t o 0\n"
    run = "1 Q0 n 1 9 r\n1 Q0 a 2 8 r\n1 Q0 m 3 7 r\n1 Q0 o 4 6 r\n"

    values = files.evaluate(prefs, run, "-R prefs -m all_prefs").values

    assert values["prefs_avgjg", "all"] == "0.6667"
    assert values["prefs_avgjg_Rnonrel", "all"] == values["prefs_avgjg_Rnonrel_ret", "all"] == "0.0000"


@pytest.mark.parametrize(
    ("prefs", "message"),
    [
        ("1 u s a 2\n1 u s a 1\n", "topic 1, group u: a document is repeated in a part"),
        ("1 u s a 2\n1 u s b 1\n1 u t a 0\n1 u t c 1\n", "has level 0 in one part and a higher level"),
        ("1 u s a 2\n1 u s b 1\n1 u t b 2\n1 u t a 1\n", "the parts contradict each other"),
        ("1 u s a 2\n1 u s b high\n", "line 2: level 'high' is not a finite number"),
    ],
)
def test_contradictory_preferences_are_refused(files: Files, prefs: str, message: str) -> None:
    refused = files.evaluate(prefs, "1 Q0 a 1 1 r\n", "-R prefs -m all_prefs")

    assert refused.status in {2, 4}
    assert message in refused.error


# Against trec_eval 9, topic by topic

SAME_IN_9 = sorted(
    set(NICKNAMES["all_trec"])
    - {
        "runid",
        "num_q",
        "relstring",
        "rbp",
        "rbp_resid",
        "unj",
        "gm_map",
        "gm_bpref",
    }  # not there, or logarithms
    - {"iprec_at_recall", "11pt_avg"}  # the ranks of levels of recall are computed differently
    - {"utility"}  # set to 0 there
)
DOCNOS = [*"abcdefgh", "é", "10", "9", "a-name-longer-than-a-word"]
TOPICS = ["A.1", "A.10", "A.2"]
RUNS = st.dictionaries(
    st.tuples(st.sampled_from(TOPICS), st.sampled_from(DOCNOS)), st.integers(-2, 3), min_size=1
)
QRELS = st.dictionaries(
    st.sampled_from(TOPICS),
    # At least one judged document: for a topic without any, trec_eval 9 reads memory that it never wrote.
    st.tuples(
        st.dictionaries(st.sampled_from(DOCNOS), st.integers(-1, 3)),
        st.sampled_from(DOCNOS),
        st.integers(0, 3),
    ).map(lambda drawn: drawn[0] | {drawn[1]: drawn[2]}),
    min_size=1,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RUNS, QRELS)
@example({("A.1", "a"): 1}, {"A.1": {"a": 0}})
def test_small_files_have_the_values_of_trec_eval_9(
    files: Files, scores: dict[tuple[str, str], int], grades: Grades
) -> None:
    qrels = "".join(
        f"{topic} 0 {docno} {grade}\n" for topic in grades for docno, grade in grades[topic].items()
    )
    run = "".join(f"{topic} Q0 {docno} 1 {score} r\n" for (topic, docno), score in scores.items())
    nested: dict[str, dict[str, float]] = {}
    for (topic, docno), score in scores.items():
        nested.setdefault(topic, {})[docno] = float(score)
    theirs = pytrec_eval.RelevanceEvaluator(grades, set(SAME_IN_9)).evaluate(nested)

    ours = files.evaluate(qrels, run, "-q -m all_trec")

    assert {topic for _, topic in ours.values} - {"all"} == set(theirs)
    for topic, values in theirs.items():
        for name, value in values.items():
            # Their names write 0.2 as 0.20, and have an underscore where parameters are.
            assert float(ours.values[name, topic]) == pytest.approx(value, abs=5.1e-5), name


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    RUNS,
    QRELS,
    st.randoms(use_true_random=False),
    st.sampled_from(["-c", "-J -c", "-l2 -c", "-R qrels_jg -c"]),
)
def test_the_order_of_lines_never_changes_what_is_printed(
    files: Files, scores: dict[tuple[str, str], int], grades: Grades, rng: object, options: str
) -> None:
    qrels = [f"{topic} 0 {docno} {grade}\n" for topic in grades for docno, grade in grades[topic].items()]
    run = [f"{topic} Q0 {docno} 1 {score} r\n" for (topic, docno), score in scores.items()]
    measures = "-m qrels_jg" if "jg" in options else "-m all_trec"
    before = files.evaluate("".join(qrels), "".join(run), f"{options} -q {measures}")

    rng.shuffle(qrels)  # type: ignore[attr-defined]
    rng.shuffle(run)  # type: ignore[attr-defined]
    after = files.evaluate("".join(qrels), "".join(run), f"{options} -q {measures}")

    assert before.status == 0
    assert after.lines == before.lines


@pytest.mark.parametrize("size", [1, 20, 1000])
def test_errors_name_the_line_however_a_file_is_cut_into_blocks(
    files: Files, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("assay_extensions.trec_eval.files.BLOCK", size)
    run = "\ufeff# a comment\r\n1 Q0 a 1 2.5 x\n\n1 Q0 b 2 1.5 x extra\n1 Q0 a 3 0.5 x"

    right = files.evaluate("1 0 a 1\n", run.removesuffix("\n1 Q0 a 3 0.5 x"))
    repeated = files.evaluate("1 0 a 1\n", run)
    wrong = files.evaluate("1 0 a 1\n", run.replace("0.5", "half"))

    assert right.values["num_ret", "all"] == "2"
    assert "line 5: document a of topic 1 is repeated" in repeated.error
    assert "line 5: score 'half' is not a finite number" in wrong.error


@pytest.mark.parametrize("name", BROKEN)
def test_trec_eval_refuses_the_same_files_in_its_own_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    path.write_bytes(BROKEN[name][0]())

    with pytest.raises(FileError, match=r"run\.gz: cannot be decompressed: The "):
        list(read_blocks(str(path)))
