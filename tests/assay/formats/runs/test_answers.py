"""Runs of generated answers are read into rows of ids, or refused with line and key; one that is too long is cut."""

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay import samples
from assay.answers import Answer, Sentence, unit_of
from assay.cli.main import main
from assay.errors import InputError
from assay.formats.compression import Limits
from assay.formats.runs.answers import cited_run
from assay.formats.runs.examples import EXAMPLES, placeholders, sample_run
from assay.formats.runs.reader import CheckedRun, check_run, read_answers
from assay.formats.runs.rules import ABSENT, FIT
from assay.protocols.loader import parse_protocol, shipped_text
from assay.protocols.schema import ANSWER_FORMATS, Protocol
from tests.helpers.answer_runs import OWLS, answer_line, answer_of, answer_run, citation

RAG = shipped_text("trec-rag-2024")
META = {
    "team_id": "one",
    "run_id": "owls",
    "topic_id": "T1",
    "narrative_id": "T1",
    "type": "automatic",
    "use_starter_kit": False,
}


def protocol(form: str = "rag-2024", **limits: Any) -> Protocol:
    """The protocol of RAG 2024 with other formats and limits, and the kinds automatic and manual."""
    text = RAG.replace("max_words = 400\n", "") if "max_words" in limits else RAG
    text = text.replace('formats = ["rag-2024"]', f'formats = ["{form}"]').replace(
        'key = "rag"', 'key = "automatic"'
    )
    text = text.replace('key = "ag"', 'key = "manual"')
    for key, value in limits.items():
        text = text.replace("citations = 1 ", f"{key} = {value}\ncitations = 1 ")
    return parse_protocol(text, name="x.toml")


def check(text: str | bytes, rules: Protocol | None = None, **options: Any) -> CheckedRun:
    data = text if isinstance(text, bytes) else text.encode()
    return check_run(BytesIO(data), protocol=rules or protocol(), name="run.jsonl", **options)


def complaints(checked: CheckedRun) -> list[str]:
    return [
        f"{each.severity}: {each} [{'; '.join(line.note for line in each.lines)}]"
        for each in (*checked.report.errors, *checked.report.warnings)
    ]


def meta(key: str, sentences: Any, **others: Any) -> str:
    return json.dumps({"metadata": {**META, **others.pop("metadata", {})}, key: sentences, **others}) + "\n"


def test_rows_are_the_answer_its_sentences_and_their_citations() -> None:
    columns = check(answer_run()).columns

    assert columns is not None
    answers = [answer_of(topic, sentences) for topic, sentences in OWLS.items()]
    rows = [docno for answer in answers for docno, _ in answer.rows()]
    assert [docno.decode() for docno in columns.docno.tolist()] == rows
    assert columns.rank.tolist() == [n for answer in answers for _, n in answer.rows()]
    assert rows[2] == citation("Owls sing at night.", "d1")
    assert unit_of(rows[2]) == unit_of(citation("Owls  sing at night.", "d1"))  # white space does not count


def test_equal_texts_have_equal_ids_after_nfkc() -> None:
    ligature, letters = Sentence("ﬁne\u00a0words "), Sentence("fine words")

    assert ligature.digest == letters.digest
    assert Answer("T", (ligature, letters)).digest == Answer("T", (Sentence("fine words fine words"),)).digest


def test_report_counts_answers_and_sentences() -> None:
    report = check(answer_run()).report

    assert (report.tag, report.format, report.n_lines) == ("owls", "rag-2024", 2)
    assert report.topic_lines == {"T1": 3, "T2": 1}


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("rag-2025", meta("answer", [{"text": "x", "citations": [1, "d9"]}], references=["d9", "d8"])),
        (
            "rag-2026",
            meta(
                "answer",
                [{"text": "x", "citations": ["d8", 0]}],
                references=["d9", "d8"],
                metadata={"run_desc": "x", "narrative": "Why?"},
            ),
        ),
        ("ragtime", meta("responses", [{"text": "x", "citations": {"d9": 0.2, "d8": 0.9}}])),
        ("dragun", meta("responses", [{"text": "x", "citations": ["d8", "d9"]}])),
    ],
)
def test_citations_of_every_form_are_documents_by_priority(form: str, line: str) -> None:
    checked = check(line, protocol(form))

    assert complaints(checked) == []
    assert checked.answers["T1"].sentences == (Sentence("x", ("d8", "d9")),)


