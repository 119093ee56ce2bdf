"""Measures of qrels with more than grades, and those of models of readers, compared with values and with peers.

The worked values were computed by hand or with the reference programs: cwl-eval, sample_eval.pl, compatibility.py and
greedy_pgc.py. pyndeval and ir_measures compute theirs here, on a real run.
"""

import random
from pathlib import Path

import ir_measures
import pyndeval
import pytest

from assay.cli.main import main
from assay.errors import NotMeasurable
from assay.formats.qrels.reader import QrelsError, QrelsForm, format_qrels, parse_qrels
from assay.formats.runs.columns import RunColumns
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.protocols.measures import MeasureError, QrelsKind, parse_measure, parse_measures, qrels_of
from assay_extensions.analyses.reusability import Scoring
from tests.helpers.real_files import make_judged, make_run, real_judged, real_qrels, real_run

NAME = "psu-task1-auto-both-A.tsv.gz"
SUBTOPICS = "1 1 a 1\n1 2 a 1\n1 2 b 1\n1 3 c 1\n1 3 d 0\n"
STRATA = "1 0 a 1 2\n1 0 b 1 0\n1 0 c 1 1\n1 0 d 2 -1\n1 0 e 2 1\n1 0 f 2 0\n1 0 g 2 -1\n1 0 h 2 2\n"
PROBABILITIES = "1 a 1 1 1.0\n1 b 1 1 0.5\n1 c 2 1 .25\n"
CHOSEN = "1 a 1 0 .25\n1 b 1 1 0.5\n1 c 2 2 .25\n"
PREFERENCES = "1 a b\n1 b c\n1 a c\n"
Lines = list[tuple[str, str, str, int]]
GRADES = "1 0 a 3\n1 0 b 1\n1 0 c 0\n1 0 d 2\n"
OF_SUBTOPICS = {
    "alpha_nDCG@5": 0.756935,
    "alpha_DCG@5": 0.478698,
    "ERR_IA@5": 0.423601,
    "nERR_IA@5": 0.65625,
    "StRecall@2": 1 / 3,
    "StRecall": 1.0,
    "P_IA@5": 4 / 15,
    "AP_IA": 0.472222,
    "NRBP": 0.375,
    "nNRBP": 0.571429,
}
WORKED = [
    *((name, SUBTOPICS, "b x a c", value) for name, value in OF_SUBTOPICS.items()),
    ("xinfAP", STRATA, "a e d z f c g", 0.6094),
    ("infNDCG", STRATA, "a e d z f c g", 0.6656),
    ("iP@5", STRATA, "a e d z f c g", (1 * (1 + 1e-5) / (1 + 3e-5) + 3 * (1 + 1e-5) / (2 + 3e-5)) / 5),
    ("statAP", PROBABILITIES, "x a y c b", 0.7),
    ("statAP(rel=2)", PROBABILITIES, "x a y c b", 1 / 4),
    # the algorithms 0 and 2 chose a and c: (1/2 + 2/4 + 2 * 3/5) / 4 with probability 1, else (4/2 + 4 * 5/4 ...) / 10
    ("statAP", CHOSEN, "x a y c b", 0.55),
    ("statAP(iprob=given)", CHOSEN, "x a y c b", (4 * 1 / 2 + 4 * 5 / 4 + 2 * 9 / 5) / 10),
    ("PGC", PREFERENCES, "b x a d", 0.324719),
    ("INST", GRADES, "b x a d", 0.308764),
    ("INSQ", GRADES, "b x a d", 0.267884),
    ("BPM@3", GRADES, "b x a d", 0.444444),
    ("NERR8@3", GRADES, "b x a d", 0.428571),
    ("NERR9@3", GRADES, "b x a d", 0.357143),
    ("NERR10", GRADES, "b x a d", 0.4081),
    ("NERR11", GRADES, "b x a d", 0.341772),
    ("SDCG@3", GRADES, "b x a d", 0.391066),
    ("nDCG@3", GRADES, "b x a d", 0.525005),
    ("MSnDCG@3", GRADES, "b x a d", 0.525005),
    ("nDCG(gains={1:1,2:3,3:7})@3", GRADES, "b x a d", 0.479091),
    ("DCG(gains={1:1,2:3,3:7})@3", GRADES, "b x a d", 1 + 7 / 2),
    ("DCG@3", GRADES, "b x a d", 1 + 3 / 2),
    ("CG@3", GRADES, "b x a d", 4.0),
    ("AG@3", GRADES, "b x a d", 4 / 3),
    ("ERR(stop=linear)@3", GRADES, "b x a d", 1 / 4 + (3 / 4) * (3 / 4) / 3),
    ("ERR(stop=linear,per=topic)@3", GRADES, "b x a d", 1 / 4 + (3 / 4) * (3 / 4) / 3),
    ("nERR@3", GRADES, "b x a d", 0.531646),
    ("iRBU(p=0.5)@3", GRADES, "b x a d", 1 / 8 + (3 / 4) * (3 / 4) / 8),
    ("Compat", GRADES, "b x a d", 0.677771),
    ("Compat(p=0.8)", GRADES, "b x a d", 0.446185),
]


