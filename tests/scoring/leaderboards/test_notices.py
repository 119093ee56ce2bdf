"""E-mails about a released leaderboard."""

from typing import Any

import pytest
from django.core import mail

from accounts.models import User
from scoring.leaderboards import services
from tests.helpers.letters import deliver_at_once
from tests.scoring.conftest import Scene

pytestmark = pytest.mark.django_db


def test_first_release_is_mailed_once_to_members_who_chose_it_and_without_scores(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user in (scene.member, scene.other):
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@example.org")
    User.objects.filter(pk=scene.member.pk).update(is_mailed_about_runs=True)
    scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "9 10")
    board = scene.leaderboard()
    deliver_at_once(settings, monkeypatch)

    for level in ("participants", "hidden", "participants", "public"):
        services.release(leaderboard=board, level=level, by=scene.organizer, reason="A test.")

    (letter,) = mail.outbox
    assert letter.to == ["mia@example.org"]
    assert "is released to the track's teams" in letter.body
    assert not any(character in letter.body for character in "0123456789")
