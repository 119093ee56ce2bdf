"""Generated answers with `assay check`, `assay pool`, `assay evaluate` and `assay nuggets`.

Each test of a key of the protocol gives a command two protocol files that differ in this key.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.formats.runs.examples import EXAMPLES
from assay.nuggets.lists import Nugget
from assay.protocols.loader import load_protocol
from tests.assay.cli.test_protocol_keys import with_change
from tests.helpers.answer_runs import (
    CROWS,
    OWLS,
    Sentences,
    answer_of,
    answer_run,
    citation,
    nugget,
)
from tests.helpers.pool_files import lines_of

RAG = "trec-rag-2024"
LIMITS = "max_words = 400"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs, which have the answer to one topic in common, and a manifest."""
    (tmp_path / "owls.jsonl").write_bytes(answer_run())
    (tmp_path / "crows.jsonl").write_bytes(answer_run(CROWS, tag="crows"))
    (tmp_path / "m.csv").write_text(
        "file,team,tag,kind\nowls.jsonl,one,owls,rag\ncrows.jsonl,two,crows,rag\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (LIMITS, "max_words = 5", "T1: 11 words"),
        (LIMITS, "max_characters = 30", "T1: 54 characters"),
        ("max_references = 20", "max_references = 2", "references has more than 2 documents"),
        (LIMITS, "max_run_id = 3", "run_id has more than 3 characters"),
    ],
)
def test_run_is_refused_by_a_limit_and_accepted_without_it(
    runs: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    changed, run = with_change(runs, RAG, old, new), str(runs / "owls.jsonl")

    accepted = main(["check", "--protocol", RAG, run])
    capsys.readouterr()
    refused = main(["check", "--protocol", changed, run])

    assert (accepted, refused) == (0, 1)
    assert message in capsys.readouterr().out


def test_answer_that_is_too_long_gets_a_warning_if_the_protocol_says_so(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = with_change(runs, RAG, LIMITS, 'max_words = 5\ntoo_long = "warning"')

    assert main(["check", "--protocol", changed, str(runs / "owls.jsonl")]) == 0
    assert "warning: line 1: the answer has too many words" in capsys.readouterr().out


def test_label_of_a_topic_is_the_limit_of_its_characters(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'characters_label = "limit"'
    changed = Path(with_change(runs, RAG, LIMITS, text))
    changed.write_text(changed.read_text() + "\n[topics.labels]\nlimit = []\n")
    (runs / "labels.csv").write_text("topic,limit\nT1,53\nT2,53\n")
    options = ["check", "--protocol", str(changed), "--labels", str(runs / "labels.csv")]

    assert main([*options, str(runs / "owls.jsonl")]) == 1
    assert "T1: 54 characters" in capsys.readouterr().out
    assert main([*options, str(runs / "crows.jsonl")]) == 0
    (runs / "labels.csv").write_text("topic,limit\nT1,many\n")
    assert main([*options, str(runs / "crows.jsonl")]) == 2
    assert "'many' of topic T1 is not a number of characters" in capsys.readouterr().err


def test_run_that_is_too_long_is_cut(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = with_change(runs, RAG, LIMITS, "max_words = 8")
    options = ["check", "--protocol", changed]

    assert main([*options, "--repair", str(runs / "cut"), str(runs / "owls.jsonl")]) == 1
    assert main([*options, str(runs / "cut" / "owls.jsonl")]) == 0

    first = json.loads((runs / "cut" / "owls.jsonl").read_text().split("\n")[0])
    assert [sentence["text"] for sentence in first["answer"]] == [text for text, _ in OWLS["T1"][:2]]
    assert first["response_length"] == 8
    assert "a cut leaves out sentences from the end" in capsys.readouterr().out


def pooled(folder: Path, protocol: str, *options: str) -> list[str]:
    target = folder / "pool.tsv"
    arguments = ["--runs", str(folder / "m.csv"), "--seed", "1", "--output", str(target), "--quiet", *options]
    assert main(["pool", "--protocol", protocol, *arguments]) == 0
    return [line.split("\t")[1] for line in lines_of(target)]


def test_pool_has_as_many_citations_of_a_sentence_as_are_judged(runs: Path) -> None:
    few = pooled(runs, RAG)
    more = pooled(runs, with_change(runs, RAG, "citations = 1", "citations = 2"))

    assert set(more) - set(few) == {citation("Owls sing at night.", "d2")}
    assert few.count(citation("Owls sing at night.", "d1")) == 1  # in both runs


NUGGETS = {
    "T1": [("they sing at night", "vital"), ("they eat mice", "okay")],
    "T2": [("they sleep", "vital")],
}


@pytest.fixture
def nuggets(runs: Path) -> Path:
    """Lists of nuggets for two topics."""
    lines = [
        {"query": "?", "qid": topic, "nuggets": [{"text": text, "importance": word} for text, word in items]}
        for topic, items in NUGGETS.items()
    ]
    path = runs / "nuggets.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def assign(path: Path, run: Mapping[str, Sentences], grades: Mapping[str, str]) -> str:
    """A file with the assignments of all nuggets and first citations of a run, all with the grade of their topic."""
    lines = [
        {
            "qid": topic,
            "answer_text": answer_of(topic, sentences).text,
            "nuggets": [{"text": text, "assignment": grades[topic]} for text, _ in NUGGETS[topic]],
            "citations": [
                {"text": text, "docid": cited[0], "assignment": grades[topic]}
                for text, cited in sentences
                if cited
            ],
        }
        for topic, sentences in run.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("most = 30", "most = 1", "topic T1: 2 nuggets; at most 1 are accepted"),
        ("max_words = 12", "max_words = 3", "'they sing at night' has 4 words; at most 3 are accepted"),
    ],
)
def test_list_beyond_the_limits_of_the_protocol_has_problems(
    nuggets: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    changed = with_change(nuggets.parent, RAG, old, new)
    pool = [
        "pool",
        "--runs",
        str(nuggets.parent / "m.csv"),
        "--seed",
        "1",
        "--quiet",
        "--nuggets",
        str(nuggets),
    ]

    assert main(["nuggets", "check", str(nuggets), "--protocol", RAG]) == 0
    assert main(["nuggets", "check", str(nuggets), "--protocol", changed]) == 1
    assert message in capsys.readouterr().err
    assert main([*pool, "--protocol", RAG]) == 0
    assert main([*pool, "--protocol", changed]) == 2
    assert message in capsys.readouterr().err


def test_pool_has_the_nuggets_of_every_answer(nuggets: Path) -> None:
    units = pooled(nuggets.parent, RAG, "--nuggets", str(nuggets))

    key = Nugget("they eat mice").key
    assert {nugget("T1", key), nugget("T1", key, CROWS)} <= set(units)
    record = json.loads((nuggets.parent / "pool.tsv.json").read_text())
    assert record["nuggets"]["file"] == "nuggets.jsonl"


def test_nuggets_are_for_protocols_of_generated_answers(
    nuggets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nuggets.parent / "r.txt").write_text("T1 Q0 d1 1 1 x\n")
    (nuggets.parent / "m.csv").write_text("file,team,tag,kind\nr.txt,one,x,primary\n")
    options = ["--runs", str(nuggets.parent / "m.csv"), "--seed", "1", "--nuggets", str(nuggets)]

    assert main(["pool", "--protocol", "trec-adhoc", *options]) == 2
    assert "--nuggets is for generated answers" in capsys.readouterr().err


def test_assignments_become_qrels_and_scores(nuggets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = nuggets.parent
    owls = assign(folder / "owls.txt", OWLS, {"T1": "partial_support", "T2": "support"})
    qrels = str(folder / "qrels.txt")
    options = ["--protocol", RAG, "--nuggets", str(nuggets)]

    assert main(["nuggets", "qrels", *options, owls, "--output", qrels]) == 0
    assert "6 units, 0 of them failed; lists of nuggets: 2" in capsys.readouterr().err
    evaluate = ["evaluate", "--protocol", RAG, "--qrels", qrels, "--quiet"]
    assert main([*evaluate, str(folder / "owls.jsonl"), "--format", "ir_measures"]) == 0
    values = {line.split()[2]: float(line.split()[3]) for line in capsys.readouterr().out.splitlines()}
    assert values["V"] == values["A"] == values["SupportP"] == 0.75
    assert values["V_strict"] == 0.5
    assert values["SupportR"] == pytest.approx((1 / 3 + 1) / 2)

    lines = Path(qrels).read_text().splitlines(keepends=True)
    (folder / "nuggets-only.txt").write_text("".join(line for line in lines if "nugget:" in line))
    of_nuggets = ["evaluate", "--qrels", str(folder / "nuggets-only.txt"), "--protocol", RAG, "--quiet"]
    assert main([*of_nuggets, "--measure", "V", str(folder / "owls.jsonl")]) == 0
    printed = capsys.readouterr()
    assert ("0.7500" in printed.out, printed.err) == (True, "")  # no warning that every value is 0

    assert main([*evaluate, str(folder / "crows.jsonl")]) == 2  # whose answer to T1 nobody judged
    assert "units of the run without a grade: nugget:" in capsys.readouterr().err

    assert main(["nuggets", "assignments", *options, "--qrels", qrels, str(folder / "owls.jsonl")]) == 0
    written = capsys.readouterr().out
    (folder / "again.txt").write_text(written)
    again = str(folder / "again-qrels.txt")
    assert main(["nuggets", "qrels", *options, str(folder / "again.txt"), "--output", again, "--quiet"]) == 0
    assert Path(again).read_bytes() == Path(qrels).read_bytes()


def test_unit_in_two_files_of_assignments_is_refused(
    nuggets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owls = assign(nuggets.parent / "owls.txt", OWLS, {"T1": "support", "T2": "support"})

    assert main(["nuggets", "qrels", "--protocol", RAG, "--nuggets", str(nuggets), owls, owls]) == 2
    assert "6 units are in several files; give each once" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("preview", "whole answers are pooled, to no depth"),
        ("reuse", "have no ranks"),
        ("curves", "have no ranks"),
    ],
)
def test_commands_about_ranks_refuse_answers(
    nuggets: Path, capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    folder = nuggets.parent
    owls = assign(folder / "owls.txt", OWLS, {"T1": "support", "T2": "support"})
    qrels = str(folder / "q.txt")
    assert (
        main(["nuggets", "qrels", "--protocol", RAG, "--nuggets", str(nuggets), owls, "--output", qrels]) == 0
    )
    options = ["--protocol", RAG] if command == "preview" else ["--protocol", RAG, "--qrels", qrels]
    runs = [str(folder / "owls.jsonl")] if command == "curves" else ["--runs", str(folder / "m.csv")]

    assert main([command, *options, *runs]) == 2
    assert message in capsys.readouterr().err


def test_lists_are_converted_and_compared(nuggets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank, newer = nuggets.with_name("bank.jsonl"), nuggets.with_name("newer.jsonl")
    newer.write_text(nuggets.read_text().replace("they eat mice", "they eat voles"))

    assert main(["nuggets", "convert", str(nuggets), "--to", "nugget-bank", "--output", str(bank)]) == 0
    assert main(["nuggets", "changes", str(nuggets), str(bank)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1  # the header
    assert main(["nuggets", "changes", str(nuggets), str(newer)]) == 0
    rows = [line.split("\t")[2:] for line in capsys.readouterr().out.splitlines()]
    assert rows[1:] == [["new", "yes", "they eat voles"], ["gone", "no", "they eat mice"]]


def test_cited_documents_are_a_run_that_can_be_pooled(runs: Path) -> None:
    cited = runs / "cited.txt"
    arguments = ["nuggets", "cited", "--protocol", RAG, str(runs / "owls.jsonl"), "--output", str(cited)]

    assert main(arguments) == 0
    assert main(["check", "--protocol", "trec-adhoc", str(cited)]) == 0


def test_table_of_scores_is_converted(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "board.txt").write_text("owls\tV\tall\t0.5\n")

    assert main(["nuggets", "scores", str(runs / "board.txt"), "--from", "tot", "--to", "ir_measures"]) == 0
    assert capsys.readouterr().out == "owls\tall\tV\t0.5\n"


def test_run_of_documents_has_no_answers(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "r.txt").write_text("T1 Q0 d1 1 1 x\n")

    assert main(["nuggets", "cited", "--protocol", "trec-adhoc", str(runs / "r.txt")]) == 2
    assert "the file has no generated answers" in capsys.readouterr().err


def test_grades_have_other_words_for_citations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", "show", RAG]) == 0
    assert "Support (2, of citations Full support)" in capsys.readouterr().out


def test_run_of_rag_2026_repeats_the_text_of_its_topics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topics.tsv").write_text("T1\tWhy do owls sing?\n")
    run = tmp_path / "run.jsonl"
    topics = ["--topics", str(tmp_path / "topics.tsv")]
    arguments = ["check", "--protocol", "trec-rag-2026", *topics, str(run)]

    run.write_text(EXAMPLES["rag-2026"] + "\n")
    accepted = main(arguments)
    capsys.readouterr()
    run.write_text(EXAMPLES["rag-2026"].replace("Why do", "Why would") + "\n")
    refused = main(arguments)

    assert (accepted, refused) == (0, 1)
    assert "line 1: metadata.narrative is not the text of the topic" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("slug", "cited", "first"),
    [
        ("trec-rag-2025", ["doc-4"], "V_strict"),
        ("trec-rag-2026", ["doc-4", "doc-17"], "Rubric"),
        ("trec-dragun-2025", ["doc-4"], "W"),
        ("trec-ragtime-2025", ["doc-4", "doc-17"], "A_strict"),
    ],
)
def test_tracks_of_2025_and_2026_go_from_a_run_to_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], slug: str, cited: list[str], first: str
) -> None:
    protocol, run, nuggets, graded = load_protocol(slug), *map(tmp_path.joinpath, ("r.jsonl", "n", "a"))
    run.write_text(EXAMPLES[protocol.runs.formats[0]] + "\n")
    (tmp_path / "m.csv").write_text(f"file,team,tag,kind\nr.jsonl,Owls,Owls-main,{protocol.runs.keys[0]}\n")
    items = [{"text": "they sing", "importance": "vital"}, {"text": "they eat mice", "importance": "okay"}]
    nuggets.write_text(json.dumps({"query": "?", "qid": "T1", "nuggets": items}) + "\n")
    text, words = "Owls sing at night.", ("support", "not_support")
    assigned = [{"text": item["text"], "assignment": word} for item, word in zip(items, words, strict=True)]
    support = [{"text": text, "docid": docno, "assignment": "partial_support"} for docno in cited]
    line = {"qid": "T1", "answer_text": text, "nuggets": assigned, "citations": support}
    graded.write_text(json.dumps(line) + "\n")
    qrels = str(tmp_path / "qrels.txt")

    assert main(["check", "--protocol", slug, str(run)]) == 0
    units = pooled(tmp_path, slug, "--nuggets", str(nuggets))
    options = ["--protocol", slug, "--nuggets", str(nuggets), "--output", qrels]
    assert main(["nuggets", "qrels", *options, str(graded)]) == 0
    capsys.readouterr()
    assert main(["evaluate", "--protocol", slug, "--qrels", qrels, str(run), "--format", "ir_measures"]) == 0

    assert {unit for unit in units if unit.startswith("citation:")} == {
        citation(text, each) for each in cited
    }
    values = {row.split()[2]: float(row.split()[3]) for row in capsys.readouterr().out.splitlines()}
    assert next(iter(values)) == first
    assert (values["A"], values.get("W", 2 / 3)) == (0.5, pytest.approx(2 / 3))
    assert {values[name] for name in values if name.startswith("SupportP")} == {0.5}
