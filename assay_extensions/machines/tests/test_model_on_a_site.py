"""`assay judge --judge --server`: models judge a batch of a site, several processes next to each other."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_django.live_server_helper import LiveServer

from assay.cli.main import main
from assay.client.server import Server
from assay_extensions.machines.site import services
from assay_extensions.machines.site.models import Hold, JudgeRecord, Lease, ReplyEvidence
from assay_extensions.machines.tests.fake_model import Answer, Request, by_words, fake_model, said
from assay_extensions.machines.work import leases, parallel
from assessment.models import Batch, Judgment, Task
from corpus.models import Document
from tests.assessment.conftest import build_scene
from tests.helpers.api import make_token
from tests.helpers.factories import make_organizer, make_track
from tests.helpers.judging import make_machine, make_pool
from tracks.models import Machine, Topic
from web.models import Scope

JUDGE = 'name = "fake"\nversion = "1"\nmodel = "fake-model"\naddress = "{address}"\n'


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Batch:
    """A batch of a machine, whose token is in the environment."""
    scene = build_scene()
    machine = make_machine(scene.track, make_organizer())
    monkeypatch.setenv("ASSAY_TOKEN", make_token(machine.assessor.user, Scope.READ, Scope.JUDGE))
    monkeypatch.chdir(tmp_path)
    return services.start(machine=machine, pool=scene.pool, by=machine.owner)


def words_of(
    server: LiveServer, batch: Batch, address: str, *options: str, file: str = "judge.toml", seed: int = 1
) -> list[str]:
    Path(file).write_text(JUDGE.format(address=address) + f"[decoding]\nseed = {seed}\n")
    words = ["judge", "--judge", file, "--server", server.url, "--batch", str(batch.pk), "--quiet"]
    return [*words, "--cache", "cache.sqlite", *options]


def command(words: list[str]) -> "subprocess.Popen[bytes]":
    code = "import sys; from assay.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.DEVNULL)


@pytest.mark.django_db(transaction=True)
def test_model_judges_a_batch_in_bulk_and_only_what_failed_is_tried_again(
    live_server: LiveServer, batch: Batch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine, n_units = Machine.objects.get(), batch.pool.entries.count()
    with fake_model() as model:
        model.answer = lambda request: by_words(request) if len(model.requests) > 2 else said("Hm.")
        words = words_of(
            live_server, batch, model.address, "--connections", "1", "--machine", str(machine.pk)
        )
        dry = main([*words, "--dry-run"])
        assert (dry, len(model.requests), Hold.objects.count()) == (0, 0, 0)
        first = main(words)
        skipped = Task.objects.get(batch=batch, status=Task.Status.SKIPPED)
        n_before = len(model.requests)
        second = main(words)

    out = capsys.readouterr().out
    assert (first, second, len(model.requests) - n_before) == (1, 0, 1)
    assert f"{n_units} units, {n_units} calls" in out
    assert f"{n_units - 1} judged now, 0 before, 1 left" in out
    assert f"1 judged now, {n_units - 1} before, 0 left" in out
    assert "it ends with 'Hm.'" in skipped.skip_reason
    assert Judgment.objects.filter(is_current=True).count() == n_units == Judgment.objects.count()
    assert JudgeRecord.objects.get().record["model"] == "fake-model"
    evidence = ReplyEvidence.objects.filter(judgment__isnull=False)
    assert (evidence.count(), {row.parse_status for row in evidence}) == (n_units, {"read"})
    assert ReplyEvidence.objects.filter(judgment=None).values_list("parse_status", "reply").get() == (
        "unreadable",
        "Hm.",
    )
    assert Hold.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_two_commands_one_of_which_is_killed_judge_each_unit_once(
    live_server: LiveServer, batch: Batch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first is killed while the model thinks. The leases that it leaves end by themselves, here at once."""
    n_units = batch.pool.entries.count()
    with fake_model() as model:
        words = words_of(live_server, batch, model.address, "--connections", "2")
        killed: list[int] = []

        def kill(request: Request) -> Answer:
            if not killed:
                killed.append(process.pid)
                os.kill(process.pid, signal.SIGKILL)
            return by_words(request)

        model.answer = kill
        process = command(words)
        assert process.wait() == -signal.SIGKILL
        held = Hold.objects.count()
        blocked = main(words)
        Lease.objects.update(expires_at="2020-01-01T00:00Z")
        after = main(words)

    assert held > 0
    assert (blocked, after) == (1 if held else 0, 0)
    assert Judgment.objects.count() == n_units == ReplyEvidence.objects.count()
    assert len({task for (task,) in Judgment.objects.values_list("task")}) == n_units


