"""`assay candidates`: reading, conditions, samples by quotas, and topics; through the command and its files."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.formats.topics.reader import read_topics
from assay.samples import path
from assay_extensions.baselines.linked_posts import read_questions

CANDIDATES = str(path("candidates.jsonl"))
ROWS = [json.loads(line) for line in path("candidates.jsonl").read_text().splitlines()]


def sample(folder: Path, *options: str, candidates: str = CANDIDATES) -> dict[str, Any]:
    assert main(["candidates", "sample", candidates, "--quiet", "--output", str(folder / "s"), *options]) == 0
    record: dict[str, Any] = json.loads((folder / "s").read_bytes())
    return record


def ids(record: dict[str, Any]) -> list[str]:
    return [row["id"] for row in record["sample"]]


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["candidates", *words]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("score=7", lambda row: row["score"] == 7),
        ("score=7..", lambda row: row["score"] >= 7),
        ("score=..7", lambda row: row["score"] <= 7),
        ("answers=2..3", lambda row: 2 <= row["answers"] <= 3),
        ("formulas=4..", lambda row: row["formulas"] >= 4),
        ("duplicates=0", lambda row: not row["duplicates"]),
        ("related=1..", lambda row: row["related"]),
        ("linked=1..", lambda row: row["duplicates"] or row["related"]),
        ("linked=..1", lambda row: len(row["duplicates"]) + len(row["related"]) <= 1),
        ("reputation=100..", lambda row: row["reputation"] >= 100),
        ("length=20..", lambda row: row["length"] >= 20),
        ("date=2020-02-02..2020-03-01", lambda row: "2020-02-02" <= row["date"][:10] <= "2020-03-01"),
        ("date=2020-06-06", lambda row: row["date"].startswith("2020-06-06")),
        ("tags=calculus|parity", lambda row: {"calculus", "parity"} & set(row["tags"])),
        ("tags=calculus, tags=limits", lambda row: {"calculus", "limits"} <= set(row["tags"])),
        ("text=Sum digits", lambda row: row["id"] == "9009"),
    ],
)
def test_condition_chooses_the_candidates_that_meet_it(tmp_path: Path, condition: str, is_met: Any) -> None:
    expected = {row["id"] for row in ROWS if is_met(row)}
    every = ["--quota", "1", "--per-topic", "100"]

    filtered = sample(tmp_path, "--where", condition, *every)
    stratum = sample(tmp_path, "--quota", f"1: {condition}", "--per-topic", "100")

    assert expected
    assert set(ids(filtered)) == set(ids(stratum)) == expected
    assert filtered["candidates"]["n_meeting"] == stratum["strata"][0]["available"] == len(expected)


def test_labels_of_a_file_are_conditions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("id,category\n9001,Proof\n9003,computation\n9006,concept\n")

    record = sample(tmp_path, "--labels", str(labels), "--quota", "2: category=proof|concept")
    (tmp_path / "again").write_bytes((tmp_path / "s").read_bytes())
    labels.write_text("id,category\n9001,proof\n9006,concept\n")
    changed = refusal(
        capsys, "sample", CANDIDATES, "--labels", str(labels), "--again", str(tmp_path / "again")
    )

    assert set(ids(record)) == {"9001", "9006"}
    assert "the labels are not those of" in changed


def test_sample_meets_the_quotas_in_the_order_of_the_strata(tmp_path: Path) -> None:
    record = sample(tmp_path, "--quota", "4: duplicates=1..", "--quota", "3: score=..5", "--quota", "1")

    strata = {row["id"]: row["stratum"] for row in record["sample"]}
    assert sorted(strata.values()) == [1, 1, 1, 1, 2, 2, 2, 3]
    with_duplicates = {row["id"] for row in ROWS if row["duplicates"]}
    assert all((docno in with_duplicates) == (number == 1) for docno, number in strata.items())
    assert [stratum["available"] for stratum in record["strata"]] == [8, 3, 1]


def test_sample_depends_on_seed_and_ids_only(tmp_path: Path) -> None:
    shuffled = tmp_path / "shuffled.jsonl.gz"
    lines = path("candidates.jsonl").read_bytes().splitlines(keepends=True)
    shuffled.write_bytes(gzip.compress(b"".join(reversed(lines))))

    first = ids(sample(tmp_path, "--seed", "5", "--quota", "4"))

    assert ids(sample(tmp_path, "--seed", "5", "--quota", "4", candidates=str(shuffled))) == first
    assert ids(sample(tmp_path, "--seed", "6", "--quota", "4")) != first
    assert set(first) < set(ids(sample(tmp_path, "--seed", "5", "--quota", "6")))
    assert ids(sample(tmp_path, "--seed", "5", "--quota", "2", "--per-topic", "2")) == first


def test_sample_can_be_made_again_from_the_same_candidates_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample(tmp_path, "--seed", "9", "--where", "text=why", "--quota", "1: duplicates=1..", "--per-topic", "3")
    record = tmp_path / "record"
    record.write_bytes((tmp_path / "s").read_bytes())
    packed = tmp_path / "c.gz"
    packed.write_bytes(gzip.compress(path("candidates.jsonl").read_bytes()))
    other = tmp_path / "other.jsonl"
    other.write_bytes(path("candidates.jsonl").read_bytes() + b'{"id": "1", "title": "why"}\n')

    sample(tmp_path, "--again", str(record), candidates=str(packed))
    refused = refusal(capsys, "sample", str(other), "--again", str(record))

    assert (tmp_path / "s").read_bytes() == record.read_bytes()
    assert "the candidates are not those of" in refused
    for content in (b"{}", b"x", b'{"format": "candidates-sample-1", "strata": 3}'):
        record.write_bytes(content)
        assert "is not a sample that" in refusal(capsys, "sample", CANDIDATES, "--again", str(record))
    assert "leave out --quota" in refusal(
        capsys, "sample", CANDIDATES, "--again", str(record), "--quota", "1"
    )


def test_quotas_that_cannot_be_met_are_refused_with_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    quotas = ["--quota", "8: duplicates=1..", "--quota", "5"]

    refused = refusal(capsys, "sample", CANDIDATES, "--where", "score=1..", *quotas)

    assert "11 candidates meet the conditions of all strata" in refused
    assert "8 wanted, 8 available: duplicates=1.." in refused
    assert "5 wanted, 3 available: all others" in refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give the wanted numbers of topics with --quota"),
        (["--quota", "many"], "“many” is not a quota; write a number from 1 to 100,000"),
        (["--quota", "0"], "“0” is not a quota"),
        (
            ["--quota", "3: color=red"],
            "“color=red” is not a condition; write NAME=VALUE, with a name of score,",
        ),
        (["--quota", "3: score"], "“score” is not a condition"),
        (["--quota", "3: score=high"], "score=high cannot be read; use 5, 5.., ..5 or 1..5"),
        (["--quota", "3: score=.."], "score=.. has no value"),
        (["--quota", "3: score=9..2"], "score=9..2: the first value is above the second"),
        (["--quota", "3: date=May"], "date=May cannot be read; use 2020-01-01.. or"),
        (["--quota", "3: tags=|"], "“tags=|” has no value after tags="),
    ],
)
def test_bad_settings_are_refused(capsys: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    assert words in refusal(capsys, "sample", CANDIDATES, *options)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"[]", "not a JSON object"),
        (b'{"id": "a"', "not a JSON object in UTF-8"),
        (b'{"title": "a"}', "id is missing"),
        (b'{"id": "a b", "title": "a"}', "id contains white space"),
        (b'{"id": "a"}', "a candidate has a title or a body"),
        (b'{"id": "a", "title": "a", "votes": 3}', "unknown key 'votes'; use id, date, title,"),
        (b'{"id": "a", "title": "a", "score": "3"}', "score is not a whole number"),
        (b'{"id": "a", "title": "a", "answers": -1}', "answers is below 0"),
        (b'{"id": "a", "title": "a", "duplicates": "5"}', "duplicates is not a list"),
        (b'{"id": "a", "title": "a", "tags": [5]}', "a tag is not a string"),
        (b'{"id": "a", "title": "a", "date": "yesterday"}', "date is not a date"),
        (b'{"id": "1", "title": "a"}', "candidate 1 is already in line 1"),
    ],
)
def test_line_with_an_error_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: bytes, words: str
) -> None:
    file = tmp_path / "c.jsonl"
    file.write_bytes(b'{"id": "1", "title": "One"}\n\n' + line + b'\n{"id": "2"}\n')

    refused = refusal(capsys, "show", str(file))

    assert f"  line 3: {words}" in refused
    assert "  line 4: a candidate has a title or a body" in refused


def test_file_with_many_errors_or_no_candidate_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text("x\n" * 30)
    many = refusal(capsys, "show", str(file))
    file.write_text("\n")

    assert many.count("not a JSON object") == 5
    assert "and more" in many
    assert "there are no candidates in the file" in refusal(capsys, "show", str(file))


def test_missing_counts_are_counted_in_the_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text('{"id": "1", "title": "Two $a$", "body": "<p>and $b$ and $c$</p>", "tags": ["t"]}\n')

    main(["candidates", "show", str(file), "--format", "json", "--where", "formulas=3, length=6"])

    rows = json.loads(capsys.readouterr().out)
    assert [row["max"] for row in rows["numbers"] if row["field"] == "formulas"] == [3]
    assert rows["years"] == [{"year": "without date", "candidates": 1}]
    assert rows["tags"] == [{"tag": "t", "candidates": 1}]


def test_topics_have_the_published_form_and_are_read_again(tmp_path: Path) -> None:
    candidates = tmp_path / "c.jsonl"
    body = "<p>Let\n$a$.</p>\n<p>$$b$$</p><pre><code>x\ny</code></pre>"
    rows = [{"id": str(n), "title": f"Topic $t_{n}$", "body": body, "tags": ["p", "q"]} for n in (1, 2, 3)]
    candidates.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    order = ids(sample(tmp_path, "--quota", "3", candidates=str(candidates)))
    labels, out = tmp_path / "labels.csv", tmp_path / "topics.xml"
    labels.write_text(f"id,decision\n{order[0]},accepted\n{order[1]},rejected\n{order[2]},accepted\n")

    options = ["--labels", str(labels), "--first", "A.201", "--output", str(out), "--quiet"]
    options += ["--questions", str(tmp_path / "questions.tsv")]
    assert main(["candidates", "topics", str(tmp_path / "s"), str(candidates), *options]) == 0

    text = out.read_text()
    title = f'<Title>Topic &lt;span class="math-container" id="q_1"&gt;$t_{order[0]}$&lt;/span&gt;</Title>'
    assert title in text
    assert 'id="q_3"&gt;$$b$$&lt;/span&gt;&lt;/p&gt;&lt;pre&gt;&lt;code&gt;x\ny&lt;' in text
    assert "&lt;p&gt;Let &lt;span" in text
    assert "<Tags>p,q</Tags>" in text
    topics = read_topics(out.read_bytes(), "topics.xml")
    assert [topic.code for topic in topics] == ["A.201", "A.202"]
    assert 'data-formula-id="q_6" data-display="block">b</span>' in topics[1].body
    assert topics[0].tags == ("p", "q")
    assert read_questions(tmp_path / "questions.tsv") == {"A.201": order[0], "A.202": order[2]}


def test_topics_need_a_code_and_all_candidates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample(tmp_path, "--quota", "3")
    fewer = tmp_path / "fewer.jsonl"
    fewer.write_text('{"id": "1", "title": "One"}\n')

    without = refusal(capsys, "topics", str(tmp_path / "s"), str(fewer))
    bad = refusal(capsys, "topics", str(tmp_path / "s"), CANDIDATES, "--first", "first")

    assert "lacks 3 candidates of the sample" in without
    assert "“first” is not a first code; it ends in a number" in bad