def read(text: str, kind: QrelsKind) -> JudgedDocuments:
    return JudgedDocuments(parse_qrels(text.encode(), form=QrelsForm.for_kind(kind)))


def one_topic(order: str) -> RunColumns:
    return make_run([("1", docno, -float(rank)) for rank, docno in enumerate(order.split())])


@pytest.mark.parametrize(("name", "qrels", "order", "value"), WORKED)
def test_values_agree_with_the_worked_ones(name: str, qrels: str, order: str, value: float) -> None:
    measures = parse_measures([name])
    judged = read(qrels, qrels_of(measures))

    scores = score_run(one_topic(order), judged, measures)

    assert scores.values[0, 0] == pytest.approx(value, abs=1e-6 if len(str(value)) > 6 else 5e-5)


def lines_with_subtopics(data: Path) -> Lines:
    """The real qrels, each document with one to three of five subtopics; those of lower numbers first."""
    rng = random.Random(3)
    rows = [line.split() for line in real_qrels(data).read_text().splitlines() if line.strip()]
    lines = [
        (topic, subtopic, docno, int(grade))
        for topic, _, docno, grade in rows
        for subtopic in rng.sample("12345", rng.choice([1, 1, 2, 3]))
    ]
    return sorted(lines, key=lambda line: line[1])


def ranked(run: RunColumns) -> list[tuple[str, str, float]]:
    """Topic, docno and a score without ties: peers break ties differently."""
    topics = run.topics.tolist()
    rows = zip(run.topic_index.tolist(), run.docno.tolist(), strict=True)
    return [(topics[topic], docno.decode(), float(len(run) - row)) for row, (topic, docno) in enumerate(rows)]


@pytest.fixture(scope="module")
def with_subtopics(data: Path) -> tuple[Lines, JudgedDocuments]:
    lines = lines_with_subtopics(data)
    return lines, read("".join(f"{t} {s} {d} {g}\n" for t, s, d, g in lines), "subtopics")


@pytest.mark.parametrize(("alpha", "beta", "level"), [(0.5, 0.5, 1), (0.2, 0.7, 2), (0.37, 0.9, 1)])
def test_values_of_subtopics_equal_those_of_pyndeval(
    data: Path, with_subtopics: tuple[Lines, JudgedDocuments], alpha: float, beta: float, level: int
) -> None:
    (lines, judged), run = with_subtopics, real_run(data, NAME)
    ours = {
        "alpha-nDCG@20": f"alpha_nDCG(rel={level},alpha={alpha})@20",
        "alpha-DCG@10": f"alpha_DCG(rel={level},alpha={alpha})@10",
        "NRBP": f"NRBP(rel={level},alpha={alpha},beta={beta})",
        "nNRBP": f"nNRBP(rel={level},alpha={alpha},beta={beta})",
        "strec@10": f"StRecall(rel={level})@10",
        "P-IA@10": f"P_IA(rel={level})@10",
        "MAP-IA": f"AP_IA(rel={level})",
        "ERR-IA@20": f"ERR_IA(rel={level},alpha={alpha})@20",
        "nERR-IA@5": f"nERR_IA(rel={level},alpha={alpha})@5",
    }
    peer = pyndeval.RelevanceEvaluator(lines, list(ours), relevance_level=level, alpha=alpha, beta=beta)

    theirs = peer.evaluate(ranked(run))
    values = score_run(run, judged, parse_measures(ours.values())).values

    assert len(theirs) == 77
    for row, topic in enumerate(judged.topics.tolist()):
        expected = [theirs[topic][name] for name in ours]
        expected = [0.0 if value != value else value for value in expected]  # NaN: nothing is relevant
        assert values[row].tolist() == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    "name",
    ["nDCG(gains={1:1,2:3,3:7})@10", "nDCG(gains={0:2,1:5})", "Compat(p=0.8)", "Compat(normalize=False)"],
)
def test_values_equal_those_of_ir_measures(data: Path, name: str) -> None:
    run, judged = real_run(data, NAME), real_judged(data)
    rows = [line.split() for line in real_qrels(data).read_text().splitlines() if line.strip()]
    qrels = [ir_measures.Qrel(topic, docno, int(grade)) for topic, _, docno, grade in rows]
    scored = [ir_measures.ScoredDoc(*row) for row in ranked(run)]

    theirs = {
        each.query_id: each.value
        for each in ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, scored)
    }
    values = score_run(run, judged, parse_measures([name])).values[:, 0].tolist()

    topics = judged.topics.tolist()
    assert len(theirs) == len(topics)
    assert values == pytest.approx([theirs[topic] for topic in topics], abs=1e-13)


def test_short_run_is_compared_with_the_best_ranking_down_to_rank_1000() -> None:
    value = score_run(one_topic("a"), make_judged({"1": {"a": 1, "b": 1}}), parse_measures(["Compat(p=0.5)"]))

    # RBO of a and a, b: 1, 1/2, 1/3, ... of the weight, divided by that of a, b with itself
    run = sum(0.5 ** (depth - 1) / depth for depth in range(1, 1001))
    best = 1 + sum(2 * 0.5 ** (depth - 1) / depth for depth in range(2, 1001))
    assert value.values[0, 0] == pytest.approx(run / best)


