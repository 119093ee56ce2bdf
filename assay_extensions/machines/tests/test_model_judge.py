"""`assay judge --judge`: a model judges files; the model is a server on this machine."""

import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.formats.judgments.reader import parse_judgments
from assay_extensions.machines.model import client
from assay_extensions.machines.model.evidence import evidence_of
from assay_extensions.machines.tests.fake_model import (
    Answer,
    FakeModel,
    Request,
    by_words,
    fake_model,
    refused,
    said,
)

TASK = "arqmath-2020-task1"
DOCNOS = ("21", "22", "23", "24", "25", "26")
TEXTS = {docno: f"Nothing {docno}." for docno in DOCNOS} | {"22": "A relevant text.", "24": "Long. " * 50}
JUDGE = """
name = "fake"
version = "1"
model = "fake-model"
family = "fakes"
address = "{address}"
{more}

[decoding]
temperature = 0.0
max_tokens = 50

[prices]
input = 10.0
output = 100.0
currency = "EUR"
"""
Run = Callable[..., int]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    monkeypatch.setattr(client, "FIRST_WAIT", 0.001)
    with fake_model() as served:
        yield served


@pytest.fixture
def judge(tmp_path: Path, model: FakeModel, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command on six documents of one topic."""
    rows = [{"docno": docno, "text": TEXTS[docno]} for docno in TEXTS]
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "pool.tsv").write_text("".join(f"A.1\t{docno}\t{n}\n" for n, docno in enumerate(TEXTS)))
    monkeypatch.chdir(tmp_path)

    def run(*options: str, more: str = "", address: str = "") -> int:
        Path("judge.toml").write_text(JUDGE.format(address=address or model.address, more=more))
        fixed = ["--protocol", TASK, "--topics", str(samples.path("topics.xml")), "--units", "pool.tsv"]
        fixed += ["--documents", "documents.jsonl", "--assessor", "fake", "--output", "out.jsonl"]
        cache = [] if "--cache" in options else ["--cache", "cache.sqlite"]
        return main(["judge", "--judge", "judge.toml", *fixed, *cache, "--quiet", *options])

    return run


def grades_in(path: str = "out.jsonl") -> dict[str, int | None]:
    data = Path(path).read_bytes()
    return {row.docno: row.grade for row in parse_judgments(data, path).rows} if data else {}


def evidence_in(path: str = "out.evidence.jsonl") -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_model_judges_all_units_with_evidence_and_cost(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", "secret-7")

    status = judge("--keep-prompts", "prompts", more='key_variable = "FAKE_KEY"\nrevision = "r1"')

    captured = capsys.readouterr()
    assert status == 0
    assert grades_in() == dict.fromkeys(DOCNOS, 0) | {"22": 2, "24": 3}
    assert set(model.keys) == {"Bearer secret-7"}
    assert (
        "6 units: 6 read, 0 failed (0 unreadable, 0 refused, 0 without a reply); 0 from the cache"
        in captured.err
    )
    assert "6 calls, 660 tokens, 0.012 EUR" in captured.err
    row = next(row for row in evidence_in() if row["docno"] == "22")
    evidence = evidence_of(row["evidence"])
    assert (evidence.parse_status, evidence.parser, evidence.model) == ("read", "final-score/1", "fake-2026")
    assert (evidence.tokens_in, evidence.tokens_out, evidence.cost, evidence.currency) == (
        100,
        10,
        "0.002",
        "EUR",
    )
    assert (evidence.attempts, evidence.is_cached, evidence.round) == (1, False, 1)
    prompt = json.loads(Path("prompts", f"{evidence.prompt_sha256}.json").read_text())
    asked = model.requests[0]
    assert prompt[0][1]["content"].count("A relevant text.") == 1
    assert {key: asked[key] for key in asked if key != "messages"} == {
        "model": "fake-model",
        "temperature": 0.0,
        "max_tokens": 50,
    }
    assert "secret-7" not in Path("out.evidence.jsonl").read_text() + Path("judge.toml").read_text()


def test_cache_answers_again_at_another_address_but_not_for_another_round(
    judge: Run, model: FakeModel
) -> None:
    judge()
    Path("out.jsonl").unlink()
    Path("out.evidence.jsonl").unlink()

    assert judge(address="http://127.0.0.1:9/v1") == 0
    assert len(model.requests) == 6
    assert {row["evidence"]["is_cached"] for row in evidence_in()} == {True}
    Path("out.jsonl").unlink()
    assert judge("--round", "2") == 0
    assert len(model.requests) == 12
    Path("out.jsonl").unlink()
    assert judge(more='revision = "other"') == 0
    assert len(model.requests) == 18


def test_unreadable_reply_is_asked_once_more_and_then_skipped_and_only_failures_are_tried_again(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    model.answer = lambda request: (
        said("I cannot say.")
        if "A relevant text." in request["messages"][1]["content"]
        else by_words(request)
    )

    assert judge() == 1
    assert len(model.requests) == 7
    assert "22" not in grades_in()
    assert (
        "the reply does not have “final score: NUMBER”; it ends with 'I cannot say.'"
        in capsys.readouterr().err
    )
    row = next(row for row in evidence_in() if row["docno"] == "22")
    assert (row["choice"], row["evidence"]["parse_status"], row["evidence"]["attempts"]) == (
        "",
        "unreadable",
        2,
    )
    model.answer = by_words
    assert judge() == 0
    assert len(model.requests) == 8
    assert grades_in()["22"] == 2


@pytest.mark.parametrize("reply", ["final score: 7", "final score: -1", "final score:", "3"])
def test_grade_outside_the_scale_is_never_a_grade(judge: Run, model: FakeModel, reply: str) -> None:
    model.answer = lambda _: said(reply)

    assert judge() == 1
    assert grades_in() == {}


def test_busy_service_is_asked_again_up_to_five_times(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter([refused(429, Retry_After="0"), refused(503), refused(500), refused(502)])
    model.answer = lambda request: next(answers, None) or by_words(request)

    assert judge("--connections", "1") == 0
    assert len(model.requests) == 10
    assert evidence_in()[0]["evidence"]["attempts"] == 5
    Path("out.jsonl").unlink()
    model.answer = lambda _: refused(503)
    assert judge("--connections", "1", "--round", "2") == 1
    error = capsys.readouterr().err
    assert "status 503: status 503 on purpose, 5 times" in error
    assert "5 units in a row failed" in error


def test_refusals_and_wrong_keys_are_not_repeated(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    model.answer = lambda _: (400, {"error": {"code": "content_filter", "message": "no"}}, {})
    assert judge("--connections", "1") == 1
    assert {row["evidence"]["parse_status"] for row in evidence_in()} == {"refused"}
    n_before = len(model.requests)
    model.answer = lambda _: refused(401)
    assert judge("--connections", "1") == 1
    assert len(model.requests) - n_before <= 7, (
        "each unit once, and at most those on their way after five failures"
    )
    error = capsys.readouterr().err
    assert "status 401: status 401 on purpose; no key was sent" in error
    model.answer = lambda _: (302, {}, {"Location": "http://127.0.0.1:9/"})
    assert judge("--connections", "1") == 1
    assert "status 302" in capsys.readouterr().err


@pytest.mark.parametrize("answer", [refused(401), (200, "not of a model", {}), (302, {}, {})])
def test_calls_that_fail_cost_nothing_and_failed_units_are_counted_once(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str], answer: Answer
) -> None:
    model.answer = lambda _: answer

    assert judge("--connections", "6") == 1

    error = capsys.readouterr().err
    summary = "5 units: 0 read, 5 failed (0 unreadable, 0 refused, 5 without a reply); 0 from the cache; "
    assert f"{summary}6 calls, 0 tokens\n" in error
    assert "judge: 5 failed; run the command again" in error
    assert f"5 × {model.address}: " in error


@pytest.mark.parametrize(
    ("usage", "n_tokens"),
    [(None, 6 * 50), ({"prompt_tokens": 100}, 6 * 150), ({"completion_tokens": 10}, 6 * 10)],
)
def test_reply_that_does_not_report_its_tokens_counts_as_estimated_and_has_no_cost(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str], usage: object, n_tokens: int
) -> None:
    model.answer = lambda _: said("M: 1. T: 1.\nfinal score: 0", usage=usage)

    assert judge() == 0

    error = capsys.readouterr().err
    counted = re.search(r"6 calls, ([\d,]+) tokens", error)
    assert counted is not None
    assert n_tokens <= int(counted[1].replace(",", "")) < 6 * 1000
    assert "6 × the reply does not report its tokens; they are estimated\n" in error
    assert {row["evidence"]["cost"] for row in evidence_in()} == {None}


@pytest.mark.parametrize(
    ("options", "n_calls"),
    [(("--max-calls", "3"), 3), (("--max-tokens", "1000"), 1), (("--max-cost", "0.02"), 1)],
)
def test_budget_stops_before_it_is_exceeded(
    judge: Run,
    model: FakeModel,
    options: tuple[str, str],
    n_calls: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = judge(*options)

    assert status == 1
    assert n_calls <= len(model.requests) < 6
    assert len(grades_in()) == len(model.requests)
    assert f"{options[0]} {options[1]} is reached" in capsys.readouterr().err


def test_dry_run_shows_a_prompt_and_the_cost_and_calls_nothing(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    status = judge("--dry-run")

    out = capsys.readouterr().out
    assert (status, model.requests, Path("out.jsonl").exists()) == (0, [], False)
    assert "final score: NUMBER" in out
    assert "6 units, 6 calls; about" in out
    assert "300 out" in out
    assert "EUR; nothing was called" in out


def test_probabilities_are_those_of_the_grades_at_the_place_of_the_answer(
    judge: Run, model: FakeModel
) -> None:
    shares = {"2": 0.5, " 3": 0.2, "0": 0.1, "x": 0.2}
    model.answer = lambda _: said("M: 3\nfinal score: 2", probabilities=shares)

    assert judge(more='answer = "probabilities"') == 0

    assert model.requests[0]["logprobs"] is True
    given = evidence_in()[0]["evidence"]["probabilities"]
    assert {key: round(p, 6) for key, p in given.items()} == {
        "high": 0.25,
        "medium": 0.625,
        "low": 0.0,
        "not-relevant": 0.125,
    }
    with sqlite3.connect("cache.sqlite") as file:
        kept = [json.loads(reply)[4] for (reply,) in file.execute("SELECT reply FROM replies")]
    file.close()
    assert {(len(before), len(token)) for before, token in kept} == {(1, 2)}
    assert all(len(token["top_logprobs"]) == 4 for _, token in kept), "of the answer's token only"
    Path("out.jsonl").unlink()
    Path("out.evidence.jsonl").unlink()
    assert judge(more='answer = "probabilities"') == 0
    assert {json.dumps(row["evidence"]["probabilities"]) for row in evidence_in()} == {json.dumps(given)}
    assert len(model.requests) == 6


def test_criteria_ask_five_times_and_the_last_call_has_the_numbers(judge: Run, model: FakeModel) -> None:
    def answer(request: Request) -> Answer:
        text = request["messages"][1]["content"]
        return (
            said("final score: 1")
            if "Earlier assessments" in text
            else said(f"score: {'coverage' in text:d}")
        )

    model.answer = answer
    assert judge(more='template = "criteria"') == 0
    assert len(model.requests) == 30
    last = [text for r in model.requests if "Earlier" in (text := r["messages"][1]["content"])]
    assert all("exactness 0, topicality 0, coverage 1, contextual fit 0" in text for text in last)
    assert json.loads(evidence_in()[0]["evidence"]["reply"])[4] == "final score: 1"
    assert evidence_in()[0]["evidence"]["tokens_in"] == 500


def test_replay_reads_the_stored_replies_again(judge: Run, capsys: pytest.CaptureFixture[str]) -> None:
    judge()
    assert main(["judge", "--replay", "out.evidence.jsonl", "--protocol", TASK]) == 0
    assert "6 grades are equal, 0 differ, 0 skips" in capsys.readouterr().out
    path = Path("out.evidence.jsonl")
    path.write_text(path.read_text().replace("final score: 2", "final score: 1"))
    assert main(["judge", "--replay", "out.evidence.jsonl", "--protocol", TASK]) == 1
    captured = capsys.readouterr()
    assert "A.1 22: low, stored medium" in captured.err
    path.write_text("{}\n")
    assert main(["judge", "--replay", "out.evidence.jsonl", "--protocol", TASK]) == 2


PAIRS = "T1\ta|b\t1\nT1\ta|c\t2\nT1\tb|c\t3\n"


def test_pair_is_asked_in_both_orders_and_a_document_that_only_wins_on_one_side_does_not_win(
    tmp_path: Path, model: FakeModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model prefers `a`, and between others the document that comes first."""
    model.answer = lambda request: said(
        "answer: B" if "Document B:\nText of a" in request["messages"][1]["content"] else "**answer: A**"
    )
    monkeypatch.chdir(tmp_path)
    Path("judge.toml").write_text(JUDGE.format(address=model.address, more='template = "pairwise"'))
    Path("lab.toml").write_text(samples.path("pairs-lab.toml").read_text())
    Path("topics.tsv").write_text("T1\tA title\n")
    rows = [{"docno": docno, "text": f"Text of {docno}"} for docno in "abc"]
    Path("documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("pool.tsv").write_text(PAIRS)
    words = ["judge", "--judge", "judge.toml", "--protocol", "lab.toml", "--topics", "topics.tsv", "--quiet"]
    words += [
        "--units",
        "pool.tsv",
        "--documents",
        "documents.jsonl",
        "--assessor",
        "m",
        "--output",
        "out.csv",
    ]

    status = main([*words, "--cache", "cache.sqlite"])

    judged = parse_judgments(Path("out.csv").read_bytes(), "out.csv").rows
    choices = {row.docno: row.choice for row in judged}
    ties = [docno for docno, choice in choices.items() if choice == "tie"]
    assert len(model.requests) == 6
    if ties:
        assert (status, choices) == (0, {"a|b": "first", "a|c": "first", "b|c": "tie"})
    else:
        assert (status, choices) == (1, {"a|b": "first", "a|c": "first"})
        assert "prefers no document in both orders" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('template = "own.toml"', "judge.toml: line 7: template: there is no file own.toml"),
        (
            'template = "unknown"',
            "judge.toml: line 7: template: there is no unknown; use criteria, graded",
        ),
        ('key_variable = "sk-123"', "line 7: key_variable: expected the name of an environment variable"),
        ('key_variable = "NOT_SET_HERE"', "set the variable NOT_SET_HERE to the key"),
        ('answer = "words"', "answer: 'words' is not allowed; use grade, probabilities"),
        ('api_key = "x"', "api_key: unknown key"),
        ('provider = "assay"', "model: provider assay has one model, text-classifier"),
    ],
)
def test_wrong_judge_files_are_refused(
    judge: Run, more: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(more=more) == 2
    assert message in capsys.readouterr().err


def test_own_template_is_read_from_the_folder_of_the_judge_file(
    judge: Run, model: FakeModel, tmp_path: Path
) -> None:
    Path("own.toml").write_text(
        'title = "t"\nversion = "1"\nfollows = "own"\nparser = "answer/1"\n'
        '[[call]]\n[[call.message]]\nrole = "user"\ncontent = "${docno} ${title} ${text}"\n'
    )
    model.answer = lambda _: said("Answer: medium")

    assert judge(more='template = "own.toml"') == 0
    assert set(grades_in().values()) == {2}
    text = Path("own.toml").read_text()
    Path("own.toml").write_text(text.replace("${text}", "${words}"))
    assert judge(more='template = "own.toml"') == 2


def test_guidelines_reach_the_model_in_words_without_the_example_of_the_unit(
    judge: Run, model: FakeModel
) -> None:
    examples = "".join(f"::: example A.1 {docno} high\nWhy {docno}.\n:::\n" for docno in ("22", "999"))
    Path("guidelines.md").write_text(f"Be strict.\n{examples}Be fast.\n")

    judge("--guidelines", "guidelines.md")

    prompts = [request["messages"][-1]["content"] for request in model.requests]
    assert all("Be strict." in prompt and "Be fast." in prompt and ":::" not in prompt for prompt in prompts)
    assert all("Example: topic A.1, document 999, grade high.\nWhy 999." in prompt for prompt in prompts)
    assert [prompt.count("Why 22.") for prompt in prompts if "A relevant text." in prompt] == [0]
    assert sum(prompt.count("Why 22.") for prompt in prompts) == 5


def test_html_evidence_batch_and_cache_have_an_effect(judge: Run, model: FakeModel) -> None:
    Path("documents.jsonl").write_text(
        "".join(
            json.dumps({"docno": docno, "body": f"<b>{text}</b>"}) + "\n" for docno, text in TEXTS.items()
        )
    )

    judge("--html", "--evidence", "replies.jsonl", "--batch", "first look", "--cache", "own.sqlite")

    assert all("</b>\nEnd of the document" in request["messages"][1]["content"] for request in model.requests)
    assert len(evidence_in("replies.jsonl")) == 6
    assert not Path("out.evidence.jsonl").exists()
    assert {row.batch for row in parse_judgments(Path("out.jsonl").read_bytes(), "out.jsonl").rows} == {
        "first look"
    }
    assert Path("own.sqlite").exists()
    assert not Path("cache.sqlite").exists()


def test_connections_limit_the_requests_at_the_same_time(judge: Run, model: FakeModel) -> None:
    barrier = threading.Barrier(3)

    def answer(request: Request) -> Answer:
        barrier.wait(30)  # passes only if three requests are open
        return by_words(request)

    model.answer = answer
    assert judge("--connections", "3") == 0
    open_now, most = set[int](), list[int]()

    def count(request: Request) -> Answer:
        with model.lock:
            open_now.add(id(request))
            most.append(len(open_now))
        reply = by_words(request)
        with model.lock:
            open_now.discard(id(request))
        return reply

    model.answer = count
    Path("out.jsonl").unlink()
    assert judge("--connections", "1", "--round", "2") == 0
    assert max(most) == 1


def test_request_without_an_answer_in_time_fails(
    judge: Run, model: FakeModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TRIES", 1)
    is_over = threading.Event()

    def never(request: Request) -> Answer:
        is_over.wait(60)
        return by_words(request)

    model.answer = never
    assert judge("--timeout", "1", "--connections", "6") == 1
    is_over.set()
    assert "timed out, 1 times" in capsys.readouterr().err


def test_two_commands_at_once_share_a_cache(judge: Run, model: FakeModel) -> None:
    """Both have the cache open when the first replies come, and a third command asks nothing."""
    barrier = threading.Barrier(2)

    def answer(request: Request) -> Answer:
        if len(model.requests) <= 2:
            barrier.wait(60)
        return by_words(request)

    model.answer = answer
    statuses = list[int]()

    def run(name: str) -> None:
        code = "import sys; from assay.cli.main import main; sys.exit(main(sys.argv[1:]))"
        words = [
            "judge",
            "--judge",
            "judge.toml",
            "--protocol",
            TASK,
            "--topics",
            str(samples.path("topics.xml")),
        ]
        words += ["--units", "pool.tsv", "--documents", "documents.jsonl", "--assessor", "fake", "--quiet"]
        words += ["--cache", "cache.sqlite", "--connections", "1", "--output", name]
        statuses.append(subprocess.run([sys.executable, "-c", code, *words], check=False).returncode)

    Path("judge.toml").write_text(JUDGE.format(address=model.address, more=""))
    threads = [threading.Thread(target=run, args=(name,)) for name in ("first.jsonl", "second.jsonl")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [0, 0]
    assert (
        grades_in("first.jsonl") == grades_in("second.jsonl") == dict.fromkeys(DOCNOS, 0) | {"22": 2, "24": 3}
    )
    n_asked = len(model.requests)
    assert 7 <= n_asked <= 12
    assert judge() == 0
    assert len(model.requests) == n_asked


def test_dry_run_keeps_each_prompt_without_a_call(judge: Run, model: FakeModel) -> None:
    assert judge("--dry-run", "--keep-prompts", "prompts") == 0

    kept = [json.loads(path.read_text()) for path in sorted(Path("prompts").iterdir())]
    assert (len(kept), model.requests) == (6, [])
    assert sum("A relevant text." in messages[1]["content"] for messages in kept) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--with", "true", "--max-calls", "3"], "--max-calls needs --judge"),
        (["--with", "true", "--connections", "3"], "--connections needs --judge"),
        (["--with", "true", "--round", "2"], "--round needs --judge"),
        (["--with", "true", "--dry-run"], "--dry-run needs --judge"),
        (["--replay", "e.jsonl", "--protocol", TASK, "--html"], "--html has no meaning with --replay"),
        (["--with", "true", "--server", "http://x", "--evidence", "e"], "--evidence needs --judge"),
    ],
)
def test_options_without_an_effect_are_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", *words]) == 2
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["judge"])
