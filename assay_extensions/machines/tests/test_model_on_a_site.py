"""`assay judge --judge --server`: models judge a batch of a site, several processes next to each other."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from assay.cli.main import main
from assay_extensions.machines.site import services
from assay_extensions.machines.site.models import Hold, JudgeRecord, Lease, ReplyEvidence
from assay_extensions.machines.tests.fake_model import Answer, Request, by_words, fake_model, said
from assessment.models import Batch, Judgment, Task
from tests.assessment.conftest import build_scene
from tests.helpers.api import make_token
from tests.helpers.factories import make_organizer
from tests.helpers.judging import make_machine
from tracks.models import Machine
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


def words_of(server: LiveServer, batch: Batch, address: str, *options: str) -> list[str]:
    Path("judge.toml").write_text(JUDGE.format(address=address))
    words = ["judge", "--judge", "judge.toml", "--server", server.url, "--batch", str(batch.pk), "--quiet"]
    return [*words, "--cache", "cache.sqlite", *options]


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
        code = "import sys; from assay.cli.main import main; sys.exit(main(sys.argv[1:]))"
        process = subprocess.Popen([sys.executable, "-c", code, *words])
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
