"""Measures in characters: values worked out by hand, and a reference that keeps sets of characters."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.main import main
from assay.errors import InputError
from assay.formats.qrels.reader import columns_from
from assay.measures.curves import precision_at, recall_precision
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.measures.units import with_duplicates
from assay.protocols.loader import ProtocolError, load_protocol, parse_protocol
from assay.protocols.measures import parse_measures
from tests.helpers.form_runs import bolt_run
from tests.helpers.real_files import make_judged, make_run

NAMES = ["charP@2", "charP@100", "charR@2", "charR@100", "charF@2", "charF@100", "charRprec", "charAP@1000"]
NAMES += ["charIPrec@0", "charIPrec@0.5", "charIPrec@0.7", "charIPrec@1"]
Grades = dict[str, int]


def judged_with(grades: Grades, duplicates: dict[str, str] | None = None) -> JudgedDocuments:
    """Qrels of the topic T; `duplicates` has the judged citation of each near-duplicate."""
    qrels = columns_from((b"T", docno.encode(), grade) for docno, grade in grades.items())
    pairs = [(b"T", docno.encode(), head.encode()) for docno, head in (duplicates or {}).items()]
    return JudgedDocuments(*with_duplicates(qrels, pairs)) if pairs else JudgedDocuments(qrels)


def values(judged: JudgedDocuments, docnos: Sequence[str], *names: str) -> list[float]:
    """The values of a run that cites these, best first."""
    run = make_run([("T", docno, -float(rank)) for rank, docno in enumerate(docnos)])
    row: list[float] = score_run(run, judged, parse_measures(names)).values[0].tolist()
    return row


# Relevant: characters 0 to 99 and 150 to 199 of post p1, so 150 characters in 2 citations.
OVERLAPS = {"d:p1:0:100": 2, "d:p1:150:50": 1, "d:p2:0:80": 0}
# rank  citation      characters  of which relevant and new              new / all so far
#  1    p1   0 to  99    100      100                                        100 / 100
#  2    p2   0 to  79     80        0  (judged not relevant)                 100 / 180
#  3    p1  50 to 169    120       20  (50-99 were cited, 100-149 are not    120 / 300
#                                       relevant, 150-169 are new; unjudged)
#  4    p1 150 to 199     50       30  (150-169 were cited)                  150 / 350
OVERLAPPING_RUN = ["d:p1:0:100", "d:p2:0:80", "d:p1:50:120", "d:p1:150:50"]
OVERLAPPING_VALUES = {
    "charP@1": 100 / 100,
    "charP@2": 100 / 180,
    "charP@3": 120 / 300,
    "charP@100": 150 / 350,
    "charR@2": 100 / 150,
    "charR@3": 120 / 150,
    "charR@100": 1.0,
    "charF@2": 2 * 100 / (180 + 150),  # 2 P R / (P + R) = 2 new / (all + relevant)
    "charF@100": 2 * 150 / (350 + 150),
    "charRprec": 100 / 180,  # at rank 2
    "charAP@1000": (100 * 100 / 100 + 20 * 120 / 300 + 30 * 150 / 350) / 150,
    "charAP@3": (100 * 100 / 100 + 20 * 120 / 300) / 150,
    "charP(rel=2)@100": 100 / 350,  # only 0 to 99
    "charRprec(rel=2)": 1.0,
    "charIPrec@0.5": 1.0,  # 75 characters are cited at rank 1
    "charIPrec@0.7": 150 / 350,  # 105 characters at rank 3, where it is 120 / 300; it rises at rank 4
    "charIPrec@1": 150 / 350,
}

# Relevant: 100 characters of p1, and 60 of p9. p5 has a near-duplicate of the first.
REPEATED = {"d:p1:0:100": 2, "e:p9:10:60": 1}
NEAR = {"d:p5:7:98": "d:p1:0:100"}
# rank  citation      characters  of which relevant and new              new / all so far
#  1    p5   7 to 104    100      100  (it counts as the judged citation)    100 / 100
#  2    p1   0 to  99    100        0  (the judged citation itself)          100 / 200
#  3    p1  20 to  49     30        0  (inside it)                           100 / 230
#  4    p9   0 to  99    100       60  (around the relevant one)             160 / 330
REPEATED_RUN = ["d:p5:7:98", "d:p1:0:100", "d:p1:20:30", "e:p9:0:100"]
REPEATED_VALUES = {
    "charP@2": 100 / 200,
    "charP@100": 160 / 330,
    "charR@2": 100 / 160,
    "charRprec": 100 / 200,  # the near-duplicate makes no third relevant citation
    "charF@100": 2 * 160 / (330 + 160),
    "charAP@1000": (100 * 100 / 100 + 60 * 160 / 330) / 160,
}


@pytest.mark.parametrize("name", OVERLAPPING_VALUES)
def test_characters_of_overlaps_count_once(name: str) -> None:
    assert values(judged_with(OVERLAPS), OVERLAPPING_RUN, name) == [pytest.approx(OVERLAPPING_VALUES[name])]


@pytest.mark.parametrize("name", REPEATED_VALUES)
def test_repeated_nested_and_near_duplicate_citations_are_false_alarms(name: str) -> None:
    judged = judged_with(REPEATED, NEAR)

    assert values(judged, REPEATED_RUN, name) == [pytest.approx(REPEATED_VALUES[name])]


def test_overlapping_relevant_citations_have_each_character_once() -> None:
    """Characters 0 to 149 of p1: 150, although the citations have 200. R is 2."""
    judged = judged_with({"d:p1:0:100": 2, "d:p1:50:100": 2})

    assert values(judged, ["d:p1:0:100", "d:p1:50:100"], "charR@1", "charP@2", "charRprec") == [
        pytest.approx(100 / 150), pytest.approx(150 / 200), pytest.approx(150 / 200)
    ]  # fmt: skip


def test_a_short_run_is_divided_by_the_characters_that_it_cites() -> None:
    judged = judged_with({"d:p1:0:50": 1, "d:p2:0:50": 1, "d:p3:0:50": 1})

    assert values(judged, ["d:p1:0:50"], "charP@100", "charRprec", "charR@100") == [1.0, 1.0, 1 / 3]


def test_topics_are_apart_and_a_missing_one_is_0() -> None:
    judged = make_judged({"T": {"d:p1:0:10": 1}, "U": {"d:p1:0:20": 1}, "V": {"d:p1:0:10": 0}})
    run = make_run([("T", "d:p1:0:20", 1.0), ("V", "d:p1:0:10", 1.0), ("W", "no citation", 1.0)])

    scores = score_run(run, judged, parse_measures(["charP@100", "charAP"]))

    assert scores.values.tolist() == [[0.5, 0.5], [0.0, 0.0], [0.0, 0.0]]


def test_curves_are_in_characters() -> None:
    judged = judged_with(OVERLAPS)
    run = make_run([("T", docno, -float(rank)) for rank, docno in enumerate(OVERLAPPING_RUN)])
    hits = judged.hits(run)

    precision = precision_at(hits, judged, level=1, cutoffs=[1, 2, 5], in_characters=True)
    by_recall = recall_precision(hits, judged, level=1, recalls=[0.0, 0.7, 1.0], in_characters=True)

    assert precision.tolist() == [[1.0, pytest.approx(100 / 180), pytest.approx(150 / 350)]]
    assert by_recall.tolist() == [[1.0, pytest.approx(150 / 350), pytest.approx(150 / 350)]]


@pytest.mark.parametrize("docno", ["d", "d:p1:5", "d:p1:x:5", ":5:5"])
def test_other_documents_are_refused(docno: str) -> None:
    with pytest.raises(InputError, match=f"^{docno} is not a citation; .* need ids like thread:post:offset"):
        values(judged_with({"d:p1:0:10": 1}), [docno], "charP@5")


def test_a_thread_may_have_colons() -> None:
    assert values(judged_with({"a:b:p1:0:10": 1}), ["a:b:p1:5:10"], "charP@1") == [0.5]


def test_command_prints_measures_in_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As on the site: 20 characters of p0 are relevant and cited, and their near-duplicate p1 is a false alarm."""
    (tmp_path / "owls.xml").write_bytes(bolt_run())
    (tmp_path / "q.txt").write_bytes(b"T1 0 bolt-eng-DF-1:0:p0:0:20 2\nT1 0 bolt-eng-DF-1:2:p2:30:30 1\n")
    (tmp_path / "d.tsv").write_bytes(b"T1 bolt-eng-DF-1:1:p1:10:20 bolt-eng-DF-1:0:p0:0:20\n")
    files = ["--qrels", str(tmp_path / "q.txt"), "--duplicates", str(tmp_path / "d.tsv")]

    assert main(["evaluate", "--protocol", "bolt-ir-p3", *files, "--quiet", str(tmp_path / "owls.xml")]) == 0

    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert {measure: value for _, _, measure, value in lines} == {
        "charP@100": "0.5000", "charR@100": "0.6000", "charF@100": "0.5455", "charRprec": "0.5000",
        "charAP@1000": "0.5000", "charP@5": "0.5000", "charP@10": "0.5000", "charP@20": "0.5000",
    }  # fmt: skip