def test_contradictory_preferences_have_a_best_ranking_that_follows_the_run() -> None:
    circle = read("1 a b\n1 b c\n1 c a\n", "preferences")
    measures = parse_measures(["PGC"])

    values = [score_run(one_topic(order), circle, measures).values[0, 0] for order in ("a b c", "b c a")]

    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("subtopics", SUBTOPICS),
        ("strata", STRATA),
        ("probabilities", PROBABILITIES),
        ("preferences", "1 a b\n1 a c\n1 b c\n2 x y\n"),
    ],
)
def test_files_of_qrels_are_written_as_they_are_read(kind: QrelsKind, text: str) -> None:
    columns = parse_qrels(text.encode(), form=QrelsForm.for_kind(kind))

    written = format_qrels(columns)

    assert sorted(written.decode().split("\n")) == sorted(text.replace(" ", "\t").split("\n"))
    assert format_qrels(parse_qrels(written, form=QrelsForm.for_kind(kind))) == written


@pytest.mark.parametrize(
    ("kind", "text", "complaint"),
    [
        ("subtopics", "1 1 a\n", "line 1: expected 4 columns (topic, subtopic, docno, grade), got 3"),
        ("subtopics", "1 1 a 1\n1 2 a 1\n1 1 a 0\n", "line 3: document a of topic 1 is already in line 1"),
        ("strata", "1 0 a 1\n", "line 1: expected 5 columns (topic, 0, docno, stratum, grade), got 4"),
        ("strata", "1 0 a 1 1\n1 0 a 2 1\n", "line 2: document a of topic 1 is already in line 1"),
        ("probabilities", "1 a 1 1 1.5\n", "line 1: '1.5' is not a probability above 0 and up to 1"),
        ("probabilities", "1 a 1 1 x\n", "line 1: 'x' is not a probability above 0 and up to 1"),
        ("preferences", "1 a a\n", "line 1: the winner and the loser are the same document"),
        ("preferences", "\n", "the file contains no qrels; expected lines of topic, winner, loser"),
    ],
)
def test_wrong_lines_are_refused_with_their_number(kind: QrelsKind, text: str, complaint: str) -> None:
    with pytest.raises(QrelsError) as error:
        parse_qrels(text.encode(), form=QrelsForm.for_kind(kind))

    assert complaint in str(error.value)


def test_measures_of_one_kind_of_qrels_and_of_grades_go_together() -> None:
    measures = parse_measures(["nDCG@10", "StRecall@3", "alpha_nDCG@20"])

    assert qrels_of(measures) == "subtopics"
    values = score_run(one_topic("d a"), read(SUBTOPICS, "subtopics"), measures).values
    assert values[0].tolist() == pytest.approx([0.296082, 2 / 3, 0.438004], abs=1e-6)
    with pytest.raises(MeasureError, match=r"xinfAP needs qrels with strata, alpha_nDCG@20 needs subtopics"):
        qrels_of([*measures, parse_measure("xinfAP")])


def test_measure_refuses_qrels_without_its_parts() -> None:
    with pytest.raises(
        NotMeasurable, match=r"the qrels have no strata; import a file with lines of topic, 0, docno"
    ):
        score_run(one_topic("a"), read(SUBTOPICS, "subtopics"), parse_measures(["infNDCG"]))


def test_qrels_without_some_documents_keep_the_subtopics_of_the_others() -> None:
    columns = parse_qrels(SUBTOPICS.encode(), form=QrelsForm.for_kind("subtopics"))
    measures = parse_measures(["StRecall"])
    scoring = Scoring([one_topic("a b")], columns, measures)

    means = scoring.means([columns.docno != b"a", columns.docno != b"c"])

    assert means[:, 0, 0].tolist() == pytest.approx([2 / 3, 1 / 2, 1.0])


def test_command_scores_with_the_qrels_that_the_measures_need(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels").write_text(SUBTOPICS)
    (tmp_path / "run").write_text("".join(f"1 Q0 {d} {n} {9 - n} t\n" for n, d in enumerate("bxac", 1)))
    options = ["evaluate", "--protocol", "trec-adhoc", "--quiet", "--qrels", str(tmp_path / "qrels")]

    status = main([*options, "--measure", "alpha_nDCG@5", "--measure", "P@3", str(tmp_path / "run")])
    table = capsys.readouterr().out
    refused = main([*options, "--measure", "iP@5", str(tmp_path / "run")])

    assert (status, refused) == (0, 2)
    assert table == "run\ttopic\tmeasure\tvalue\nrun\tall\talpha_nDCG@5\t0.7569\nrun\tall\tP@3\t0.6667\n"
    message = "lines 1, 2, 3, 4, 5: expected 5 columns (topic, 0, docno, stratum, grade), got 4"
    assert message in capsys.readouterr().err
