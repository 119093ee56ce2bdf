"""`assay agreement`: how far assessors agree, from a file of judgments."""

import io
import sys
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from tests.helpers.score_files import PROTOCOL, ask, read

JUDGMENTS = (
    "topic,docno,assessor,grade,kind,is_current,choice\n"
    "A.1,10,ada,3,main,True,high\nA.1,10,bob,2,dual,True,medium\n"
    "A.1,11,ada,0,main,True,none\nA.1,11,bob,0,dual,True,none\n"
    "A.2,12,ada,1,main,True,low\nA.2,12,bob,3,dual,True,high\n"
    "A.2,13,ada,,main,True,unknown\nA.2,13,bob,1,dual,True,low\n"
    "A.2,12,ada,3,main,False,high\n"
)


def test_assessors_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("\ufeff" + JUDGMENTS)

    tables = ask(capsys, "agreement", str(path), "--level", "2")

    (everything,) = tables["all"]
    assert (everything["judges"], everything["judgments"], everything["units_judged_twice"]) == (
        "2",
        "7",
        "3",
    )
    assert (everything["without_grade"], everything["repeated"]) == ("1", "0")
    (pair,) = tables["pairs"]
    assert (pair["first"], pair["second"], pair["units"]) == ("ada", "bob", "3")
    assert (pair["agreement"], pair["agreement_two_way"], pair["kappa_two_way"]) == (
        "0.3333",
        "0.6667",
        "0.4000",
    )
    assert [row["topic"] for row in tables["topics"]] == ["A.1", "A.2"]


def test_only_judgments_of_a_kind_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text(JUDGMENTS)

    status = main(["agreement", str(path), "--kind", "main", "--quiet", *PROTOCOL])

    captured = capsys.readouterr()
    tables = read(captured.out)
    assert status == 1
    assert tables["all"][0]["judges"] == "1"
    assert tables["all"][0]["alpha_ordinal"] == ""
    assert tables["pairs"] == []
    assert "give several files, or a file with several assessors" in captured.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            b"topic,docno,choice\n",
            "line 1: expected the columns topic, docno, assessor, grade; assessor missing: got topic, docno, choice",
        ),
        (
            b"topic,docno,assessor,grade\nA.1,10,ada,good\n",
            "line 2: the answer 'good' is not a whole number; with",
        ),
        (
            b"topic,docno,assessor,grade\nA.1,10,ada,1\nA.1,,ada,1\n",
            "line 3: expected a topic, a docno and an assessor",
        ),
        (
            b"topic,docno,assessor,grade\nA.1,10,ada,1,9\n",
            "line 2: expected 4 columns as in the header, got 5",
        ),
        (
            b"topic,docno,assessor,grade,judged_at\nA.1,10,ada,1,today\n",
            "line 2: judged_at 'today' is not a time such as 2026-11-20T10:30:37+00:00 or Fri Nov 20 10:30:37 UTC 2026",
        ),
        (
            b"topic,docno,assessor,grade\nA.1,10,ada,y\nA.1,11,ada,x\n",
            "line 2: the answer 'y' is not a whole number; with --protocol, keys and labels",
        ),
        (
            b"topic,docno,assessor,grade,is_current\nA.1,10,ada,1,maybe\n",
            "is_current 'maybe' is neither True nor False",
        ),
        (
            b'{"topic": "A.1", "docno": "1", "assessor": "ada", "grade": 1}\n{"topic"\n',
            "line 2: not a line of JSON",
        ),
        (
            b'{"topic": "A.1"}\n[]\n',
            "line 1: expected a topic, a docno and an assessor; line 2: expected an object",
        ),
        (b'topic,docno,assessor,grade\nA.1,"10"0,ada,1\n', "line 2"),
        (b"topic,docno,assessor,grade\nA.1,\x81,ada,1\n", "Line 2 is neither UTF-8 nor Windows-1252"),
        (b"", "line 1: expected the columns"),
        (b"A.1 0 10 high\n", "line 1: grade 'high'"),
    ],
)
def test_judgments_that_cannot_be_used_are_refused(
    text: bytes, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "judgments.csv"
    path.write_bytes(text)

    assert main(["agreement", str(path)]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith(f"assay agreement: {path}: ")
    assert reason in captured.err


def test_standard_input_can_be_judgments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JUDGMENTS.encode())))

    assert ask(capsys, "agreement", "-")["all"][0]["judges"] == "2"


def test_judgments_without_a_second_assessor_explain_the_empty_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("topic,docno,assessor,grade\nA.1,10,ada,3\nA.1,11,bob,1\nA.1,12,bob,\n")

    assert main(["agreement", str(path)]) == 1

    assert capsys.readouterr().err == (
        "no unit has grades from two assessors, so there is no agreement: 2 grades by 2 assessors, "
        "1 judgment without a grade\n"
    )


