"""`assay judge --server`: a program judges a batch of a site that runs."""

import shlex
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pytest_django.live_server_helper import LiveServer

from assay.cli.main import main
from assay.formats.judgments.reader import parse_judgments
from assay_extensions.machines.site import services
from assay_extensions.machines.work import batches
from assessment.judgments.services import submit
from assessment.models import Judgment, Task
from tests.assessment.conftest import build_scene
from tests.helpers.api import make_token
from tests.helpers.factories import make_organizer
from tests.helpers.judging import make_machine
from tests.helpers.row_scenes import TURKLE, build_rows
from web.models import Scope

PROGRAM = """
import json, os, sys
for line in sys.stdin:
    unit = json.loads(line)
    if os.path.exists("broken") and unit["docno"] == open("broken").read():
        os._exit(1)
    grade = max(each["grade"] for each in unit["grades"])
    print(json.dumps({"topic": unit["topic"], "docno": unit["docno"], "grade": grade}), flush=True)
"""


@pytest.mark.django_db(transaction=True)
def test_program_judges_a_batch_of_a_server_and_goes_on_after_a_failure(
    live_server: LiveServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scene = build_scene()
    machine = make_machine(scene.track, make_organizer())
    user = machine.assessor.user
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    broken = scene.pool.entries.filter(topic=scene.first).earliest("position").docno
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "broken").write_text(broken)
    monkeypatch.chdir(tmp_path)
    words = ["judge", "--with", f"{sys.executable} program.py", "--server", live_server.url]
    words += ["--batch", str(batch.pk), "--quiet"]

    without_token = main(words)
    monkeypatch.setenv("ASSAY_TOKEN", "assay_wrong")
    wrong_token = main(words)
    monkeypatch.setenv("ASSAY_TOKEN", make_token(user, Scope.READ, Scope.JUDGE))
    first = main(words)
    skipped = Task.objects.get(batch=batch, skipped_at__isnull=False)
    (tmp_path / "broken").unlink()
    second = main(words)

    captured = capsys.readouterr()
    assert (without_token, wrong_token, first, second) == (2, 3, 1, 0)
    assert "set the variable ASSAY_TOKEN" in captured.err
    assert "This token is wrong, expired or revoked." in captured.err
    assert f"topic A.1, document {broken}: the program ended with status 1" in captured.err
    assert skipped.skip_reason == "the program ended with status 1 before it had answered"
    assert captured.out.splitlines() == [
        f"5 judged now, 0 before, 1 left; batch {batch.pk} on {live_server.url}",
        f"1 judged now, 5 before, 0 left; batch {batch.pk} on {live_server.url}",
    ]
    assert set(Judgment.objects.values_list("assessor", "choice", "batch__kind")) == {
        (user.pk, "high", "machine")
    }


FRAME = """
import json, sys
answers = [{"mood": "good", "why": ["words", "tone"]}, {"mood": "neutral"}, {"note": {"a": 1}}, {"note": "fine"}]
for line in sys.stdin:
    unit = json.loads(line)
    given = answers[int(unit["docno"]) - 1]
    print(json.dumps({"topic": "t", "docno": unit["docno"], "grade": "answered", "answers": given}), flush=True)
"""


@pytest.mark.django_db(transaction=True)
def test_frame_is_judged_on_a_site_as_on_files(
    live_server: LiveServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = "topic,docno,text\n" + "".join(f"t,{n},Text {n}\n" for n in range(1, 5))
    scene = build_rows(TURKLE, table)
    machine = make_machine(scene.track, scene.organizer)
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    monkeypatch.setenv("ASSAY_TOKEN", make_token(machine.assessor.user, Scope.READ, Scope.JUDGE))
    for name, text in (("lab.toml", TURKLE), ("rows.csv", table), ("program.py", FRAME)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    program = ["judge", "--quiet", "--with", f"{sys.executable} program.py"]
    files = ["--protocol", "lab.toml", "--documents", "rows.csv", "--assessor", "m", "--output", "out.jsonl"]

    of_files = main([*program, *files])
    of_site = main([*program, "--server", live_server.url, "--batch", str(batch.pk)])

    good = [{"mood": "good", "why": ["words", "tone"]}, {"note": "fine"}]
    errors = capsys.readouterr().err
    stored = Judgment.objects.filter(batch=batch).order_by("docno").values_list("answers", flat=True)
    assert (of_files, of_site) == (1, 1)
    assert [row.answers for row in parse_judgments(Path("out.jsonl").read_bytes(), "out.jsonl").rows] == good
    assert list(stored) == good
    assert errors.count("“neutral” is not an answer to “mood” Use good, bad.") == 2
    assert (
        errors.count("is no answer; give a text or a list of texts, under a name of 1 to 200 characters.")
        == 2
    )


@pytest.mark.django_db(transaction=True)
def test_two_programs_that_judge_one_batch_store_one_judgment_of_each_unit(
    live_server: LiveServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the first program thinks, the second one judges the same unit with the same token."""
    scene = build_scene()
    machine = make_machine(scene.track, make_organizer())
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    monkeypatch.setenv("ASSAY_TOKEN", make_token(machine.assessor.user, Scope.READ, Scope.JUDGE))
    ask, others = batches.ask, iter(["second"])

    def slow(program: Any, question: Any, rules: Any) -> Any:
        answer = ask(program, question, rules)
        if next(others, None):
            task = Task.objects.get(batch=batch, entry__docno=question["docno"], status="accepted")
            submit(task=task, choice="not-relevant", request_id=uuid4())
        return answer

    monkeypatch.setattr(batches, "ask", slow)
    words = ["judge", "--with", shlex.join([sys.executable, "-c", PROGRAM]), "--server", live_server.url]

    status = main([*words, "--batch", str(batch.pk), "--quiet"])

    captured = capsys.readouterr()
    n_units = scene.pool.entries.count()
    assert (status, Judgment.objects.count(), Judgment.objects.filter(is_current=True).count()) == (
        0,
        n_units,
        n_units,
    )
    assert Judgment.objects.filter(choice="not-relevant").count() == 1
    assert "another program judged it meanwhile; its judgment stays" in captured.err
    assert f"{n_units - 1} judged now" in captured.out


def test_options_for_files_are_refused_with_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["judge", "--with", "true", "--server", "http://127.0.0.1:9"]

    assert main([*words, "--batch", "7", "--units", "pool.tsv"]) == 2
    assert main(words) == 2
    assert main(["judge", "--with", "true"]) == 2

    error = capsys.readouterr().err
    assert "--units is for files" in error
    assert "--batch with the number of the batch" in error
    assert "--protocol is missing; give it, or --server" in error
