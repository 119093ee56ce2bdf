"""A model with a planted bias judges, by `assay judge` or on a site. `assay estimate bias` and the page find the bias.

In a fair model, the command finds nothing.
"""

import json
import random
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from assay.cli.main import main
from assay.formats.judgments.reader import parse_judgments
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.site import judges, services
from assay_extensions.machines.tests.fake_model import Answer, Request, fake_model, said
from assessment.batches import services as batch_services
from assessment.judging import services as task_services
from assessment.models import Batch
from assessment.planning import services as assignments
from corpus.models import Document
from jobs import services as jobs
from jobs.models import Job
from pooling.models import PoolEntry
from pooling.runs import services as run_services
from tests.helpers.factories import make_assessor, make_document, make_organizer, make_topic, make_track
from tests.helpers.judging import judge as submit_judgment
from tests.helpers.judging import make_machine, make_pool, make_team

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


def test_page_of_estimates_finds_what_a_judge_of_the_site_favors(
    db: None, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    settings.WEBHOOKS_OVER_HTTP = settings.WEBHOOKS_TO_PRIVATE_ADDRESSES = True
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    track, organizer = make_track("planted", protocol="trec-adhoc"), make_organizer("olga")
    ada, team, rng = make_assessor(track, "ada"), make_team(track), random.Random(7)
    topics = [make_topic(track, str(n), title="Snails and shells", body="") for n in range(1, 9)]
    assert track.collection is not None
    documents, worth, runs = (
        dict[str, Document](),
        dict[str, int](),
        {"plain": list[str](), "styled": list[str]()},
    )
    for topic in topics:
        for n in range(8):
            docno, run = f"d{topic.code}-{n}", ("plain", "styled")[n % 2]
            worth[docno] = rng.randrange(2)
            text = f"It is worth {worth[docno]}. {'More words follow. ' * rng.choice([1, 40])}"
            documents[docno] = make_document(
                track.collection, docno, body=text + (STYLE if run == "styled" else "")
            )
            runs[run].append(f"{topic.code} Q0 {docno} {n // 2 + 1} {100 - n} {run}\n")
    for tag, lines in runs.items():
        run_services.submit(
            track=track, team=team, by=organizer, file=BytesIO("".join(lines).encode()), file_name=f"{tag}.txt",
            declared=run_services.Declaration(kind="primary"),
        )  # fmt: skip
    pool = make_pool(track, {})
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topic, docno=docno, document=documents[docno], position=n)
        for topic in topics
        for n, docno in enumerate(f"d{topic.code}-{n}" for n in range(8))
    )
    client = Client()
    client.force_login(organizer)

    def done(kind: str) -> None:
        job = Job.objects.filter(kind=kind).latest("pk")
        jobs.run(job.pk)
        job.refresh_from_db()
        assert job.state == Job.State.DONE, job.error

    page = reverse("estimates:estimates", args=["planted"])
    with fake_model(judge(lambda text: STYLE in text or len(text) > 400)) as model:
        settings.JUDGE_ADDRESSES = {model.address: ""}
        machine = make_machine(track, organizer)
        record = Judge("Fake", "1", "fake-1", address=model.address).record()
        judges.register(machine=machine, record=record, by=organizer)
        batch = services.start(machine=machine, pool=pool, by=organizer)
        client.post(reverse("machines:run_machine", args=[machine.pk]), {"batch": batch.pk})
        done("machines.judge")
    fields = {
        "pool": pool.pk,
        "name": "Audit",
        "design": "weight",
        "percent": "70",
        "measures": "P@5",
        "seed": 1,
    }
    client.post(reverse("estimates:new_sample", args=["planted"]), fields)
    done("estimates.draw")
    audit = Batch.objects.get(name="Audit")
    assignments.assign(batch=audit, assessor=ada, topics=topics)
    batch_services.open_for_judging(batch=audit)
    while (task := task_services.accept_next(batch=audit, assessor=ada)) is not None:
        submit_judgment(task, ("not-relevant", "relevant")[worth[task.entry.docno]])
    client.post(f"{page}compute/", {"source": f"sample-{audit.estimate_sample.pk}"})  # type: ignore[attr-defined]
    done("estimates.estimate")

    tables = client.get(client.get(page).context["estimate"].get_absolute_url()).context["estimate"].tables
    rows = {
        row[0]: row for table in tables for row in table["rows"] if table["name"] in {"slopes", "leniency"}
    }
    assert rows["log length"][3] > 0.05  # the low end
    assert rows["run styled"][2] > rows["run plain"][2] + 0.1
    text = client.get(page).content.decode()
    assert f"{rows['log length'][2]:.4f}" in text
    assert "run styled" in text
    card = client.get(reverse("machines:card", args=[machine.pk])).content.decode()
    assert "Log length, change" in card