@pytest.mark.django_db(transaction=True)
def test_two_commands_at_once_that_are_both_killed_and_restarted_judge_each_unit_once(
    live_server: LiveServer, batch: Batch
) -> None:
    """Their requests have different seeds. They are killed when each has judgments, sent or on their way."""
    topics = dict.fromkeys(Topic.objects.filter(track=batch.pool.track), 15)
    pool = make_pool(batch.pool.track, topics)
    machine = Machine.objects.get()
    batch = services.start(machine=machine, pool=pool, by=machine.owner)
    with fake_model() as model:
        words = [
            words_of(live_server, batch, model.address, "--connections", "2", file=f"{seed}.toml", seed=seed)
            for seed in (1, 2)
        ]
        has_asked, are_killed = {seed: threading.Event() for seed in (1, 2)}, threading.Event()

        def answer(request: Request) -> Answer:
            if sum(asked["seed"] == request["seed"] for asked in list(model.requests)) >= 11:
                has_asked[request["seed"]].set()
                are_killed.wait(60)
            return by_words(request)

        model.answer = answer
        processes = [command(words[0]), command(words[1])]
        assert all(event.wait(60) for event in has_asked.values())
        for process in processes:
            process.kill()
        assert [process.wait() for process in processes] == [-signal.SIGKILL] * 2
        are_killed.set()
        n_before, n_held = Judgment.objects.filter(batch=batch).count(), Hold.objects.count()
        n_asked = len(model.requests)
        model.answer, ends = by_words, [1, 1]
        # A request that a killed command sent last can take a lease after the first update.
        for _ in range(3):
            if min(ends) == 0:
                break
            Lease.objects.update(expires_at="2020-01-01T00:00Z")
            processes = [command(words[0]), command(words[1])]
            ends = [process.wait() for process in processes]

    assert 0 < n_before < 30, "the results of the first lease of each are sent"
    assert n_held > 0
    assert min(ends) == 0, "the last of both leaves nothing"
    assert max(ends) <= 1
    judged = Judgment.objects.filter(batch=batch)
    assert (judged.count(), judged.values("task").distinct().count()) == (30, 30)
    assert ReplyEvidence.objects.count() == 30
    assert Hold.objects.count() == 0
    assert len(model.requests) - n_asked <= 30 - n_before, "no judged unit is asked again"


@pytest.mark.django_db(transaction=True)
def test_lease_is_renewed_while_a_call_takes_longer(
    live_server: LiveServer, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model answers after five renewals, each a third of the lease after the one before."""
    monkeypatch.setattr(leases, "SECONDS", 1)
    monkeypatch.setattr(parallel, "TICK", 0.05)
    renewals, post = threading.Semaphore(0), Server.post
    others, first = list[int](), threading.Event()

    def counted(server: Server, path: str, *arguments: Any, **more: Any) -> Any:
        answer = post(server, path, *arguments, **more)
        if path.endswith("renew/"):
            renewals.release()
        return answer

    def slow(request: Request) -> Answer:
        if not first.is_set():
            first.set()
            assert all(renewals.acquire(timeout=60) for _ in range(5))
            url = f"{live_server.url}/api/v1/batches/{batch.pk}/leases/"
            token = {"Authorization": f"Bearer {os.environ['ASSAY_TOKEN']}"}
            others.append(httpx.post(url, json={"n": 9, "seconds": 9}, headers=token).status_code)
        return by_words(request)

    monkeypatch.setattr(Server, "post", counted)
    with fake_model(slow) as model:
        status = main(words_of(live_server, batch, model.address, "--connections", "3"))

    n_units = batch.pool.entries.count()
    assert (status, others) == (0, [204]), "all units are held while the model thinks"
    assert Judgment.objects.count() == n_units == len(model.requests)


@pytest.mark.django_db(transaction=True)
def test_html_and_the_machine_of_another_track_on_a_server(
    live_server: LiveServer, batch: Batch, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = Document.objects.filter(pool_entries__pool=batch.pool)
    documents.update(body="<p>A <b>relevant</b> text.</p>")
    other = make_machine(make_track(slug="other"), make_organizer("olga"))
    with fake_model() as model:
        words = words_of(live_server, batch, model.address, "--max-calls", "1")
        assert main([*words, "--html"]) == 1
        assert main(words) == 1
        assert main([*words, "--machine", str(other.pk)]) == 1
        assert main([*words, "--evidence", "replies.jsonl"]) == 2

    texts = [request["messages"][1]["content"] for request in model.requests]
    assert ["<b>relevant</b>" in text for text in texts] == [True, False]
    error = capsys.readouterr().err
    assert "It does not exist, or you may not see it" in error
    assert "--evidence is for files" in error
    assert not JudgeRecord.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_budget_and_early_stop_give_the_other_tasks_back(
    live_server: LiveServer, batch: Batch, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_model() as model:
        words = words_of(live_server, batch, model.address)
        assert main([*words, "--max-calls", "2"]) == 1
        assert (Judgment.objects.count(), Hold.objects.count()) == (2, 0)
        model.answer = lambda _: (401, {"error": {"message": "no key"}}, {})
        assert main(words) == 1
        model.answer = by_words
        assert main(words) == 0

    error = capsys.readouterr().err
    assert "--max-calls 2 is reached" in error
    assert "status 401: no key" in error
    n_current = Judgment.objects.filter(is_current=True).count()
    assert n_current == batch.pool.entries.count() == Judgment.objects.count()
