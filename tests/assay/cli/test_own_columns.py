"""Columns of runs and qrels, and the order of ties, as a protocol describes them; through commands."""

import json
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.protocols.loader import ProtocolError, load_protocol, shipped_text

COLUMNS = """
[runs.columns]
order = ["topic", "docno", "rank", "score", "label"]
labels = { true = true, false = false }

[[runs.kind]]
key = "primary\""""
QRELS = """[qrels]
aggregate = "single"

[qrels.columns]
order = ["topic", "docno", "skip", "skip", "grade"]
words = { Good = 1, PotentiallyUseful = 0, Bad = 0, true = 1, false = 0 }
"""
RUN = "Q1 Q1_C1 0 0.5 true\nQ1 Q1_C2 1 0.5 false\nQ1 Q1_C3 2 0.9 false\n"
GOLD = "Q1 Q1_C1 1 0 Good\nQ1 Q1_C2 2 0 Bad\nQ1 Q1_C3 3 0 PotentiallyUseful\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "gold.txt").write_text(GOLD)
    return tmp_path


def protocol(folder: Path, *changes: tuple[str, str]) -> str:
    """The path of a protocol with columns of its own, with some changes."""
    text = shipped_text("trec-adhoc")
    text = text.replace('formats = ["trec-6"]', 'formats = ["columns"]\nties = "file"')
    text = text.replace('\n[[runs.kind]]\nkey = "primary"', COLUMNS).replace(
        '[qrels]\naggregate = "single"\n', QRELS
    )
    text = text.replace('measures = ["AP",', 'measures = ["RR", "labelAcc", "AP",')
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    path = folder / "own.toml"
    path.write_text(text)
    return str(path)


def check(folder: Path, run: str, *changes: tuple[str, str]) -> int:
    (folder / "run.txt").write_text(run)
    return main(["check", "--protocol", protocol(folder, *changes), str(folder / "run.txt")])


def scores(folder: Path, capsys: pytest.CaptureFixture[str], *changes: tuple[str, str]) -> dict[str, float]:
    """The means of the run by measure."""
    capsys.readouterr()
    files = ["--qrels", str(folder / "gold.txt"), str(folder / "run.txt")]
    own = protocol(folder, *changes)
    assert main(["evaluate", "--protocol", own, "--format", "json", "--quiet", *files]) == 0
    return {row["measure"]: row["value"] for row in json.loads(capsys.readouterr().out)}


def test_run_and_gold_in_their_own_columns_are_scored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = scores(folder, capsys)

    assert (values["RR"], values["labelAcc"]) == (0.5, 1.0)


def test_grades_that_are_mapped_may_be_written_with_a_point(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "gold.txt").write_text("Q1 Q1_C1 1 0 7\nQ1 Q1_C2 2 0 3.0\nQ1 Q1_C3 3 0 7.0\n")

    values = scores(
        folder, capsys,
        ("{ Good = 1, PotentiallyUseful = 0, Bad = 0, true = 1, false = 0 }", "{ 3 = 1, 7 = 0 }"),
    )  # fmt: skip

    assert values["RR"] == 1 / 3


@pytest.mark.parametrize(("ties", "value"), [("file", 1 / 2), ("docno", 1 / 3), ("rank", 1 / 3)])
def test_ties_are_in_the_order_of_the_protocol(
    folder: Path, capsys: pytest.CaptureFixture[str], ties: str, value: float
) -> None:
    """The relevant document has the score of another one, which has the better rank."""
    (folder / "run.txt").write_text(RUN.replace("Q1_C1 0 0.5", "Q1_C1 7 0.5"))

    values = scores(folder, capsys, ('ties = "file"', f'ties = "{ties}"'))

    assert values["RR"] == pytest.approx(value, abs=1e-4)


