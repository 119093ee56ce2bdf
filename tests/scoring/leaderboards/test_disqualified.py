"""Disqualified runs on leaderboards: older ones keep and mark them, new ones leave them out and name them."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from pooling.runs.changes import services as change_services
from scoring.models import Leaderboard
from tests.scoring.conftest import Scene
from tracks.tracks import services as track_services

pytestmark = pytest.mark.django_db


def page(board: Leaderboard, user: object) -> str:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client.get(board.get_absolute_url()).content.decode()


def test_old_leaderboard_marks_a_disqualified_run_and_a_new_one_names_it(scene: Scene) -> None:
    run = scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "9 10")
    old = scene.leaderboard(release=Leaderboard.Release.PARTICIPANTS)
    track_services.close(track=scene.track)

    change_services.disqualify(run=run, reason="It used the qrels.", by=scene.organizer)
    new = scene.leaderboard(old.qrels, release=Leaderboard.Release.PARTICIPANTS)

    before, after = page(old, scene.other), page(new, scene.other)
    assert "disqualified since" in before
    assert "1 run was disqualified after these runs were scored" in " ".join(before.split())
    assert old.evaluations.count() == 2
    assert [evaluation.run.tag for evaluation in new.evaluations.all()] == ["poor"]
    assert "Left out, because it was disqualified before the runs were scored" in " ".join(after.split())
    assert "It used the qrels." not in before + after  # the reason is for the team
    client = Client()
    client.force_login(scene.organizer)
    content = client.get(reverse("scoring:leaderboard_file", args=[new.pk, "json"])).content
    assert [left_out["tag"] for left_out in json.loads(content)["disqualified"]] == ["good"]


def test_team_reads_its_scores_with_its_runs_after_the_release_only(scene: Scene) -> None:
    run = scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "9 10")
    board = scene.leaderboard()
    client = Client()
    client.force_login(scene.member)
    addresses = [reverse("pooling:team_runs", args=[scene.track.slug, scene.ours.pk]), run.get_absolute_url()]

    before = [client.get(address).content.decode() for address in addresses]
    Leaderboard.objects.filter(pk=board.pk).update(release="participants", released_at=board.created_at)
    after = [client.get(address).content.decode() for address in addresses]

    own = board.evaluations.get(run=run)
    for hidden, shown in zip(before, after, strict=True):
        assert "Scores</h2>" not in hidden
        assert own.get_absolute_url() in shown
        assert board.get_absolute_url() in shown
        assert "poor" not in shown