MANY = ["warning: line 1: a sentence has more than 3 citations [responses[0].citations: 4]"]


@pytest.mark.parametrize(
    ("form", "line", "expected"),
    [
        ("ragtime", meta("responses", [{"text": "x", "citations": [*"abcd"]}]), MANY),
        ("dragun", meta("responses", [{"text": "x", "citations": [*"abcd"]}]), MANY),
        ("rag-2025", meta("answer", [{"text": "x", "citations": [0, 1, 2, 3]}], references=[*"abcd"]), []),
        (
            "dragun",
            meta("responses", [{"text": "x", "citations": {"a": 0.5}}]),
            ["error: line 1: citations are not a list [responses[0].citations]"],
        ),
        (
            "dragun",
            meta("responses", [{"text": "x", "citations": []}], metadata={"use_starter_kit": None}),
            ["error: line 1: metadata.use_starter_kit has no value [metadata.use_starter_kit: missing]"],
        ),
        (
            "rag-2025",
            meta("answer", [{"text": "x", "citations": ["a"]}], references=["a", "a"]),
            ["warning: line 1: references has a document twice [a]"],
        ),
        (
            "ragtime",
            meta("responses", [{"text": "x", "citations": []}])
            + meta("responses", [], metadata={"topic_id": "T2"}),
            ["warning: line 2: responses has no sentences []"],
        ),
    ],
)
def test_forms_of_2025_are_as_strict_as_their_verifier(form: str, line: str, expected: list[str]) -> None:
    assert complaints(check(line, protocol(form))) == expected


def verdict_of_rag_2026(row: dict[str, Any], narrative: str) -> str:
    """The verdict on a row, next to an answer to another topic, because a file without any answer is refused."""
    other = meta(
        "answer",
        [{"text": "x", "citations": []}],
        references=[],
        metadata={
            "narrative_id": "made-2",
            "narrative": "Why?",
            "run_desc": "x",
            "run_id": row["metadata"]["run_id"],
        },
    )
    is_shard = re.compile(rb"shard_\d+_\d+").fullmatch

    def units(docnos: Any) -> Any:
        return np.array([FIT if is_shard(docno) else ABSENT for docno in docnos.tolist()], np.uint8)

    checked = check(
        json.dumps(row, ensure_ascii=False) + "\n" + other,
        protocol("rag-2026", max_words=1024, max_run_id=20),
        topics=["made-1", "made-2"],
        narratives={"made-1": narrative},
        units=units,
    )

    warnings = [each for each in checked.report.warnings if each.code != "missing-topics"]
    return "reject" if checked.report.errors else "warn" if warnings else "accept"


def test_rag_2026_has_the_verdicts_of_its_rules(data: Path) -> None:
    """The rows of the track's verifier, with the verdicts that the rules demand: their names begin with them."""
    folder = data / "judges/formats"
    narrative = (folder / "narratives.tsv").read_text().strip().split("\t")[1]
    lines = (folder / "rag-2026-cases.jsonl").read_text().splitlines()
    cases = {case["case"]: case["row"] for case in map(json.loads, lines)}
    words = {"valid": "accept", "bad": "reject", "warn": "warn"}
    expected = {name: words.get(name.split("_")[0], "reject") for name in cases}
    expected["open_same_citation_twice"] = "warn"

    assert len(cases) == 27
    assert {name: verdict_of_rag_2026(row, narrative) for name, row in cases.items()} == expected


@pytest.mark.parametrize(
    ("references", "citations", "verdict"),
    [
        (["shard_00007_1"], ["shard_00007_1"], "accept"),
        (["shard_00007_1", "shard_00007_1"], [0], "warn"),
        (["shard_00007_1"], [1], "reject"),
        (["another_7"], [0], "reject"),
    ],
)
def test_citations_of_rag_2026_are_checked(
    references: list[str], citations: list[str | int], verdict: str
) -> None:
    narrative = "How old is the tower?"
    facts = {"team_id": "a", "narrative_id": "made-1", "narrative": narrative, "run_id": "b", "run_desc": "c"}
    answer = [{"text": "Its age.", "citations": citations}]

    row = {"metadata": facts, "references": references, "answer": answer}
    assert verdict_of_rag_2026(row, narrative) == verdict