def test_rank_orders_a_run_without_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.txt").write_text("Q1 Q1_C1 2 true\nQ1 Q1_C2 3 true\nQ1 Q1_C3 1 true\n")

    values = scores(folder, capsys, ('"rank", "score", "label"', '"rank", "label"'))

    assert (values["RR"], values["labelAcc"]) == (0.5, pytest.approx(1 / 3, abs=1e-4))


@pytest.mark.parametrize(
    ("run", "number", "message"),
    [
        (RUN.replace("0.9 false", "0.9 maybe"), 3, "label “maybe” is not accepted"),
        (RUN.replace(" false\n", "\n", 1), 2, "expected 5 columns, got 4"),
        (RUN.replace("0.9", "high"), 3, "score “high” is not a finite number"),
        (RUN.replace(" 2 0.9", " x 0.9"), 3, "rank “x” is not a whole number"),
        (f"{RUN}Q1 Q1_C1 3 0.1 true\n", 4, "already contains the document"),
    ],
)
def test_wrong_line_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], run: str, number: int, message: str
) -> None:
    assert check(folder, RUN) == 0
    capsys.readouterr()
    assert check(folder, run) == 1
    output = capsys.readouterr().out
    assert message in output
    assert f"line {number}" in output


@pytest.mark.parametrize(("separator", "sign"), [("comma", ","), ("semicolon", ";")])
def test_columns_are_separated_as_the_protocol_says(folder: Path, separator: str, sign: str) -> None:
    changes = (("labels = {", f'separator = "{separator}"\nlabels = {{'),)

    assert check(folder, RUN.replace(" ", sign), *changes) == 0
    assert check(folder, RUN.replace(" ", sign)) == 1
    assert check(folder, RUN.replace(" ", sign).replace("Q1_C1", ""), *changes) == 1