def test_curves_are_in_characters_and_know_near_duplicates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "owls.xml").write_bytes(bolt_run())
    (tmp_path / "q.txt").write_bytes(b"T1 0 bolt-eng-DF-1:0:p0:0:20 2\nT1 0 bolt-eng-DF-1:2:p2:30:30 1\n")
    (tmp_path / "d.tsv").write_bytes(b"T1 bolt-eng-DF-1:1:p1:10:20 bolt-eng-DF-1:0:p0:0:20\n")
    files = ["--qrels", str(tmp_path / "q.txt"), "--duplicates", str(tmp_path / "d.tsv")]

    assert main(["curves", "--protocol", "bolt-ir-p3", *files, "--quiet", str(tmp_path / "owls.xml")]) == 0

    printed = capsys.readouterr().out
    assert "precision at cutoffs, in characters of citations" in printed
    cells = [line.split() for line in printed.splitlines()]
    assert ["owls.xml", "5", "0.5000"] in cells  # 30 of 60 characters, as the first test of the command
    assert ["owls.xml", "0.5", "0.5000"] in cells  # 25 of the 50 relevant characters are cited at rank 3


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('unit = "passage"', 'unit = "document"', "charP@100 counts characters of citations; it needs unit"),
        (
            "[scoring]",
            "[scoring]\njudged_only = true",
            "charP@100 counts every citation, judged or not; remove",
        ),
    ],
)
def test_protocols_that_cannot_count_characters_are_refused(old: str, new: str, complaint: str) -> None:
    text = load_protocol("bolt-ir-p3").text.replace(old, new)

    with pytest.raises(ProtocolError) as refusal:
        parse_protocol(text, name="lab.toml")

    assert complaint in str(refusal.value)