@pytest.mark.parametrize("form", ANSWER_FORMATS)
def test_example_and_sample_run_of_every_form_are_accepted(form: str) -> None:
    rules = protocol(form)
    ending, sample = sample_run(rules, ["T1", "T2"], placeholders(rules))

    assert ending == "jsonl"
    assert complaints(check(sample, rules)) == []
    assert complaints(check(EXAMPLES[form] + "\n", rules)) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[1]", "error: line 2: the line is not a JSON object []"),
        (
            "{",
            "error: line 2: the line is not JSON [column 2: Expecting property name enclosed in double quotes]",
        ),
        ('{"run_id": NaN}', "error: line 2: the line is not JSON []"),
        ("[" * 100_000, "error: line 2: the line is not JSON []"),
        (
            answer_line("T1", [("x", [])], run_id=None),
            "error: line 2: run_id is not a name [run_id: missing]",
        ),
        (answer_line("T 1", [("x", [])]), 'error: line 2: topic_id is not a name [topic_id: "T 1"]'),
        (
            answer_line("T9", [("x", ["d1"])]),
            "error: line 2: the topic already has an answer [T9 is first in line 1]",
        ),
        (answer_line("T1", []), "error: line 2: answer has 0 sentences []"),
        (answer_line("T1", [], answer=7), "error: line 2: answer is not a list []"),
        (answer_line("T1", [(" ", [])]), "error: line 2: a sentence has no text [answer[0].text]"),
        (answer_line("T1", [], answer=["x"]), "error: line 2: a sentence has no text [answer[0].text]"),
        (
            answer_line("T1", [("x", ["a", "b"])], references=["a"]),
            "error: line 2: a citation is not in the list of references [answer[0].citations[1]: 1; references has 1]",
        ),
        (
            answer_line("T1", [], references=["a"], answer=[{"text": "x", "citations": ["a"]}]),
            'error: line 2: a citation is not accepted [answer[0].citations[0]: "a"]',
        ),
        (
            answer_line("T1", [], answer=[{"text": "x", "citations": True}]),
            "error: line 2: citations are not a list [answer[0].citations]",
        ),
        (
            answer_line("T1", [("x", ["a b"])]),
            'error: line 2: an id of a document is not accepted [references[0]: "a b"]',
        ),
        (
            answer_line("T1", [("x", ["a"])], references=["a", "b", "a"]),
            "error: line 2: references has a document twice [a]",
        ),
        (
            answer_line("T1", [], references=["a"], answer=[{"text": "x", "citations": [0, 0]}]),
            "warning: line 2: a sentence cites a document twice [answer[0].citations]",
        ),
        (answer_line("T1", [("x", [])], tag="other"), "error: lines 1, 2: the file has 2 tags"),
    ],
)
def test_wrong_line_is_named_with_its_key(line: str, expected: str) -> None:
    messages = complaints(check(answer_line("T9", [("x", [])]) + line + "\n"))

    assert len(messages) == 1
    assert messages[0].startswith(expected)


@pytest.mark.parametrize(
    ("line", "options", "expected"),
    [
        (
            meta("responses", [], metadata={"type": "both"}),
            {},
            'error: line 1: metadata.type is not a kind of run ["both"]',
        ),
        (
            "",
            {"kind": "manual"},
            "error: line 1: the file is of automatic answers, but the run is submitted as manual []",
        ),
        ("", {"team": "two"}, "warning: line 1: metadata.team_id is not the team that submits [one]"),
        ("", {"topics": ["T2"]}, "error: line 1: unknown topic “T1” []"),
        (
            "",
            {"units": lambda docnos: (docnos == b"d8") * ABSENT},
            "error: line 1: the document is not in the collection []",
        ),
        (
            meta("responses", [{"text": "x", "citations": {"d": "high"}}]),
            {},
            'error: line 1: a confidence is not a number [responses[0].citations.d: "high"]',
        ),
    ],
)
def test_run_is_checked_against_what_is_known(line: str, options: dict[str, Any], expected: str) -> None:
    good = meta("responses", [{"text": "x", "citations": ["d8"]}])
    form = "ragtime" if "high" in line else "dragun"

    messages = complaints(check(line or good, protocol(form), **options))

    assert expected in messages