def test_only_tabs_separate_columns_if_the_protocol_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in gold files with a text: it has spaces and quotation marks, or is empty."""
    run = 'Q1\tQ1_C1\ta "b\t0.5\ttrue\nQ1\tQ1_C2\t\t0.5\tfalse\nQ1\tQ1_C3\tc d\t0.9\tfalse\n'
    gold = "Q1\tQ1_C1\tit's \"so\ttext\tGood\nQ1\tQ1_C2\t\t\tBad\nQ1\tQ1_C3\tx\ty z\tBad\n"
    (folder / "run.txt").write_text(run)
    (folder / "gold.txt").write_text(gold)
    changes = (
        ('"rank", "score", "label"]', '"skip", "score", "label"]\nseparator = "tab"'),
        ('"skip", "skip", "grade"]', '"skip", "skip", "grade"]\nseparator = "tab"'),
    )

    values = scores(folder, capsys, *changes)

    assert (values["RR"], values["labelAcc"]) == (0.5, 1.0)
    assert check(folder, run.replace("Q1_C1", "Q1 C1"), *changes) == 1
    assert "line 1: the column docno contains white space" in capsys.readouterr().out
    assert check(folder, run.replace("\t0.9", " 0.9"), *changes) == 1
    assert "separated by tabs." in capsys.readouterr().out


def test_run_without_a_column_of_topics_has_the_topic_of_the_protocol(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run.txt").write_text("Q1_C1 0.5 true\n\nQ1_C2 0.5 false\nQ1_C3 0.9 false\n")
    changes = (('order = ["topic", "docno", "rank", "score",', 'topic = "Q1"\norder = ["docno", "score",'),)

    values = scores(folder, capsys, *changes)

    assert (values["RR"], values["labelAcc"]) == (0.5, 1.0)
    assert check(folder, "Q1_C1 0.5\n", *changes) == 1
    assert "line 1: expected 3 columns, got 2" in capsys.readouterr().out
    assert (
        check(folder, "Q1_C1,0.5,true\n", *changes, ('topic = "Q1"', 'topic = "Q1"\nseparator = "comma"'))
        == 0
    )
    with pytest.raises(ProtocolError, match=r"runs\.columns\.topic: .* has a column with the topic"):
        load_protocol(
            protocol(folder, ('order = ["topic", "docno", "rank"', 'topic = "Q1"\norder = ["topic", "docno"'))
        )


NAMED_RUN = (
    "run_id\tscore\tTopic\ttweet id\tverdict\nowls\t0.5\tQ1\tQ1_C1\ttrue\n\nowls\t0.5\tQ1\tQ1_C2\tfalse\n"
    "owls\t0.9\tQ1\tQ1_C3\tfalse\n"
)
NAMED_GOLD = (
    "tweet_text\tcheck\ttopic_id\turl\ttweet_id\n"
    "it's \"so\tGood\tQ1\thttp://x\tQ1_C1\n\tBad\tQ1\t\tQ1_C2\nx, y\t0\tQ1\t\tQ1_C3\n"
)
NAMED = (
    (
        '"rank", "score", "label"]',
        '"score", "label"]\nseparator = "tab"\nheader = ["topic", "tweet id", "Score", "verdict"]',
    ),
    (
        '"skip", "skip", "grade"]',
        '"skip", "grade"]\nseparator = "tab"\nheader = ["topic_id", "tweet_id", "tweet_text", "check"]',
    ),
)


def test_columns_may_be_named_by_the_first_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in the gold of CheckThat!: in any order, between other columns, with a text that may be empty."""
    (folder / "run.txt").write_text(NAMED_RUN)
    (folder / "gold.txt").write_text(NAMED_GOLD)

    values = scores(folder, capsys, *NAMED)
    options = ["--protocol", protocol(folder, *NAMED), "--to", "protocol", "--output", str(folder / "out")]
    assert main(["qrels", "convert", str(folder / "gold.txt"), *options]) == 0
    written = (folder / "out" / "qrels.tsv").read_text().splitlines()
    assert (
        main(["qrels", "convert", str(folder / "out" / "qrels.tsv"), *options[:-1], str(folder / "2")]) == 0
    )

    assert (values["RR"], values["labelAcc"]) == (0.5, 1.0)
    assert written[:2] == ["topic_id\ttweet_id\ttweet_text\tcheck", "Q1\tQ1_C1\t0\tGood"]
    assert (folder / "2" / "qrels.tsv").read_text().splitlines() == written
    assert main(["protocol", "show", protocol(folder, *NAMED)]) == 0
    assert "names the columns topic_id, tweet_id, tweet_text, check; files may" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (NAMED_RUN.replace("tweet id", "docno"), "The first line does not name the column tweet id."),
        (NAMED_RUN.replace("run_id", "score"), "The first line names the column Score twice."),
        (NAMED_RUN.replace("0.9", "high"), "line 5: score “high” is not a finite number"),
        (NAMED_RUN.replace("\tQ1_C3", ""), "line 5: expected 5 columns, got 4"),
        (NAMED_RUN.replace("Q1_C3", "Q1 C3"), "line 5: the column docno contains white space"),
    ],
)
def test_wrong_names_of_columns_and_lines_below_them_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], run: str, message: str
) -> None:
    assert check(folder, NAMED_RUN.replace("\n", "\r\n"), *NAMED) == 0
    capsys.readouterr()

    assert check(folder, run, *NAMED) == 1

    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("gold", "n_judged", "message"),
    [
        (NAMED_GOLD.replace("check\t", "truth\t"), 0, "does not name the column check; expected topic_id"),
        (NAMED_GOLD.replace("\tBad", "\tOdd"), 0, "line 3: grade 'Odd' is not a whole number; use Good"),
        ("Q1 0 Q1_C1 1\nQ1 0 Q1_C2 0\n", 2, ""),
        ("topic,docno,grade\nQ1,Q1_C1,Good\n", 1, ""),
        ('{"Q1": {"Q1_C1": 1}}', 1, ""),
    ],
)
def test_usual_qrels_are_read_too_where_the_first_line_names_the_columns(
    folder: Path, capsys: pytest.CaptureFixture[str], gold: str, n_judged: int, message: str
) -> None:
    (folder / "gold.txt").write_text(gold)
    options = ["--protocol", protocol(folder, *NAMED), "--to", "trec", "--output", str(folder / "out")]

    assert main(["qrels", "convert", str(folder / "gold.txt"), *options]) == (0 if n_judged else 2)

    assert message in capsys.readouterr().err
    if n_judged:
        (written,) = (folder / "out").glob("qrels*")
        assert len(written.read_text().splitlines()) == n_judged