def test_several_files_are_compared_and_qrels_are_one_judge_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "judgments.csv").write_text(JUDGMENTS)
    (tmp_path / "carl.txt").write_text("A.1 0 10 2\nA.1 0 11 -1\nA.2 0 13 1\n")
    (tmp_path / "dora.csv").write_text("docno,topic,grade\n10,A.1,3\n")

    tables = ask(
        capsys, "agreement", *(str(tmp_path / name) for name in ("judgments.csv", "carl.txt", "dora.csv"))
    )

    pairs = {(row["first"], row["second"]): row for row in tables["pairs"]}
    assert {pair: row["units"] for pair, row in pairs.items()} == {
        ("ada", "bob"): "3", ("ada", "carl"): "1", ("ada", "dora.csv"): "1",
        ("bob", "carl"): "2", ("bob", "dora.csv"): "1", ("carl", "dora.csv"): "1",
    }  # fmt: skip
    assert [row["other_assessors"] for row in tables["assessors"]] == ["3", "3", "3", "3"]
    assert tables["all"][0]["without_grade"] == "2"


def test_intervals_surround_kappa_and_alpha(capsys: pytest.CaptureFixture[str]) -> None:
    tables = ask(capsys, "agreement", str(samples.path("judgments.csv")), "--level", "2")

    (pair,) = tables["pairs"]
    assert float(pair["kappa_low"]) < float(pair["kappa"]) < float(pair["kappa_high"])
    assert [row["grades"] for row in tables["alpha"]] == ["nominal", "ordinal", "interval", "two-way"]
    assert [row["weights"] for row in tables["ac"]] == ["none", "linear", "quadratic", "two-way"]
    for name in ("alpha", "ac"):
        assert all(float(row["low"]) < float(row[name]) <= float(row["high"]) for row in tables[name])


def test_weights_count_the_steps_of_the_protocol_and_units_that_agree_have_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The grade 2 of 0 to 3 does not occur: 1 and 3 are two steps apart by the protocol, else one."""
    path, equal = tmp_path / "judgments.csv", tmp_path / "equal.csv"
    given = ["00", "01", "11", "33", "31", "10"]
    rows = [
        f"A.1,{n},{who},{grade}\n"
        for n, pair in enumerate(given)
        for who, grade in zip("ab", pair, strict=True)
    ]
    path.write_text("topic,docno,assessor,grade\n" + "".join(rows))
    equal.write_text(
        "topic,docno,assessor,grade\n" + "".join(f"A.1,{n},{who},{n}\n" for n in range(3) for who in "ab")
    )

    of_files, of_protocol = (
        ask(capsys, "agreement", str(path), *more)["pairs"][0] for more in ([], PROTOCOL)
    )
    agreeing = ask(capsys, "agreement", str(equal))

    # 4 steps for 6 units, and 44 for the 36 combinations by chance; without the grade 2, 3 and 30
    assert (of_protocol["kappa_linear"], of_files["kappa_linear"]) == ("0.4545", "0.4000")
    assert (agreeing["pairs"][0]["kappa"], agreeing["pairs"][0]["kappa_low"]) == ("1.0000", "")
    assert {row["low"] for row in agreeing["alpha"]} == {""}


def test_chance_of_ac_is_that_of_the_scale_of_the_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By hand: half of the units agree, and shares are 1/4, 3/4: 2 (1/4)(3/4) / (q - 1) for q of 2 and 4 grades."""
    path = tmp_path / "judgments.csv"
    rows = ["A.1,1,a,0", "A.1,1,b,1", "A.1,2,a,1", "A.1,2,b,1"]
    path.write_text("topic,docno,assessor,grade\n" + "\n".join(rows))

    of_files, of_protocol = (ask(capsys, "agreement", str(path), *more)["ac"][0] for more in ([], PROTOCOL))

    assert float(of_files["ac"]) == pytest.approx((0.5 - 0.375) / 0.625, abs=1e-4)
    assert float(of_protocol["ac"]) == pytest.approx((0.5 - 0.125) / 0.875, abs=1e-4)


def test_answers_to_a_question_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    lab = ["--protocol", str(samples.path("arguments-lab.toml"))]
    judgments = str(samples.path("arguments-judgments.csv"))

    of_stance, of_facts = (
        ask(capsys, "agreement", judgments, *lab, "--question", question)
        for question in ("stance", "appeals:facts")
    )
    main(["agreement", judgments, *lab, "--question", "stance"])

    (pair,) = of_stance["pairs"]
    assert (pair["units"], pair["agreement"], pair["kappa"]) == ("5", "0.8000", "0.6667")
    assert [row["units_judged_twice"] for row in of_facts["all"]] == ["3"]
    words = "“Which side does it take?” (0 Pro, 1 Con, 2 Neutral): Krippendorff's alpha"
    assert words in capsys.readouterr().out


