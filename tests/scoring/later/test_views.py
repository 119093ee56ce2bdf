"""Runs of other tracks' teams on the leaderboard of a closed track: on its page, as a file and for programs."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Run
from scoring.evaluations.selectors import values_by_topic
from scoring.models import Evaluation, LaterRun, Leaderboard
from tests.helpers.api import api
from tests.helpers.factories import make_track
from tests.scoring.conftest import Scene
from tracks.models import Track
from tracks.tracks import services as track_services

BETTER = "10 é 9"


@pytest.fixture
def board(scored: Scene) -> Leaderboard:
    """The public leaderboard of a closed track with a good run."""
    track_services.close(track=scored.track)
    return scored.leaderboard(release="public")


@pytest.fixture
def team(board: Leaderboard, scored: Scene) -> Team:
    """A team of this year, with the stranger."""
    return team_services.create(track=make_track("arq-2"), name="Ours", members=[scored.stranger])


def run_file(ranking: str = BETTER, tag: str = "new") -> SimpleUploadedFile:
    lines = [
        f"{code}\t{docno}\t{rank}\t{9 - rank}\t{tag}\n"
        for code in ("A.1", "A.10", "A.2")
        for rank, docno in enumerate(ranking.split(), 1)
    ]
    return SimpleUploadedFile("new.tsv", "".join(lines).encode())


def send(client: Client, board: Leaderboard, team: Team, file: SimpleUploadedFile) -> Any:
    address = reverse("scoring:later_runs", args=[board.pk])
    return client.post(address, {"team": team.pk, "file": file}, follow=True)


def test_run_of_this_year_gets_the_values_of_the_same_run_of_last_year(
    client: Client, board: Leaderboard, team: Team, scored: Scene
) -> None:
    good = board.evaluations.get(run__tag="good")
    before = (Run.objects.count(), Evaluation.objects.count())
    client.force_login(scored.stranger)

    response = send(client, board, team, run_file())

    stored = LaterRun.objects.get()
    assert stored.values == values_by_topic(good)
    means = [f"{stored.values['all'][measure]:.4f}" for measure in board.measures]
    assert all(f">{mean}</td>" in response.content.decode() for mean in means)
    lines = client.get(reverse("scoring:later_runs_file", args=[board.pk])).getvalue().decode().splitlines()
    assert f"arq-2-Ours-new\tall\t{board.measures[0]}\t{means[0]}" in lines
    assert (Run.objects.count(), Evaluation.objects.count()) == before
    assert Track.objects.get(pk=board.track_id).status == Track.Status.CLOSED


def test_run_with_the_same_tag_replaces_the_earlier_one(
    client: Client, board: Leaderboard, team: Team, scored: Scene
) -> None:
    client.force_login(scored.stranger)
    send(client, board, team, run_file("9"))
    worse = LaterRun.objects.get().values["all"]

    send(client, board, team, run_file())

    assert LaterRun.objects.get().values["all"] != worse


def test_runs_of_others_are_hidden_and_wrong_ones_refused(
    client: Client, board: Leaderboard, team: Team, scored: Scene
) -> None:
    client.force_login(scored.stranger)
    send(client, board, team, run_file())
    wrong = send(client, board, team, SimpleUploadedFile("x.tsv", b"A.1\t10\n"))
    elsewhere = send(client, board, scored.theirs, run_file())
    client.force_login(scored.other)
    shown = client.get(reverse("scoring:later_runs", args=[board.pk])).content.decode()

    assert (wrong.status_code, elsewhere.status_code) == (422, 422)
    assert "x.tsv has 1 error. The first: line 1: expected 5 or 6 columns, got 2" in wrong.content.decode()
    assert "arq-2" not in shown
    assert "You are in no team of another track" in shown
    assert LaterRun.objects.count() == 1


def test_track_must_be_closed(client: Client, scored: Scene) -> None:
    board = scored.leaderboard(release="public")
    team = team_services.create(track=make_track("arq-2"), name="Ours", members=[scored.stranger])
    client.force_login(scored.stranger)

    response = send(client, board, team, run_file())

    assert "ARQ is not closed yet." in response.content.decode()
    assert not LaterRun.objects.exists()


def test_programs_score_later_runs(board: Leaderboard, team: Team, scored: Scene) -> None:
    address = reverse("api:later_runs", args=[board.pk])
    data = {"track": "arq-2", "team": "Ours", "file": run_file(), "tag": "mine"}

    stored = api(scored.stranger).post(address, data)
    missing = api(scored.other).post(address, data | {"file": run_file()})

    assert stored.status_code == 201
    assert (stored.json()["tag"], stored.json()["n_missing"]) == ("mine", 0)
    assert missing.status_code == 404
    [listed] = api(scored.organizer).get(address).json()["results"]
    assert listed == stored.json()
    assert api(scored.other).get(address).json()["results"] == []