def test_header_of_a_protocol_names_each_column_once(folder: Path) -> None:
    wrong = (NAMED[0][0], NAMED[0][1].replace('"verdict"]', '"Topic", "x"]'))
    with pytest.raises(ProtocolError) as caught:
        load_protocol(protocol(folder, wrong))

    assert "runs.columns.header: 5 names, but runs.columns.order has 4 columns" in str(caught.value)
    assert "runs.columns.header: 'topic' is listed twice" in str(caught.value)


QUOTED = (
    '"Q1","Gauß,_""Carl"":0",0,0.9,"true"',
    'Q1, Q1_C2 , 1,0.5,"false"',
    '"Q1",Q1_C3,2,"0.4",false',
)
QUOTED_GOLD = (
    '#comments, with "marks, are left out',
    '"Q1","Gauß,_""Carl"":0","a comment, in',
    'two lines with ""marks""",,Good',
    'Q1,Q1_C2,two words,"",Bad',
)


def test_quotation_marks_of_separated_columns_are_read_and_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in RFC 4180; ids may contain the separator and quotation marks, columns without meaning anything."""
    commas = tuple((key, f'separator = "comma"\n{key}') for key in ("labels = {", "words = {"))
    (folder / "gold.txt").write_text("\n".join(QUOTED_GOLD))

    assert check(folder, "\n".join(QUOTED), *commas) == 0
    values = scores(folder, capsys, *commas)
    options = ["--protocol", protocol(folder, *commas), "--to", "protocol", "--output", str(folder / "out")]
    assert main(["qrels", "convert", str(folder / "gold.txt"), *options]) == 0

    assert (values["RR"], values["labelAcc"]) == (1.0, 1.0)
    written = (folder / "out" / "qrels.csv").read_text()
    assert written.splitlines() == ['Q1,"Gauß,_""Carl"":0",0,0,Good', "Q1,Q1_C2,0,0,PotentiallyUseful"]


@pytest.mark.parametrize(
    ("line", "number", "message"),
    [
        ('"Q1","Q1 C4",3,0.1,true', 4, "the column docno contains white space"),
        ("Q1,,3,0.1,true", 4, "the column docno is empty"),
        ('Q1,"Q1_C4"x,3,0.1,true', 4, "text follows a closing quotation mark"),
        ('Q1,"Q1_C4,3,0.1,true', 4, "a quotation mark is not closed"),
        ('\n"Q1\n",Q1_C4,"3"', 5, "expected 5 columns, got 3"),
        ('Q1,Q1_C4,"3\n",0.1,true\nQ1,Q1_C5,4,0.1,maybe', 6, "label “maybe” is not accepted"),
    ],
)
def test_wrong_quotation_marks_are_named_with_their_line(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, number: int, message: str
) -> None:
    changes = (("labels = {", 'separator = "comma"\nlabels = {'),)

    assert check(folder, f"{RUN.replace(' ', ',')}{line}\n", *changes) == 1

    output = capsys.readouterr().out
    assert f"line {number}: {message}" in output
    assert "1 error," in output


def test_wrong_word_for_a_grade_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "gold.txt").write_text(GOLD.replace("Bad", "Awful"))
    files = ["--qrels", str(folder / "gold.txt"), str(folder / "run.txt")]

    assert main(["evaluate", "--protocol", protocol(folder), *files]) != 0

    message = "line 2: grade 'Awful' is not a whole number; use Good, PotentiallyUseful, Bad"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("to", "separator", "sign", "lines"),
    [
        ("trec", "white-space", " ", "Q1 0 Q1_C1 1|Q1 0 Q1_C2 0|Q1 0 Q1_C3 0"),
        (
            "protocol",
            "comma",
            ",",
            "Q1,Q1_C1,0,0,Good|Q1,Q1_C2,0,0,PotentiallyUseful|Q1,Q1_C3,0,0,PotentiallyUseful",
        ),
    ],
)
def test_gold_is_converted_from_and_to_its_own_columns(
    folder: Path, to: str, separator: str, sign: str, lines: str
) -> None:
    (folder / "gold.txt").write_text(GOLD.replace(" ", sign))
    own = protocol(folder, ("words = {", f'separator = "{separator}"\nwords = {{'))
    options = ["--protocol", own, "--to", to, "--output", str(folder / "out")]

    assert main(["qrels", "convert", str(folder / "gold.txt"), *options]) == 0

    (written,) = (path for path in (folder / "out").iterdir() if path.name.startswith("qrels"))
    assert written.read_text().splitlines() == lines.split("|")


ANSWERS = "ours A.301 x1\nours A.302 x2\nours A.303 x3\nours A.304 x4\n"
ANSWER_GRADES = "A.301 0 x1 3\nA.302 0 x2 1\nA.303 0 x3 5\nA.304 0 x4 2\nA.305 0 x5 3\n"


def test_one_answer_per_topic_needs_neither_rank_nor_score(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A non-answer (5) counts 0; the topic that the run does not answer does not count."""
    (folder / "run.txt").write_text(ANSWERS)
    (folder / "gold.txt").write_text(ANSWER_GRADES)
    task3 = ["--protocol", "arqmath-2022-task3"]
    files = ["--qrels", str(folder / "gold.txt"), str(folder / "run.txt")]

    assert main(["check", *task3, str(folder / "run.txt")]) == 0
    assert "0 warnings" in capsys.readouterr().out
    assert main(["evaluate", *task3, "--format", "json", "--quiet", *files]) == 0

    values = {row["measure"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    assert values == {"Grade@1": (3 + 1 + 0 + 2) / 4, "P(rel=2)@1": 2 / 4}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ours A.304 x5", "topic “A.304” has 2 documents"),
        ("ours A.305", "expected 3 columns, got 2"),
        ("other A.305 x5", "the file has 2 tags"),
    ],
)
def test_second_answer_to_a_topic_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    (folder / "run.txt").write_text(f"{ANSWERS}{line}\n")

    assert main(["check", "--protocol", "arqmath-2022-task3", str(folder / "run.txt")]) == 1

    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("subtask", "gold", "mean"),
    [("c", "Good PotentiallyUseful Bad", 1 / 3), ("d", "D R I", (1 / 2 + 2 / 3) / 2)],
    ids=["c", "d"],
)
def test_subtasks_of_semeval_count_what_their_gold_calls_relevant(
    subtask: str, gold: str, mean: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run ranks the worst first. In subtask D, related answers are relevant, too."""
    first, second, third = gold.split()
    (tmp_path / "gold.txt").write_text(f"Q1 a 1 0 {first}\nQ1 b 2 0 {second}\nQ1 c 3 0 {third}\n")
    (tmp_path / "run.txt").write_text("Q1 c 1 0.9 true\nQ1 b 2 0.8 true\nQ1 a 3 0.1 false\n")
    words = ["evaluate", "--protocol", f"semeval-2016-task3{subtask}", "--qrels", str(tmp_path / "gold.txt")]

    assert main([*words, "--format", "json", str(tmp_path / "run.txt")]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["value"] == pytest.approx(mean)
