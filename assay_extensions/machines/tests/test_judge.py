"""`assay judge`: a program judges a pool, also one that crashes, hangs or writes nonsense."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.formats.judgments.reader import parse_judgments

TASK = "arqmath-2020-task1"
POOL = "A.1\t22\t2\nA.1\t21\t1\nA.2\t41\t1\n"
Judge = Callable[..., int]

ANSWER = """
import json, sys, time, os
for line in sys.stdin:
    unit = json.loads(line)
    answer = {"topic": unit["topic"], "docno": unit["docno"], "grade": 1}
    if unit["docno"] == "22":
        %s
    print(json.dumps(answer) if isinstance(answer, dict) else answer, flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docnos = [line.split("\t")[1] for line in POOL.splitlines()]
    rows = [{"docno": docno, "text": f"A text about $p_{{{docno}}}$."} for docno in ["1", *docnos]]
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "pool.tsv").write_text(POOL)
    return tmp_path


@pytest.fixture
def judge(folder: Path) -> Judge:
    """Run `assay judge` with a program that gives every document grade 1, except for document 22."""

    def run(special: str = "pass", *options: str, output: str = "judgments.jsonl") -> int:
        (folder / "program.py").write_text(ANSWER % special)
        files = {"units": "pool.tsv", "documents": "documents.jsonl", "output": output}
        words = [word for name, file in files.items() for word in (f"--{name}", str(folder / file))]
        command = shlex.join([sys.executable, str(folder / "program.py")])
        topics = str(samples.path("topics.xml"))
        fixed = ["--protocol", TASK, "--topics", topics, "--assessor", "words", "--with", command, "--quiet"]
        return main(["judge", *fixed, *words, *options])

    return run


def rows_of(path: Path) -> list[tuple[str, str, int | None]]:
    rows = parse_judgments(path.read_bytes(), path.name).rows
    return [(row.topic, row.docno, row.grade) for row in rows]


ALL = [("A.1", "21", 1), ("A.1", "22", 1), ("A.2", "41", 1)]


@pytest.mark.parametrize("name", ["judgments.jsonl", "judgments.csv"])
def test_program_judges_all_units_in_the_order_of_the_pool(folder: Path, judge: Judge, name: str) -> None:
    comment = 'answer["comment"] = "=1, \\"two\\"\\nlines"; answer["seconds"] = 2.6'

    status = judge(comment, output=name)

    rows = parse_judgments((folder / name).read_bytes(), name).rows
    assert status == 0
    assert rows_of(folder / name) == ALL
    assert (rows[1].comment, rows[1].seconds, rows[1].kind) == ('=1, "two"\nlines', 3, "machine")
    assert (
        main(["agreement", str(folder / name), str(folder / name)]) == 1
    )  # one assessor, read without errors


def test_program_gets_the_texts_and_the_choices(folder: Path, judge: Judge) -> None:
    (folder / "guidelines.txt").write_text("Be strict.")
    special = f"open({str(folder / 'asked.json')!r}, 'w').write(line)"

    judge(special, "--guidelines", str(folder / "guidelines.txt"))

    asked = json.loads((folder / "asked.json").read_text())
    assert asked["topic"] == "A.1"
    assert asked["title"]
    assert asked["text"] == "A text about $p_{22}$."
    assert asked["guidelines"] == "Be strict."
    assert [grade["grade"] for grade in asked["grades"]] == [3, 2, 1, 0]
    assert {choice["key"] for choice in asked["non_answers"]} == {"system-failure", "do-not-know"}


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ("os._exit(7)", "the program ended with status 7 before it had answered"),
        ("os.kill(os.getpid(), 9)", "the program was ended by the signal SIGKILL"),
        ("time.sleep(60)", "the program did not answer within 1 seconds"),
        ("answer = 'I think that 3'", "line 2 of the answers: expected a JSON object, got 'I think that 3'"),
        ("answer['docno'] = '21'", "is for document 21 of topic A.1, expected 22 of A.1"),
        ("answer['grade'] = 9", "grade 9 is not in the protocol; use high (3)"),
        ("answer['grade'] = 1.5", "grade is neither a whole number nor a string: 1.5"),
        ("answer['score'] = 1", "score is not known; expected topic, docno, grade"),
        ("answer['grade'] = 'do-not-know'", "do-not-know needs a comment that says why"),
        ("answer = 'x' * (1 << 21)", "the program wrote a line of more than 1 MB"),
    ],
)
def test_failure_of_a_unit_is_named_and_the_next_unit_is_judged(
    folder: Path, judge: Judge, capsys: pytest.CaptureFixture[str], special: str, message: str
) -> None:
    status = judge(special, "--timeout", "1")

    captured = capsys.readouterr()
    assert status == 1
    assert message in captured.err
    assert "line 1 of the units, topic A.1, document 22" in captured.err
    assert captured.out.startswith("2 judged now, 0 before, 1 left")
    assert rows_of(folder / "judgments.jsonl") == [ALL[0], ALL[2]]
    assert judge() == 0
    assert rows_of(folder / "judgments.jsonl") == [ALL[0], ALL[2], ALL[1]]


