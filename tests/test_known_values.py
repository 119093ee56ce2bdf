"""Real runs and the official qrels of 2020, uploaded through the website, get their known scores."""

import gzip
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.protocols.loader import load_protocol
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Run
from scoring.models import Leaderboard, Qrels
from tests.helpers.confirming import confirm
from tests.helpers.factories import make_organizer, make_track
from tests.helpers.real_files import KNOWN, KNOWN_OVER_ALL_JUDGED
from tracks.models import Track
from tracks.protocols.services import store
from tracks.topics.services import import_topics

pytestmark = pytest.mark.django_db

MEASURES = ("nDCG'", "AP(rel=2)'", "P(rel=2)@10'")


@pytest.fixture
def scored(
    data: Path, client: Client, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Leaderboard:
    """The leaderboard of all known runs, made by an organizer through the website."""
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    arqmath = data / "arqmath"
    client.force_login(make_organizer())
    track = make_track("answers-2020", status=Track.Status.DRAFT, collection=None)
    topics = arqmath / "topics/topics.arqmath-2020-task1-origin.xml"
    import_topics(track=track, data=topics.read_bytes(), name=topics.name)
    confirm(client, reverse("tracks:open_track", args=[track.slug]))
    team = team_services.create(track=track, name="Everybody")
    for name in KNOWN:
        submitted = {
            "team": team.pk,
            "tag": _tag(name),
            "kind": "primary",
            "made": "automatic",
            "uses": "both",
            "action": "submit",
            "file": SimpleUploadedFile(name, (arqmath / "runs" / name).read_bytes()),
        }
        client.post(reverse("pooling:submit", args=[track.slug]), submitted)
    qrels = SimpleUploadedFile("qrels.txt", (arqmath / "qrels/qrels.arqmath-2020-task1.txt").read_bytes())
    client.post(reverse("scoring:import_qrels", args=[track.slug]), {"file": qrels, "name": "official"})
    client.post(reverse("scoring:score", args=[track.qrels.get().pk]))
    board = Leaderboard.objects.get()
    assert board.job is not None
    jobs.run(board.job.pk)
    return board


def _tag(name: str) -> str:
    return name.partition(".")[0]


def test_runs_get_their_known_scores(scored: Leaderboard, client: Client, data: Path) -> None:
    assert _averages_over_own_topics(scored) == KNOWN
    assert_leaderboard_averages_over_all_topics(scored, client)
    assert_stored_bytes_are_those_uploaded(data)


def _averages_over_own_topics(scored: Leaderboard) -> dict[str, tuple[str, ...]]:
    means = {}
    for name in KNOWN:
        evaluation = scored.evaluations.get(run__tag=_tag(name))
        with evaluation.run.original.open() as file:
            original = file.read()
        text = gzip.decompress(original) if name.endswith(".gz") else original
        topics = {line.split()[0].decode() for line in text.splitlines()}
        values = [
            [score.value for score in evaluation.scores.filter(measure=measure, topic__in=topics)]
            for measure in MEASURES
        ]
        means[name] = tuple(f"{sum(column) / len(column):.4f}" for column in values)
    return means


def assert_leaderboard_averages_over_all_topics(scored: Leaderboard, client: Client) -> None:
    table = client.get(reverse("scoring:leaderboard_file", args=[scored.pk, "tsv"])).content.decode()
    head, *rows = [line.split("\t") for line in table.splitlines()]
    by_run = {row[head.index("run")]: dict(zip(head, row, strict=True)) for row in rows}

    assert {row["topics"] for row in by_run.values()} == {"77"}
    for name, known in (KNOWN | KNOWN_OVER_ALL_JUDGED).items():
        row = by_run[_tag(name)]
        if row["missing"] == "0" or name in KNOWN_OVER_ALL_JUDGED:
            assert tuple(row[measure] for measure in MEASURES) == known


def assert_stored_bytes_are_those_uploaded(data: Path) -> None:
    for name in KNOWN:
        with Run.objects.get(tag=_tag(name)).original.open() as file:
            assert file.read() == (data / "arqmath/runs" / name).read_bytes()


def test_ntcir_12_gets_its_known_values(
    data: Path, client: Client, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TangentCFT on the concrete topics of NTCIR-12, by the pages that an organizer uses."""
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    client.force_login(make_organizer())
    text = load_protocol("ntcir-12-wikipedia").text
    text = text.replace('"ntcir-12-wikipedia"', '"ntcir-12-bpref"')
    text = text.replace("measures = [", 'measures = ["bpref(rel=3)", "bpref(rel=1)", ')
    files = data / "ntcir"
    topics, run = (
        files / "topics.ntcir12-math-browsing.txt",
        files / "TangentCFT_ntcir12_wikiformula.txt.gz",
    )

    protocol = store(text=text, by=None).pk
    track_form = {"name": "N", "slug": "n", "protocol": protocol, "topics": _file(topics)}
    client.post(reverse("tracks:new_track"), track_form)
    confirm(client, reverse("tracks:open_track", args=["n"]))
    team = team_services.create(track=Track.objects.get(), name="Tangent")
    submitted = {"team": team.pk, "tag": "cft", "kind": "primary", "made": "automatic", "uses": "math"}
    client.post(reverse("pooling:submit", args=["n"]), submitted | {"action": "submit", "file": _file(run)})
    qrels = _file(files / "qrels.ntcir12-math-browsing-concrete.txt")
    client.post(reverse("scoring:import_qrels", args=["n"]), {"file": qrels, "name": "concrete"})
    board = client.post(reverse("scoring:score", args=[Qrels.objects.get().pk]))["Location"]
    jobs.run(Leaderboard.objects.get().job_id or 0)

    page = client.get(board).content.decode()
    values = _row(client)
    assert "0.5963" in page
    assert (values["bpref(rel=3)"], values["bpref"]) == ("0.5963", "0.7134")


def _file(path: Path) -> SimpleUploadedFile:
    return SimpleUploadedFile(path.name, path.read_bytes())


def _row(client: Client) -> dict[str, str]:
    """The row of the only run in the TSV file of the only leaderboard."""
    address = reverse("scoring:leaderboard_file", args=[Leaderboard.objects.get().pk, "tsv"])
    header, row = client.get(address).content.decode().splitlines()
    return dict(zip(header.split("\t"), row.split("\t"), strict=True))