SPANS = st.builds(
    lambda post, start, length: f"d:{post}:{start}:{length}",
    st.sampled_from(["p1", "p2"]),
    st.integers(0, 12),
    st.integers(1, 8),
)
RUNS = st.lists(SPANS, max_size=8)
QRELS = st.dictionaries(SPANS, st.integers(-1, 2), min_size=1, max_size=6)


@given(QRELS, RUNS, st.dictionaries(SPANS, st.integers(0, 5), max_size=3))
def test_values_equal_those_of_sets_of_characters(
    grades: Grades, docnos: list[str], near: dict[str, int]
) -> None:
    heads = list(grades)
    duplicates = {docno: heads[n % len(heads)] for docno, n in near.items() if docno not in grades}

    ours = values(judged_with(grades, duplicates), docnos or ["d:p1:0:1"], *NAMES)

    assert ours == pytest.approx(reference(grades, docnos or ["d:p1:0:1"], duplicates), abs=1e-12)


def reference(grades: Grades, docnos: list[str], duplicates: dict[str, str]) -> list[float]:
    """The measures of NAMES from sets of characters."""
    graded = {docno for docno, grade in grades.items() if grade >= 0}
    relevant = set().union(*(characters(docno) for docno in grades if grades[docno] >= 1))
    heads = [duplicates[docno] if duplicates.get(docno) in graded else docno for docno in docnos]
    cited: set[tuple[str, int]] = set()
    points = [(0, 0)]  # relevant characters and all characters, up to each rank
    for docno in heads:
        new = characters(docno) & relevant - cited
        cited |= new
        points.append((points[-1][0] + len(new), points[-1][1] + len(characters(docno))))
    p = [n_new / n_all if n_all else 0.0 for n_new, n_all in points]
    r = [n_new / len(relevant) if relevant else 0.0 for n_new, _ in points]
    f = [2 * p[k] * r[k] / (p[k] + r[k]) if r[k] else 0.0 for k in range(len(points))]
    two, last = min(2, len(docnos)), len(docnos)
    n_relevant = sum(grade >= 1 for grade in grades.values())
    average = sum((r[k] - r[k - 1]) * p[k] for k in range(1, len(points)))
    by_recall = [
        max(
            (p[k] for k in range(len(p)) if points[k][0] >= max(1, int(x * len(relevant) + 0.5))), default=0.0
        )
        for x in (0, 0.5, 0.7, 1)
    ]
    return [p[two], p[last], r[two], r[last], f[two], f[last], p[min(n_relevant, last)], average, *by_recall]


def characters(docno: str) -> set[tuple[str, int]]:
    post, start, length = docno.rsplit(":", 2)
    return {(post, int(start) + n) for n in range(int(length))}


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_equal_lengths_without_overlaps_give_the_measures_of_documents(order: list[str]) -> None:
    judged = judged_with({"x:a:0:10": 1, "x:b:30:10": 2, "x:c:0:10": 0, "x:f:0:10": 1})
    docnos = [f"x:{post}:{30 if post == 'b' else 0}:10" for post in order]

    ours = values(judged, docnos, "charP@3", "charR@3", "charRprec", "charAP")

    assert ours == pytest.approx(values(judged, docnos, "P@3", "R@3", "Rprec", "AP"))