def test_subtopics_are_compared_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    lab = ["--protocol", str(samples.path("diversity-lab.toml")), "--question", "covers"]
    topics = ["--topics", str(samples.path("diversity-topics.xml"))]

    tables = ask(capsys, "agreement", str(samples.path("diversity-judgments.csv")), *lab, *topics)

    (pair,) = tables["pairs"]
    assert (pair["units"], pair["agreement"]) == ("13", "0.8462")
    assert [(row["topic"], row["units_judged_twice"]) for row in tables["topics"]] == [
        ("1 1", "3"), ("1 2", "3"), ("1 3", "3"), ("2 1", "2"), ("2 2", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "answers", "reason"),
    [
        (
            ["--question", "color"],
            "{}",
            "has no question 'color' to compare; use quality, stance, appeals:facts",
        ),
        (
            ["--question", "stance"],
            '{"stance": "up"}',
            "line 2: “up” is not an answer to “Which side does it take?”",
        ),
        (
            ["--question", "stance", "--topics", "t"],
            "{}",
            "--topics is only for a --question about subtopics",
        ),
    ],
)
def test_questions_that_cannot_be_compared_are_refused(
    options: list[str], answers: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "judgments.jsonl"
    row = '{"topic": "1", "docno": "a", "assessor": "%s", "choice": "relevant", "answers": %s}\n'
    path.write_text("".join(row % (name, answers) for name in ("ines", "marek")))
    path.write_text("\n" + path.read_text())

    status = main(["agreement", str(path), "--protocol", str(samples.path("arguments-lab.toml")), *options])

    assert status == 2
    assert reason in capsys.readouterr().err


def test_question_needs_a_protocol_and_subtopics_need_topics(capsys: pytest.CaptureFixture[str]) -> None:
    judgments, lab = str(samples.path("diversity-judgments.csv")), str(samples.path("diversity-lab.toml"))

    statuses = [
        main(["agreement", judgments, "--question", "covers"]),
        main(["agreement", judgments, "--question", "covers", "--protocol", lab]),
    ]

    messages = capsys.readouterr().err
    assert statuses == [2, 2]
    assert "--question needs --protocol, which has the choices of the question" in messages
    assert "is about subtopics: name the file of topics with --topics" in messages


def test_column_of_turkle_is_the_answer_to_a_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "Batch_1_results.csv"
    header = '"WorkerId","Input.topic","Input.docno","Answer.grade","Answer.side","Turkle.Username"\n'
    path.write_text(header + '"1","1","a","2","pro","ada"\n"2","1","a","1","con","bob"\n')
    lab = ["--protocol", str(samples.path("arguments-lab.toml")), "--question", "stance"]

    tables = ask(capsys, "agreement", str(path), *lab, "--column", "answers.stance=Answer.side")

    assert tables["pairs"][0]["agreement"] == "0.0000"


TURKLE = (
    '"HITId","AssignmentId","WorkerId","SubmitTime","WorkTimeInSeconds","Input.qid","Input.html","Answer.comment",'
    '"Answer.rel","Turkle.Username"\n'
    '"1","1","7","Fri Nov 20 10:30:37 UTC 2026","12","A.1","<p>\nlong</p>","=1","High","ada"\n'
    '"1","2","8","Fri Nov 20 10:31:37 UTC 2026","9","A.1","<p>\nlong</p>","","3","bob"\n'
)


def test_results_of_turkle_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "Batch_1_results.csv"
    path.write_text(TURKLE.replace("Input.html", "Input.post"))
    named = ["--column", "docno=Input.post", *PROTOCOL]

    path.write_text(path.read_text().replace("<p>\nlong</p>", "17"))
    (pair,) = ask(capsys, "agreement", str(path), *named)["pairs"]

    assert (pair["first"], pair["second"], pair["units"], pair["agreement"]) == ("ada", "bob", "1", "1.0000")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            (),
            "line 1: name the column of docno; Turkle's are Input.qid, Input.html, Answer.comment, Answer.rel",
        ),
        (("--column", "docno=Input.id"), "line 1: no column 'Input.id'; the columns are HITId"),
        (("--column", "docno=WorkerId"), "line 2: the answer 'High' is not a whole number; with --protocol"),
        (
            ("--column", "docno=Input.html"),
            "lines 2, 4: topic 'A.1' and docno '<p>\\nlong</p>' must not contain white space",
        ),
    ],
)
def test_results_of_turkle_that_cannot_be_used_are_refused(
    options: tuple[str, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "Batch_1_results.csv"
    path.write_text(TURKLE)

    assert main(["agreement", str(path), *options]) == 2

    assert f"{path}: {reason}" in capsys.readouterr().err


def test_units_without_topics_are_compared_by_their_column(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(data / "judges/agreement/a_five_raters.tsv")
    columns = ["--column", "docno=unit", "--column", "assessor=person"]

    assert main(["agreement", *columns, path]) == 2
    assert "topic missing; name the column of docno as topic too" in capsys.readouterr().err
    tables = ask(capsys, "agreement", *columns, "--column", "topic=unit", path)
    assert tables["all"][0]["alpha_interval"] == "0.5663"  # of irrCAC: 0.566276
