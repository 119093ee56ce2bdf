"""Projects of Label Studio become labs and votes, and rows and votes become projects of Label Studio."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.preferences.votes import read_votes
from assay.protocols.loader import load_protocol
from tests.helpers.row_scenes import MARKED

CONFIG, TASKS = samples.path("label-studio/config.xml"), samples.path("label-studio/tasks.json")
PAIRS = (samples.path("label-studio/pairs.xml"), samples.path("label-studio/pairs.json"))
ANSWERS = {
    "adequacy": "some", "errors": ["term", "number"], "wrong": [{"start": 0, "length": 4, "choice": "added"}],
    "fluent": "no", "better": "Hi\nyou",
}  # fmt: skip
QUOTED = json.dumps(ANSWERS).replace('"', '""')
JUDGED = f"""topic,docno,assessor,choice,answers,judged_at,seconds,source
films,f1,ann,answered,"{QUOTED}",2026-11-23T09:00:12+00:00,7,assay
films,f1,7,broken,{{}},2026-11-23T09:00:13+00:00,2,assay
"""


def imported(folder: Path, config: Path = CONFIG, tasks: Path = TASKS) -> Path:
    assert main(["label-studio", "import", str(config), str(tasks), "--to", str(folder)]) == 0
    return folder


def exported(lab: Path, folder: Path, *options: str) -> Path:
    names = ("--protocol", str(lab / "lab.toml"), "--rows", str(lab / "rows.csv"))
    assert main(["label-studio", "export", *names, *options, "--to", str(folder)]) == 0
    return folder


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str], *, config: str = "", tasks: str = "") -> str:
    """The message of `import` about a file that cannot be used."""
    paths = (tmp_path / "config.xml", tmp_path / "tasks.json")
    paths[0].write_text(config or CONFIG.read_text(), encoding="utf-8", errors="surrogatepass")
    paths[1].write_text(tasks or TASKS.read_text(), encoding="utf-8")

    status = main(["label-studio", "import", *map(str, paths), "--to", str(tmp_path / "lab")])

    assert (status, (tmp_path / "lab").exists()) == (2, False)
    return capsys.readouterr().err


def test_controls_are_questions_and_others_are_named_with_their_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = imported(tmp_path / "answers")

    printed = capsys.readouterr().out
    protocol = load_protocol(str(folder / "lab.toml"))
    questions = {question.key: question for question in protocol.judging.questions}
    assert "line 21: why (TextArea) has no counterpart; its results are left out" in printed
    assert "left out: predictions, because only people judge: 1" in printed
    assert [(key, each.kind, each.required) for key, each in questions.items()] == [
        ("quality", "one-of", True),
        ("kind", "one-of", False),
        ("faults", "any-of", False),
        ("facts", "number", False),
        ("remark", "text", False),
        ("terms", "span", False),
    ]
    assert questions["terms"].field == "answer"
    assert [choice.value for choice in questions["quality"].choices] == [1, 2, 3, 4]
    assert questions["faults"].after == ("kind:definition",)
    assert questions["faults"].choices[0].definition == "It does not say enough."
    assert (questions["facts"].min, questions["facts"].max) == (0, 20)
    assert questions["kind"].labels == {"definition": "A definition", "opinion": "An opinion"}
    assert protocol.judging.form is not None
    assert protocol.judging.form.html.startswith("<h3>Answers to questions about search</h3>\n<p>${question}")


def test_annotations_are_judgments_and_a_skipped_task_is_a_non_answer(tmp_path: Path) -> None:
    folder = imported(tmp_path / "answers")

    ann, four, skipped = table(folder / "judgments.csv")
    assert [row["docno"] for row in table(folder / "rows.csv")] == ["11", "12"]
    assert (ann["assessor"], ann["judged_at"], ann["seconds"], ann["kind"]) == (
        "ann@example.org", "2026-11-23T09:00:12.250000+00:00", "12", "dual"
    )  # fmt: skip
    assert json.loads(ann["answers"]) == {
        "quality": "3", "kind": "definition", "faults": ["vague"], "facts": "2",
        "terms": [{"start": 5, "length": 5, "choice": "term"}],
    }  # fmt: skip
    assert json.loads(four["answers"]) == {"quality": "4", "remark": "clear é\nshort"}
    assert (skipped["assessor"], skipped["choice"], skipped["answers"]) == ("4", "skipped", "{}")


def test_a_lab_goes_to_label_studio_and_comes_back_equal(tmp_path: Path) -> None:
    lab = imported(tmp_path / "answers")
    there = exported(lab, tmp_path / "there", "--judgments", str(lab / "judgments.csv"))
    back = imported(tmp_path / "back" / "answers", there / "config.xml", there / "tasks.json")

    first, second = (load_protocol(str(folder / "lab.toml")).judging for folder in (lab, back))
    assert first.questions == second.questions
    assert first.non_answers == second.non_answers
    for name in ("rows.csv", "judgments.csv"):
        assert (lab / name).read_bytes() == (back / name).read_bytes()
    again = exported(back, tmp_path / "again", "--judgments", str(back / "judgments.csv"))
    for name in ("config.xml", "tasks.json"):
        assert (there / name).read_bytes() == (again / name).read_bytes()


def test_rows_that_assay_judged_come_back_with_their_judgments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "lab.toml").write_text(MARKED)
    (lab / "rows.csv").write_text(samples.path("captions.csv").read_text())
    (lab / "judgments.csv").write_text(JUDGED)

    there = exported(lab, tmp_path / "there", "--judgments", str(lab / "judgments.csv"))
    back = imported(tmp_path / "back", there / "config.xml", there / "tasks.json")

    assert table(back / "rows.csv") == table(lab / "rows.csv")
    given, returned = table(lab / "judgments.csv"), table(back / "judgments.csv")
    columns = ("topic", "docno", "assessor", "judged_at", "seconds")
    assert [[row[name] for name in columns] for row in returned] == [
        [row[name] for name in columns] for row in given
    ]
    assert [json.loads(row["answers"]) for row in returned] == [json.loads(row["answers"]) for row in given]
    assert [row["choice"] for row in returned] == ["answered", "skipped"]
    kinds = [
        (each.key, each.kind, each.after) for each in load_protocol(str(back / "lab.toml")).judging.questions
    ]
    expected = load_protocol(str(lab / "lab.toml")).judging.questions
    assert kinds == [(each.key, each.kind, each.after) for each in expected]


def test_grades_are_choices_of_a_control(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = tmp_path / "lab"
    lab.mkdir()
    grades = (
        'grade = [{ key = "no", value = 0, label = "No", definition = "Not.", shortcut = "0" },\n'
        '  { key = "yes", value = 1, label = "Yes", definition = "It is.", shortcut = "1" }]\n'
    )
    text = samples.path("captions-lab.toml").read_text().replace("judges = 2\n", f"judges = 2\n{grades}")
    (lab / "lab.toml").write_text(text.replace('["adequacy:none", "adequacy:some"]', '["no"]').replace(
        'kind = "yes-no"', 'kind = "ranking"\nchoice = [{ key = "a", label = "A" }, { key = "b", label = "B" }]'
    ).replace('after = ["fluent:no"]', 'after_all = ["yes", "adequacy:all"]'))  # fmt: skip
    (lab / "rows.csv").write_text(samples.path("captions.csv").read_text())
    (lab / "judgments.csv").write_text("topic,docno,assessor,choice,answers\nfilms,f1,ann,yes,{}\n")

    folder = exported(lab, tmp_path / "there", "--judgments", str(lab / "judgments.csv"))

    printed, config = capsys.readouterr().out, (folder / "config.xml").read_text()
    [annotation] = json.loads((folder / "tasks.json").read_text())[0]["annotations"]
    assert annotation["result"][0]["value"] == {"choices": ["yes"]}
    assert annotation["result"][0]["from_name"] == "grade"
    assert 'whenTagName="grade" whenChoiceValue="no"' in config
    assert "fluent (ranking) has no counterpart and is left out" in printed
    assert "better is asked always; its conditions have no counterpart" in printed


def test_pairs_become_votes_and_equal_texts_are_one_document(tmp_path: Path) -> None:
    folder = imported(tmp_path / "pairs", *PAIRS)

    assert [path.name for path in sorted(folder.iterdir())] == ["documents.jsonl", "votes.txt"]
    assert [tuple(vote) for vote in read_votes(str(folder / "votes.txt"))] == [
        ("A.1", "document-1", "document-2", "document-1", "3"),
        ("A.1", "document-1", "document-2", "tie", "4"),
        ("A.1", "document-3", "document-1", "document-1", "3"),
    ]
    assert json.loads((folder / "documents.jsonl").read_text().splitlines()[0]) == {
        "docno": "document-1", "text": "Units to judge."
    }  # fmt: skip


@pytest.mark.parametrize("documents", [[], ["--documents", "documents.jsonl"]])
def test_votes_go_to_label_studio_and_come_back_equal(tmp_path: Path, documents: list[str]) -> None:
    votes = samples.path("votes.txt")
    options = [word if word.startswith("--") else str(samples.path(word)) for word in documents]

    assert (
        main(["label-studio", "export", "--votes", str(votes), *options, "--to", str(tmp_path / "there")])
        == 0
    )
    back = imported(tmp_path / "back", tmp_path / "there" / "config.xml", tmp_path / "there" / "tasks.json")

    assert sorted(read_votes(str(back / "votes.txt"))) == sorted(read_votes(str(votes)))
    assert ("<HyperText" in (tmp_path / "there" / "config.xml").read_text()) == bool(documents)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"rating": 3',
            '"rating": 9',
            "line 2: [0].annotations[0].result[0].value.rating: '9' is not a choice of",
        ),
        (
            '["definition"]',
            '["joke"]',
            "annotations[0].result[1].value.choices: 'joke' is not a choice of kind; use",
        ),
        ('["definition"]', '["definition", "opinion"]', "value.choices: expected one choice, got 2"),
        ('["definition"]', "[[1]]", "value.choices: expected a list of texts, got [[1]]"),
        ('"number": 2', '"number": true', "value.number: expected a number of at most 15 digits"),
        (
            '"from_name": "kind"',
            '"from_name": "mood"',
            "result[1].from_name: 'mood' is not a control of the config",
        ),
        ('"from_name": "kind"', '"from_name": "quality"', "result[1].from_name: quality is answered twice"),
        (
            '"completed_by": 4, "was_cancelled": true',
            '"x": 1',
            "line 17: [1].annotations[0].completed_by: expected",
        ),
        (
            '"lead_time": 3.1',
            '"lead_time": -3',
            "[1].annotations[0].lead_time: expected a number of seconds, got -3",
        ),
        ('"2026-11-23T10:01:00Z"', '"yesterday"', "created_at: expected a time such as 2026-11-24T12:53:17Z"),
        ('"answer": "Un', '"reply": "Un', "line 17: [1].data.answer: missing; the configuration shows it"),
        ('"id": 12', '"id": 11', "[1]: rows 11 is there already, in line 2: [0]"),
        ('"annotations": [', '"annotations": 7, "x": [', "[0].annotations: expected a list, got 7"),
        ('"data": {', '"annotation_id": {', "[0].data: missing, because this is the export JSON-MIN"),
        ("[\n{", "{\n{", "tasks.json: line 1: expected a list of tasks"),
        ('{"id": 12', "[" * 9_000, "line 17: not a JSON object"),
        ("À quoi", "À\x01quoi", "line 17: not a JSON object"),
    ],
)
def test_wrong_task_is_named_with_line_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    assert message in refusal(tmp_path, capsys, tasks=TASKS.read_text().replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</View>", "", "config.xml: line 23: not XML"),
        (
            "<View>",
            '<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/passwd">]><View>',
            "line 1: a document type is not accepted",
        ),
        ('name="kind"', 'name="quality"', "line 9: the name 'quality' is used in line 7 already"),
        ('<Number name="facts"', "<Number", "line 19: Number has no name"),
        ("<View>", "<View>" + "x" * 200_001, "bytes; a configuration has at most 200,000"),
        (
            "<Labels",
            '<Pairwise name="p" toName="answer"/><Labels',
            "line 21: p (Pairwise) compares answer; toName",
        ),
    ],
)
def test_wrong_configuration_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    assert message in refusal(tmp_path, capsys, config=CONFIG.read_text().replace(old, new, 1))


def test_configuration_without_questions_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = '<View><Text name="t" value="$a"/><Labels name="l" toName="t"/></View>'

    message = refusal(tmp_path, capsys, config=config)

    assert "no control has a counterpart; accepted: Choices, Rating, Number, TextArea and Pairwise" in message
    assert "line 1: l (Labels) has no counterpart" in message


@pytest.mark.parametrize(
    ("control", "note"),
    [
        ('<Rating name="x" toName="t" maxRating="99"/>', "x (Rating) has no counterpart"),
        ('<Choices name="x" toName="t"><Choice value="one"/></Choices>', "x (Choices) has no counterpart"),
        ('<Choices name="x" toName="t" value="$list"/>', "x (Choices) has no counterpart"),
        ('<TextArea name="x" toName="t" perRegion="true"/>', "x (TextArea) has no counterpart"),
        (
            '<Choices name="x" toName="t"><Choice value="a"><Choice value="b"/></Choice></Choices>',
            "x (Choices) has no counterpart",
        ),
        ('<TextArea name="x" toName="t" visibleWhen="region-selected"/>', "x (TextArea) is asked always"),
        ('<Image name="x" value="$a"/>', "x (Image) is not shown; the page has its value as text"),
        ('<HyperText name="x" value="$a"/>', "x (HyperText) is shown as text, not as HTML"),
        ('<Text name="x" value="$a[0]"/>', "x (Text) shows a part of a value, $a[0]"),
    ],
)
def test_what_has_no_counterpart_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], control: str, note: str
) -> None:
    config, tasks = tmp_path / "config.xml", tmp_path / "tasks.json"
    config.write_text(f'<View><Text name="t" value="$a"/>\n<Number name="n" toName="t"/>\n{control}</View>')
    tasks.write_text('[{"data": {"a": {"b": 1}, "c-": null}}]')

    folder = imported(tmp_path / "lab", config, tasks)

    printed = capsys.readouterr().out
    assert f"line 3: {note}" in printed
    assert "data.c- cannot be a field, and is left out" in printed
    assert table(folder / "rows.csv") == [{"topic": "rows", "docno": "1", "a": '{"b": 1}'}]


def test_values_cannot_add_controls_or_places(tmp_path: Path) -> None:
    config, tasks = tmp_path / "config.xml", tmp_path / "tasks.json"
    config.write_text(
        '<View><Header value="&lt;script&gt;${question.n} costs $5"/><Text name="t" value="$a"/>'
        '<Number name="n" toName="t"/></View>'
    )
    tasks.write_text('[{"data": {"a": "${question.n}"}}]')

    folder = imported(tmp_path / "lab", config, tasks)

    form = load_protocol(str(folder / "lab.toml")).judging.form
    assert form is not None
    assert form.html.startswith("<h3>&lt;script&gt;&#36;{question.n} costs &#36;5</h3>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --protocol and --rows, or --votes"),
        (["--votes", "votes.txt", "--judgments", "judgments.csv"], "--judgments has no effect with --votes"),
        (["--votes", "votes.txt", "--documents", "votes.txt"], "line 1: expected an object with docno"),
        (["--protocol", "pairs-lab.toml", "--rows", "captions.csv"], "captions.csv has errors"),
        (
            ["--protocol", "captions-lab.toml", "--rows", "captions.csv", "--judgments", "judgments.csv"],
            "is not in the table",
        ),
    ],
)
def test_export_refuses_what_it_cannot_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    given = [word if word.startswith("--") else str(samples.path(word)) for word in options]

    status = main(["label-studio", "export", *given, "--to", str(tmp_path / "there")])

    assert (status, message in capsys.readouterr().err) == (2, True)
    assert not (tmp_path / "there").exists()


def test_last_annotation_of_a_person_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = tmp_path / "tasks.json"
    tasks.write_text(
        TASKS.read_text().replace('"completed_by": 4', '"completed_by": {"email": "ann@example.org"}')
    )

    folder = imported(tmp_path / "lab", CONFIG, tasks)

    assert "left out: annotations of people who annotated the task again: 1" in capsys.readouterr().out
    assert [json.loads(row["answers"]).get("quality") for row in table(folder / "judgments.csv")] == [
        "4",
        None,
    ]


def test_annotation_by_nobody_and_half_a_surrogate_pair_are_kept_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = tmp_path / "tasks.json"
    text = TASKS.read_text().replace('"completed_by": 4', '"completed_by": null')
    tasks.write_text(text.replace('"question": "À', '"question": "\\ud83d', 1))

    folder = imported(tmp_path / "lab", CONFIG, tasks)

    shown = capsys.readouterr().out
    n = tasks.read_text().count('"completed_by": null')
    assert f"annotations without an annotator, who is called unknown: {n}" in shown
    assert "texts with half of a surrogate pair, which is U+FFFD now: 1" in shown
    assert "unknown" in {row["assessor"] for row in table(folder / "judgments.csv")}
    assert any("\ufffd quoi" in text for row in table(folder / "rows.csv") for text in row.values())


SPANS = (samples.path("label-studio/spans.xml"), samples.path("label-studio/spans.json"))


def test_regions_that_label_studio_exported_are_parts_of_the_text(tmp_path: Path) -> None:
    """The sample is what Label Studio 1.23.2 wrote: it counts characters, also those outside the first plane."""
    folder = imported(tmp_path / "spans", *SPANS)

    [row], [judgment] = table(folder / "rows.csv"), table(folder / "judgments.csv")
    answers = json.loads(judgment["answers"])
    text = row["translation"]
    assert [text[each["start"] :][: each["length"]] for each in answers["wrong"]] == ["sitzt", "Matte"]
    assert [each["choice"] for each in answers["wrong"]] == ["omitted", "Added"]
    assert answers["fluent"] == "yes"
    there = exported(folder, tmp_path / "there", "--judgments", str(folder / "judgments.csv"))
    [task], [given] = (json.loads(path.read_text()) for path in (there / "tasks.json", SPANS[1]))
    keys = ("from_name", "to_name", "type", "value")
    results = [
        [[each[key] for key in keys] for each in of["annotations"][0]["result"]] for of in (task, given)
    ]
    assert sorted(results[0], key=str) == sorted(results[1], key=str)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"text": "sitzt"',
            '"text": "liegt"',
            ".result[0].value.text: translation has 'sitzt' from 12 to 17",
        ),
        ('"end": 31', '"end": 99', ".result[1].value: start 26 and end 99 are not characters of translation"),
        ('"start": 12', '"start": "/p[1]"', ".result[0].value: start '/p[1]' and end 17 are not characters"),
        ('"omitted"', '"new"', ".result[0].value.labels: 'new' is not a choice of wrong; use omitted, Added"),
    ],
)
def test_region_that_is_not_in_the_text_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    tasks = SPANS[1].read_text()
    assert old in tasks

    assert message in refusal(tmp_path, capsys, config=SPANS[0].read_text(), tasks=tasks.replace(old, new))


def test_overlapping_regions_of_a_label_become_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = tmp_path / "tasks.json"
    changed = SPANS[1].read_text().replace('"start": 26', '"start": 15').replace('"Added"', '"omitted"')
    tasks.write_text(changed.replace('"text": "Matte",', ""))

    folder = imported(tmp_path / "lab", SPANS[0], tasks)

    [judgment] = table(folder / "judgments.csv")
    assert json.loads(judgment["answers"])["wrong"] == [{"start": 12, "length": 19, "choice": "omitted"}]
    assert "became one with another region of the same label: 1" in capsys.readouterr().out


def test_comparison_that_label_studio_exported_is_a_vote(tmp_path: Path) -> None:
    """As the editor of Label Studio 1.23.2 wrote it: the object of a comparison is the control itself."""
    result = (
        '{"value": {"selected": "right"}, "id": "TlQoGmzAyh", "from_name": "better", "to_name": "better", '
        '"type": "pairwise", "origin": "manual"}'
    )
    task = (
        '[{"id": 21, "data": {"topic": "A.1", "first": "Ein Satz.", "second": "Units to judge."}, "annotations": '
        f'[{{"id": 17, "completed_by": 1, "was_cancelled": false, "lead_time": 8.4, "result": [{result}]}}]}}]'
    )
    (tmp_path / "tasks.json").write_text(task)

    folder = imported(tmp_path / "votes", PAIRS[0], tmp_path / "tasks.json")

    [vote] = read_votes(str(folder / "votes.txt"))
    assert (vote.winner, vote.assessor) == ("document-2", "1")
    there = tmp_path / "there"
    documents = str(folder / "documents.jsonl")
    words = ("export", "--votes", str(folder / "votes.txt"), "--documents", documents, "--to", str(there))
    assert main(["label-studio", *words]) == 0
    [written] = json.loads((there / "tasks.json").read_text())
    kept = {key: value for key, value in json.loads(result).items() if key in {"value", "type"}}
    [returned] = written["annotations"][0]["result"]
    assert {key: returned[key] for key in kept} == kept
    assert returned["from_name"] == returned["to_name"]
