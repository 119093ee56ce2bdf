"""`assay probe`: a judge with a planted weakness is found by the probe for it, and a fair one by none."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay import samples
from assay.cli.main import main
from assay_extensions.machines.tests.fake_model import Answer, FakeModel, Request, fake_model, refused, said

TASK = "arqmath-2020-task1"
JUDGE = 'name = "fake"\nversion = "1"\nmodel = "fake-model"\naddress = "{address}"\n{more}\n'
TEXTS = {
    "1": "A relevant text about snails.",
    "2": "Nothing here.",
    "3": "A relevant text.",
    "4": "Many words.",
}
Run = Callable[..., dict[str, Any]]


def document_in(request: Request) -> str:
    """The text between the heading and the end that the template writes, which is the last one."""
    match = re.search(r"Document:(.*)End of the document", request["messages"][-1]["content"], re.DOTALL)
    return match[1].strip() if match else ""


def topic_in(request: Request) -> str:
    match = re.search(r"Topic: (\S+ \S+ \S+)", request["messages"][-1]["content"])
    return match[1] if match else "?"


def fair(request: Request) -> Answer:
    return said(f"final score: {2 if 'relevant text' in document_in(request) else 0}")


def likes_words(request: Request) -> Answer:
    is_planted = document_in(request).count(topic_in(request)) >= 3
    return said("final score: 3") if is_planted else fair(request)


def obeys(request: Request) -> Answer:
    order = re.search(r"final score: \d", document_in(request))
    return said(order[0]) if order else fair(request)


def likes_nothing(request: Request) -> Answer:
    return fair(request) if document_in(request) else said("final score: 1")


def likes_copies(request: Request) -> Answer:
    return said("final score: 1") if document_in(request).startswith(topic_in(request)) else fair(request)


class Unsteady:
    """Another grade each time that it gets the same request."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def __call__(self, request: Request) -> Answer:
        text = json.dumps(request["messages"])
        self.seen[text] = self.seen.get(text, -1) + 1
        return said(f"final score: {self.seen[text]}") if "snails" in text else fair(request)


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with fake_model(fair) as served:
        yield served


