"""Generated answers with `assay check`, `assay pool`, `assay evaluate` and `assay nuggets`.

Each test of a key of the protocol gives a command two protocol files that differ in this key.
"""

import json
from pathlib import Path

import pytest

from assay.cli.main import main
from tests.assay.cli.test_protocol_keys import with_change
from tests.helpers.answer_runs import CROWS, OWLS, answer_run, citation
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


def test_limits_of_nuggets_are_in_the_words_of_the_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = with_change(tmp_path, RAG, "most = 30\nmax_words = 12", "most = 7\nmax_words = 5")

    assert main(["protocol", "show", changed]) == 0
    assert "A topic has at most 7 nuggets. A nugget has at most 5 words." in capsys.readouterr().out


def test_grades_have_other_words_for_citations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", "show", RAG]) == 0
    assert "Support (2, of citations Full support)" in capsys.readouterr().out