def test_bad_citation_hides_no_other_error_of_its_answer() -> None:
    answer = [
        {"text": "one two three", "citations": ["d2", 5, None, 0]},
        {"text": " ", "citations": []},
        {"text": "four five", "citations": 7},
    ]
    line = answer_line("T7", [], references=["d1", "d 2"], answer=answer, run_id="o" * 30)

    messages = complaints(check(line, protocol("rag-2024", max_characters=20, max_run_id=25), topics=["T1"]))

    assert [message.partition(" [")[0] for message in messages] == [
        "error: line 1: run_id has more than 25 characters",
        "error: line 1: an id of a document is not accepted",
        "error: line 1: a citation is not accepted",
        "error: line 1: a citation is not in the list of references",
        "error: line 1: a sentence has no text",
        "error: line 1: citations are not a list",
        "error: line 1: the answer has too many characters",
        "error: line 1: unknown topic “T7”",
        "warning: no line for 1 of 1 topic: T1",
    ]


@pytest.mark.parametrize(
    ("data", "limits", "message"),
    [
        (b" \n", Limits(), "The file has no answer."),
        (b"\x81\n", Limits(), "line 1: the line is not UTF-8"),
        (answer_run() * 2, Limits(max_lines=2), "The file has more than 4 lines."),
        (b'{"x": "' + b"x" * (1 << 20) + b'"}', Limits(), "line 1: the line has more than 1,048,576 bytes"),
        (
            answer_line("T1", [("x", [])]).replace('"x"', r'"\ud800"').encode(),
            Limits(),
            "line 1: a sentence has no text",
        ),
        (b"T1 Q0 d1 1 0.5 owls\n", Limits(), "line 1: the line is not JSON"),
        (b"<results/>", Limits(), "line 1: the line is not JSON"),
    ],
    ids=["empty", "no encoding", "lines", "long line", "surrogate", "TREC", "XML"],
)
def test_file_of_another_form_is_refused(data: bytes, limits: Limits, message: str) -> None:
    checked = check(data, limits=limits)

    assert checked.columns is None
    assert [str(error) for error in checked.report.errors][-1] == message


@pytest.mark.parametrize(
    ("form", "citations", "message"),
    [
        ("rag-2025", ["d9"], "a citation is not in the list of references [answer[0].citations[0]: d9]"),
        (
            "rag-2025",
            [1],
            "a citation is not in the list of references [answer[0].citations[0]: 1; references has 1]",
        ),
        ("dragun", ["d 1"], 'an id of a document is not accepted [responses[0].citations[0]: "d 1"]'),
        ("dragun", [0], "a citation is not accepted [responses[0].citations[0]: 0]"),
    ],
)
def test_citation_must_be_as_the_form_says(form: str, citations: list[Any], message: str) -> None:
    key = "answer" if form == "rag-2025" else "responses"
    line = meta(key, [{"text": "x", "citations": citations}], references=["d1"])

    assert complaints(check(line, protocol(form))) == [f"error: line 1: {message}"]


def test_file_of_both_kinds_is_refused() -> None:
    sentences = [{"text": "x", "citations": []}]
    both = meta("responses", sentences) + meta(
        "responses", sentences, metadata={"type": "manual", "topic_id": "T2"}
    )

    assert "error: lines 1, 2: the file has automatic and manual answers [; ]" in complaints(
        check(both, protocol("dragun"))
    )


def test_topics_without_an_answer_are_named() -> None:
    (warning,) = check(answer_run(), topics=["T1", "T2", "T7"]).report.warnings

    assert warning.message == "no line for 1 of 3 topics: T7"


def test_cut_leaves_out_sentences_from_the_end_and_references_beyond_the_limit() -> None:
    long = answer_line("T1", OWLS["T1"], references=["d1", "d1", "d2", "d3"])

    checked = check(long, protocol(max_characters=39))

    assert [error.code for error in checked.report.errors] == ["repeated-reference", "too-many-characters"]
    cut = checked.repaired()
    assert cut is not None
    content = json.loads(cut)
    assert content["references"] == ["d1", "d2", "d3"]
    assert content["answer"] == [
        {"text": "Owls sing at night.", "citations": [0]},
        {"text": "They nest in barns.", "citations": []},
    ]
    assert complaints(check(cut, protocol(max_characters=39))) == []