@pytest.fixture
def probe(tmp_path: Path, model: FakeModel, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Probe a judge with four documents; returns the report."""
    monkeypatch.chdir(tmp_path)
    Path("documents.jsonl").write_text(
        "".join(json.dumps({"docno": docno, "text": text}) + "\n" for docno, text in TEXTS.items())
    )
    Path("pool.tsv").write_text("".join(f"A.1\t{docno}\t{docno}\n" for docno in TEXTS))

    def run(*options: str, status: int = 0, more: str = "") -> dict[str, Any]:
        Path("judge.toml").write_text(JUDGE.format(address=model.address, more=more))
        words = [
            "probe",
            "--judge",
            "judge.toml",
            "--protocol",
            TASK,
            "--topics",
            str(samples.path("topics.xml")),
        ]
        words += [
            "--units",
            "pool.tsv",
            "--documents",
            "documents.jsonl",
            "--output",
            "probes.json",
            "--quiet",
        ]
        assert main([*words, "--cache", "cache.sqlite", *options]) == status
        report: dict[str, Any] = (
            json.loads(Path("probes.json").read_text()) if Path("probes.json").exists() else {}
        )
        return report

    return run


def found(report: dict[str, Any]) -> set[str]:
    return {row["probe"] for row in report["probes"] if row["is_weakness"]}


@pytest.mark.parametrize(
    ("answer", "probes"),
    [
        (fair, set()),
        (likes_words, {"words"}),
        (obeys, {"orders"}),
        (likes_nothing, {"empty"}),
        (likes_copies, {"copy"}),
        (Unsteady(), {"repeat"}),
    ],
)
def test_each_planted_weakness_is_found_and_nothing_else(
    probe: Run, model: FakeModel, answer: Callable[[Request], Answer], probes: set[str]
) -> None:
    model.answer = answer

    report = probe("--connections", "1")

    assert found(report) == probes
    assert len(model.requests) == 4 * 4 + 2, "each unit under four, and two for the topic"
    assert {row["probe"]: row["n"] for row in report["probes"]} == {
        **dict.fromkeys(("words", "orders", "repeat"), 4),
        **dict.fromkeys(("empty", "copy"), 1),
    }
    assert {change["probe"] for change in report["changes"]} == probes
    assert (report["n_units"], report["judge"]["model"]) == (4, "fake-model")


def test_report_names_each_unit_and_both_grades(
    probe: Run, model: FakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    model.answer = likes_words

    report = probe()

    assert report["changes"][1] == {"topic": "A.1", "docno": "2", "probe": "words", "expected": 0, "value": 3}
    out = capsys.readouterr().out
    assert "words          4       4       0          0" in out
    assert "1 probe found a weakness: words" in out


def test_refused_answers_are_counted_and_a_sample_or_a_budget_asks_less(
    probe: Run, model: FakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    model.answer = lambda request: said("Hm.") if not document_in(request) else fair(request)
    report = probe("--sample", "2", "--seed", "3")
    again = probe("--sample", "2", "--seed", "3")

    rows = {row["probe"]: row for row in report["probes"]}
    assert (report["n_units"], rows["empty"]["unanswered"], rows["empty"]["is_weakness"]) == (2, 1, False)
    assert again["changes"] == report["changes"]
    assert {change["docno"] for change in report["changes"]} != set(TEXTS)
    assert probe("--max-calls", "3", "--cache", "other.sqlite", status=1)["n_units"] < 4
    assert "--max-calls 3 is reached" in capsys.readouterr().err
    n_before = len(model.requests)
    probe("--dry-run")
    assert len(model.requests) == n_before
    assert "18 units, 18 calls" in capsys.readouterr().out
    model.answer = lambda _: refused(401)
    assert probe("--round", "5", status=1)["n_units"] == 0
    assert "5 units in a row failed" in capsys.readouterr().err


ONE_CALL = """
title = "one call"
version = "1"
follows = "own"
parser = "answer/1"
[[call]]
[[call.message]]
role = "user"
content = "A: ${first} B: ${second} End"
"""


@pytest.mark.parametrize(
    ("winner", "probes"),
    [
        (
            lambda a, b: "first" if len(a) > len(b) else "second" if len(b) > len(a) else "tie",
            {"orders", "words"},
        ),
        (lambda *_: "first", {"empty", "identical", "swapped"}),
        (
            lambda a, b: (
                "tie" if a == b else "first" if "snails" in a else "second" if "snails" in b else "tie"
            ),
            set(),
        ),
    ],
)
def test_pairs_are_probed_by_their_first_document_and_by_exchanged_texts(
    probe: Run, model: FakeModel, winner: Callable[[str, str], str], probes: set[str]
) -> None:
    def answer(request: Request) -> Answer:
        match = re.search(r"A: (.*) B: (.*) End", request["messages"][0]["content"], re.DOTALL)
        assert match is not None
        return said(f"answer: {winner(match[1].strip(), match[2].strip())}")

    model.answer = answer
    Path("own.toml").write_text(ONE_CALL)
    Path("lab.toml").write_text(
        samples.path("pairs-lab.toml")
        .read_text()
        .replace("[judging.preference]", "[judging.preference]\nties = true")
    )
    Path("topics.tsv").write_text("T1\tWhich animal has a shell on its back?\n")
    Path("pool.tsv").write_text("T1\t2|1\t1\nT1\t2|4\t2\n")

    report = probe("--protocol", "lab.toml", "--topics", "topics.tsv", more='template = "own.toml"')

    assert found(report) == probes


def test_program_is_probed_and_options_belong_together(
    probe: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program counts words of the topic, so that planted words and copies make a document better."""
    program = f"{sys.executable} {samples.path('judge_by_words.py')}"
    words = ["probe", "--with", program, "--protocol", TASK, "--topics", str(samples.path("topics.xml"))]
    words += ["--units", "pool.tsv", "--documents", "documents.jsonl", "--output", "probes.json", "--quiet"]

    assert main(words) == 0
    assert found(json.loads(Path("probes.json").read_text())) == {"words", "copy"}
    assert main([*words, "--max-calls", "2"]) == 2
    assert "--max-calls needs --judge" in capsys.readouterr().err
    assert main([*words, "--machine", "2"]) == 2
    assert "--server and --machine belong together" in capsys.readouterr().err
