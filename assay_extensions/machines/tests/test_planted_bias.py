"""A model with a planted bias judges by `assay judge`, and `assay estimate bias` finds it; in a fair one, nothing."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.formats.judgments.reader import parse_judgments
from assay_extensions.machines.tests.fake_model import Answer, Request, fake_model, said

N_TOPICS, N_DOCUMENTS = 12, 16
STYLE = "In summary, the following holds."  # of one run


def document_in(request: Request) -> str:
    match = re.search(r"Document:(.*)End of the document", request["messages"][-1]["content"], re.DOTALL)
    assert match is not None
    return match[1]


def judge(bonus: Callable[[str], bool]) -> Callable[[Request], Answer]:
    """The grade that the document names, and one more if it has what the judge favors."""

    def answer(request: Request) -> Answer:
        text = document_in(request)
        [grade] = re.findall(r"worth (\d)", text)
        return said(f"final score: {int(grade) + bonus(text)}")

    return answer


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Topics, documents of random worth and length, people's qrels, and three runs; only `styled` has the style."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(7)
    runs: dict[str, list[str]] = {"plain": [], "other": [], "styled": []}
    documents, pool, qrels, topics = list[str](), list[str](), list[str](), list[str]()
    for topic in range(1, N_TOPICS + 1):
        topics.append(f"{topic}\tsnails and shells")
        for n in range(N_DOCUMENTS):
            docno, grade = f"d{topic:02}{n:02}", rng.randrange(3)
            text = f"It is worth {grade}. " + "More words follow. " * rng.choice([1, 40])
            run = ("plain", "other", "styled")[n % 3]
            documents.append(json.dumps({"docno": docno, "text": text + (STYLE if run == "styled" else "")}))
            pool.append(f"{topic}\t{docno}\t{n}")
            qrels.append(f"{topic} 0 {docno} {grade}")
            runs[run].append(f"{topic} Q0 {docno} {n // 3 + 1} {100 - n} {run}")
    files = {"documents.jsonl": documents, "pool.tsv": pool, "people.txt": qrels, "topics.txt": topics}
    for name, lines in {**files, **{f"{name}.run": lines for name, lines in runs.items()}}.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    return [f"{name}.run" for name in runs]


def bias_of(
    answer: Callable[[Request], Answer], runs: list[str], capsys: pytest.CaptureFixture[str]
) -> dict[str, list[dict[str, Any]]]:
    with fake_model(answer) as model:
        Path("judge.toml").write_text(
            f'name = "f"\nversion = "1"\nmodel = "m"\naddress = "{model.address}"\n'
        )
        words = [
            "judge",
            "--judge",
            "judge.toml",
            "--protocol",
            "arqmath-2020-task1",
            "--topics",
            "topics.txt",
        ]
        words += ["--units", "pool.tsv", "--documents", "documents.jsonl", "--assessor", "f", "--quiet"]
        assert main([*words, "--output", "f.jsonl", "--cache", "cache.sqlite"]) == 0
    rows = parse_judgments(Path("f.jsonl").read_bytes(), "f.jsonl").rows
    Path("machine.txt").write_text("".join(f"{row.topic} 0 {row.docno} {row.grade}\n" for row in rows))
    capsys.readouterr()
    words = ["estimate", "bias", "--machine", "machine.txt", "--people", "people.txt", "--measure", "DCG@5"]
    words += ["--documents", "documents.jsonl", "--family", "styled", "--format", "json"]
    assert main([*words, *runs]) == 0
    tables: dict[str, list[dict[str, Any]]] = json.loads(capsys.readouterr().out)
    return tables


def slope_of_length(tables: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return next(row for row in tables["slopes"] if row["attribute"] == "log length")


def test_judge_that_favors_long_documents_is_found(
    campaign: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = bias_of(judge(lambda text: len(text) > 400), campaign, capsys)

    assert slope_of_length(tables)["low"] > 0.1


def test_judge_that_favors_one_run_is_found(campaign: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    tables = bias_of(judge(lambda text: STYLE in text and "worth 0" not in text), campaign, capsys)

    leniency = {row["of"]: row for row in tables["leniency"]}
    assert leniency["run styled"]["low"] > 0.4
    assert leniency["run plain"]["leniency"] == pytest.approx(0.0)
    assert tables["preference"][0]["low"] > 0.4


def test_nothing_is_found_in_a_fair_judge(campaign: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    tables = bias_of(judge(lambda _: False), campaign, capsys)

    assert {row["leniency"] for row in tables["leniency"]} == {0.0}
    assert slope_of_length(tables)["slope"] == pytest.approx(0.0)
    assert tables["preference"][0]["difference"] == pytest.approx(0.0)