def test_answer_whose_first_sentence_is_too_long_cannot_be_cut() -> None:
    assert check(answer_line("T1", OWLS["T1"][:1]), protocol(max_characters=5)).repaired() is None


def test_answers_of_a_stored_run_are_read_again() -> None:
    answers = read_answers(BytesIO(answer_run()), protocol(max_characters=5), name="run")

    assert list(answers) == ["T1", "T2"]
    with pytest.raises(InputError, match="run: line 1: the line is not JSON"):
        read_answers(BytesIO(b"x"), protocol(), name="run")


def test_cited_documents_become_a_run_of_trec() -> None:
    lines = cited_run(check(answer_run()).answers, "owls").decode().splitlines()

    assert lines == ["T1 Q0 d1 1 -1 owls", "T1 Q0 d2 2 -2 owls", "T1 Q0 d3 3 -3 owls", "T2 Q0 d4 1 -1 owls"]


def test_collection_that_has_all_documents_is_fine() -> None:
    checked = check(answer_run(), units=lambda docnos: (docnos == b"none") * ABSENT + FIT)

    assert checked.report.is_acceptable


RUN = samples.path("runs/bolt-owls.xml").read_text()
OWL = 'thread="bolt-eng-DF-1-101" post="p2" offset="80" length="27">I love the song of the owl.'


def checked(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    run = tmp_path / "run.xml"
    run.write_text(text)
    posts = str(samples.path("bolt-threads.xml"))

    status = main(["check", "--protocol", "bolt-ir-p3", "--posts", posts, str(run)])

    return status, capsys.readouterr().out


def test_the_sample_cites_what_its_posts_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """English with entities and tags inside, and translations from Arabic and Chinese."""
    status, printed = checked(tmp_path, RUN, capsys)

    assert status == 0
    assert "accepted, 0 errors, 0 warnings" in printed


@pytest.mark.parametrize(
    ("new", "message", "note"),
    [
        (OWL.replace("p2", "p9"), "line 4: the post is not in the collection", "bolt-eng-DF-1-101:p9"),
        (
            OWL.replace('"80"', '"250"'),
            "line 4: the citation is not inside its post",
            "characters 250 to 276 of a post of 221",
        ),
        (
            OWL.replace('"80"', '"81"'),
            "line 4: the passage differs from its post",
            "the post has “love the song of the owl.”",
        ),
        (
            OWL.replace("love", "like"),
            "line 4: the passage differs from its post",
            "I love the song of the owl.",
        ),
    ],
)
def test_wrong_spans_and_texts_are_errors_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], new: str, message: str, note: str
) -> None:
    status, printed = checked(tmp_path, RUN.replace(OWL, new), capsys)

    assert status == 1
    assert message in printed
    assert note in printed


def test_original_is_the_text_of_the_post_in_any_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passage, words = "Owls eat rats, which is good for the warehouse.", "猫头鹰吃老鼠，对仓库很好。"
    element = f"<relspan>{passage}</relspan><original> {words}\n</original>"

    status, _ = checked(tmp_path, RUN.replace(passage, element), capsys)
    assert status == 0
    status, _ = checked(tmp_path, RUN.replace('length="13">', f'length="13" original="{words}">'), capsys)
    assert status == 0
    status, printed = checked(tmp_path, RUN.replace(passage, element.replace("老鼠", "米饭")), capsys)
    assert status == 1
    assert "line 13: the original differs from its post" in printed
    assert f"the post has “{words}”" in printed


def test_white_space_counts_once_and_a_translation_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RUN.replace("I love the song", "I love\n   the song").replace("I am afraid", "He is afraid")

    assert checked(tmp_path, text, capsys)[0] == 0


def test_a_file_that_is_not_a_forum_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "posts.xml"
    wrong.write_text("<html/>")

    assert main(["check", "--protocol", "bolt-ir-p3", "--posts", str(wrong), str(wrong)]) == 2
    assert "posts.xml: The file is a web page." in capsys.readouterr().err