@pytest.mark.parametrize("name", ["judgments.jsonl", "judgments.csv"])
def test_judgment_that_was_cut_is_made_again(folder: Path, judge: Judge, name: str) -> None:
    judge(output=name)
    path = folder / name
    path.write_bytes(path.read_bytes()[:-5])

    assert judge(output=name) == 0

    assert rows_of(path) == ALL


def test_finished_file_needs_no_program(folder: Path, judge: Judge) -> None:
    judge()
    before = (folder / "judgments.jsonl").read_bytes()

    assert judge("os._exit(1)") == 0
    assert (folder / "judgments.jsonl").read_bytes() == before


def test_program_that_never_works_is_not_called_for_every_unit(
    folder: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    docnos = range(21, 40)
    (folder / "pool.tsv").write_text("".join(f"A.1\t{docno}\t{docno}\n" for docno in docnos))
    rows = (json.dumps({"docno": str(docno), "text": "x"}) + "\n" for docno in docnos)
    (folder / "documents.jsonl").write_text("".join(rows))

    status = main(
        [
            *("judge", "--with", "false", "--protocol", TASK, "--topics", str(samples.path("topics.xml"))),
            *("--units", str(folder / "pool.tsv"), "--documents", str(folder / "documents.jsonl")),
            *("--assessor", "words", "--output", str(folder / "judgments.jsonl"), "--quiet"),
        ]
    )

    error = capsys.readouterr().err
    assert status == 1
    assert error.count("line ") == 5
    assert "5 units in a row failed" in error


def test_files_that_do_not_fit_are_refused_before_the_program_starts(
    folder: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pool.tsv").write_text(POOL + "A.1\t99\t3\nA.1\n")
    assert judge() == 2
    assert "pool.tsv: line 5: expected topic, docno and position" in capsys.readouterr().err

    (folder / "pool.tsv").write_text(POOL + "A.1\t99\t3\n")
    assert judge() == 2
    assert "documents.jsonl: no document 99 (line 4 of the units)" in capsys.readouterr().err

    (folder / "pool.tsv").write_text("A.9\t21\t1\n")
    assert judge() == 2
    assert "topics.xml: no topic A.9 (line 1 of the units)" in capsys.readouterr().err


def test_file_of_somebody_else_is_not_changed(
    folder: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    own = folder / "judgments.jsonl"
    for content, message in (
        (b'{"topic": "A.1", "docno": "21", "assessor": "ada", "grade": 1}\n', "judgments by ada, not words"),
        (b"Dear diary\n", "expected the columns"),
        (b"Dear diary", "not a file of judgments"),
    ):
        own.write_bytes(content)
        assert judge() == 2
        assert message in capsys.readouterr().err
        assert own.read_bytes() == content


LEFT = """
import json, sys
for line in sys.stdin:
    unit = json.loads(line)
    first, second = unit["docno"].split("|")
    left = unit["pair"][0]["docno"]
    grades = {each["key"]: each["label"] for each in unit["grades"]}
    assert unit["pair"][0]["text"] == "Text of " + left
    assert grades["first"] == ("Left better" if left == first else "Right better"), grades
    choice = "first" if left == first else "second"
    row = {"topic": unit["topic"], "docno": unit["docno"], "grade": choice}
    if any(each["key"] == "why" for each in unit["questions"]):
        row["answers"] = {"why": unit["questions"][0]["choices"][0]["key"]}
    print(json.dumps(row), flush=True)
"""


def test_pairs_are_judged_with_their_documents_on_two_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lab.toml").write_text(samples.path("pairs-lab.toml").read_text())
    (tmp_path / "left.py").write_text(LEFT)
    (tmp_path / "topics.tsv").write_text("T1\tA title\n")
    rows = [{"docno": docno, "text": f"Text of {docno}"} for docno in "abcdef"]
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "pool.tsv").write_text("".join(f"T1\ta|{docno}\t{n}\n" for n, docno in enumerate("bcdef", 1)))
    names = {
        "protocol": "lab.toml",
        "topics": "topics.tsv",
        "units": "pool.tsv",
        "documents": "documents.jsonl",
    }
    files = [word for name, file in names.items() for word in (f"--{name}", str(tmp_path / file))]
    program = shlex.join([sys.executable, str(tmp_path / "left.py")])
    output = tmp_path / "judgments.jsonl"
    fixed = ["judge", *files, "--with", program, "--assessor", "lefty", "--output", str(output), "--quiet"]

    status = main(fixed)

    judged = parse_judgments(output.read_bytes(), output.name).rows
    assert (status, len(judged)) == (0, 5)
    assert {row.left for row in judged} > {"a"}, "the sides are drawn"
    for row in judged:
        assert row.left == row.docno.split("|")[0 if row.choice == "first" else 1]
    capsys.readouterr()
    assert main(["preferences", "convert", "--votes", str(output), "--to", "pgc"]) == 0
    assert {tuple(line.split()[:3]) for line in capsys.readouterr().out.splitlines()} > {
        ("T1", "b", "a"),
        ("T1", "a", "f"),
    }
    (tmp_path / "pool.tsv").write_text("T1\ta\t1\n")
    output.unlink()
    assert main(fixed) == 2
    assert "line 1 of the units: a is no pair of documents" in capsys.readouterr().err


ROW = """
import json, sys
for line in sys.stdin:
    unit = json.loads(line)
    kept = "all" if unit["row"]["translation"] else "none"
    answers = {"adequacy": kept, "fluent": "yes"} | ({} if kept == "all" else {"errors": ["term"]})
    row = {"topic": unit["topic"], "docno": unit["docno"], "grade": "answered", "answers": answers}
    print(json.dumps(row), flush=True)
"""


def test_rows_of_a_table_are_judged_without_topics_and_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "row.py").write_text(ROW)
    output = tmp_path / "rows.csv"
    table, protocol = str(samples.path("captions.csv")), str(samples.path("captions-lab.toml"))
    program = shlex.join([sys.executable, str(tmp_path / "row.py")])
    fixed = ["judge", "--with", program, "--protocol", protocol, "--documents", table, "--assessor", "row"]
    fixed += ["--output", str(output), "--quiet"]

    status = main(fixed)

    judged = parse_judgments(output.read_bytes(), output.name).rows
    assert (status, [row.docno for row in judged]) == (0, ["f1", "f2", "n1"])
    assert {row.answers["adequacy"] for row in judged} == {"all"}
    assert main([*fixed, "--units", table]) == 2
    assert "--units has no meaning for the rows of a table" in capsys.readouterr().err


def test_yes_or_no_as_true_is_refused_with_the_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "row.py").write_text(ROW.replace('"fluent": "yes"', '"fluent": True'))
    table, protocol = str(samples.path("captions.csv")), str(samples.path("captions-lab.toml"))
    program = shlex.join([sys.executable, str(tmp_path / "row.py")])
    options = ["--with", program, "--protocol", protocol, "--documents", table, "--assessor", "row"]

    status = main(["judge", *options, "--output", str(tmp_path / "rows.csv")])

    assert status == 1
    assert "“True” is not an answer to “Is it fluent?” Use yes, no." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("protocol", "content"), [("bolt-ir-p3", "citations"), ("trec-rag-2024", "parts of generated")]
)
def test_what_only_a_site_shows_is_refused_with_the_reason(
    protocol: str, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["judge", "--with", "true", "--protocol", protocol])

    assert status == 2
    assert f"judges {content}" in (message := capsys.readouterr().err)
    assert "needs --server" in message
