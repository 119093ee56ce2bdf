"""E-mails about runs: to the members who chose them, once, without scores."""

from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import User
from pooling.errors import RunRefused
from tests.helpers.letters import deliver_at_once
from tests.helpers.runs import BROKEN, GOOD
from tests.pooling.conftest import Scene


@pytest.fixture(autouse=True)
def _mail_server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver_at_once(settings, monkeypatch)


def choose_mails(user: User) -> None:
    """Switch e-mails about runs on, on the account page."""
    User.objects.filter(pk=user.pk).update(email=f"{user.username}@example.org")
    client = Client()
    client.force_login(user)
    client.post(reverse("account"), {"is_mailed_about_runs": "on"})


def test_only_members_who_chose_e_mails_get_one_for_an_accepted_run(scene: Scene, tmp_path: Path) -> None:
    User.objects.filter(pk=scene.other.pk).update(email="bob@example.org")
    scene.ours.members.add(scene.other)  # has not chosen
    choose_mails(scene.member)
    path = tmp_path / "run.tsv"
    path.write_bytes(GOOD)

    scene.submit(path)

    (letter,) = mail.outbox
    assert letter.to == ["ada@example.org"]
    assert letter.subject == "Assay: run run-1 accepted"
    assert "The run run-1 of Ours was accepted in ARQ." in letter.body
    assert "12 lines of 3 topics" in letter.body


def test_rejected_run_is_reported_with_its_errors(scene: Scene, tmp_path: Path) -> None:
    choose_mails(scene.member)
    path = tmp_path / "run.tsv"
    path.write_bytes(BROKEN["score NaN"].make())

    with pytest.raises(RunRefused):
        scene.submit(path)

    (letter,) = mail.outbox
    assert "line 2: score “NaN” is not a finite number" in letter.body
    assert "Nothing was stored" in letter.body
