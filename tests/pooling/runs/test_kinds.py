"""Kinds of run in the words of a protocol: what follows from each, through pages, API and leaderboard."""

from io import BytesIO
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from assay.protocols.loader import parse_protocol, shipped_text
from pooling.models import Run
from scoring.models import Leaderboard
from tests.helpers.runs import run_bytes
from tests.pooling.runs.test_submission import Desk
from tests.scoring.conftest import QRELS, build_scene
from tests.scoring.conftest import Scene as Scoring
from tracks.models import StoredProtocol

KINDS = """
[[runs.kind]]
key = "primary"
depth = 3

[[runs.kind]]
key = "contrastive"
title = "contrastive system"
pooled_as = "primary"
pooled_as_by_tag = { shallow = "reference" }
max_per_team = 1

[[runs.kind]]
key = "reference"
depth = 1
scored = false
submitted_by = "organizers"
baseline = true

"""


@pytest.fixture
def scene(db: None, folder: Path) -> Scoring:
    """A track with kinds of run of its own."""
    scene = build_scene()
    text = shipped_text("arqmath-2020-task1")
    text = text[: text.index("[[runs.kind]]")] + KINDS.lstrip() + text[text.index("[pool]") :]
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(
        text=text, digest=parse_protocol(text, name="x").digest
    )
    scene.track.refresh_from_db()
    return scene


def client_of(scene: Scoring, name: str) -> Client:
    client = Client()
    client.force_login(getattr(scene, name))
    return client


def send(scene: Scoring, tag: str, kind: str, user: str = "member", **fields: str) -> str:
    """The page after submitting a run."""
    desk = Desk(scene.track, scene.ours, getattr(scene, user), client_of(scene, user))
    first = 100 + Run.objects.count()
    answer = desk.send(run_bytes(topics=list(scene.topics), first=first, tag=tag), kind=kind, **fields)
    return "" if answer.status_code == 302 else answer.content.decode()


def test_words_of_the_protocol_are_on_the_submission_page_and_decide_what_is_accepted(scene: Scoring) -> None:
    address = reverse("pooling:submit", args=[scene.track.slug])

    of_team = client_of(scene, "member").get(address).content.decode()
    of_organizer = client_of(scene, "organizer").get(address).content.decode()
    first, second = send(scene, "one", "contrastive"), send(scene, "two", "contrastive")
    refused = send(scene, "three", "reference")

    assert '<option value="contrastive">contrastive system</option>' in of_team
    assert 'value="reference"' not in of_team
    assert "pooled_as" not in of_team
    assert "A team submits at most one contrastive system run." in of_team
    assert "Reference runs are not scored." in of_team
    assert '<option value="reference">as reference</option>' in of_organizer
    assert first == ""
    assert "already has one contrastive system run" in second
    assert "reference is not one of the available choices" in refused
    runs = client_of(scene, "member").get(reverse("pooling:runs", args=[scene.track.slug]), follow=True)
    assert "contrastive system" in runs.content.decode()


def test_kinds_decide_depths_scores_and_filters(scene: Scoring) -> None:
    client = client_of(scene, "organizer")
    for tag, kind, pooled_as in (
        ("main", "primary", ""),
        ("shallow", "contrastive", ""),
        ("base", "reference", ""),
    ):
        assert send(scene, tag, kind, "organizer", pooled_as=pooled_as) == ""
    form = client.get(reverse("pooling:new_pool", args=[scene.track.slug])).content.decode()

    pool = {"name": "P", "seed": "1", "order": "random", "depth_primary": "2", "depth_reference": "1"}
    client.post(reverse("pooling:new_pool", args=[scene.track.slug]), pool)
    scene.leaderboard(scene.qrels(QRELS))
    board = Leaderboard.objects.get()
    page = client.get(board.get_absolute_url()).content.decode()
    primary = client.get(f"{board.get_absolute_url()}?show=kind-primary").content.decode()

    assert "Depth for contrastive" not in form
    depths = scene.track.pools.get(name="P").pool_runs.values_list("run__tag", "depth")
    assert dict(depths) == {"main": 2, "shallow": 1, "base": 1}
    assert ">main</a>" in page
    assert ">shallow</a>" in page
    assert ">base</a>" not in page
    assert "Contrastive system runs" in page
    assert "(reference)" in page
    assert ">shallow</a>" not in primary


def test_api_names_the_kinds(scene: Scoring) -> None:
    kinds = client_of(scene, "member").get(f"/api/v1/tracks/{scene.track.slug}/").json()["kinds"]

    assert [(kind["kind"], kind["name"]) for kind in kinds] == [
        ("primary", "primary"),
        ("contrastive", "contrastive system"),
    ]


@pytest.mark.parametrize(
    "line", ["", 'uses = { scans = "page images", full-text = "full text" }\n'], ids=["none", "words"]
)
def test_what_a_run_uses_is_asked_and_shown_in_the_words_of_the_protocol(scene: Scoring, line: str) -> None:
    text = scene.track.protocol.text
    start = text.index("uses = {")
    text = text[:start] + line + text[text.index("\n", start) + 1 :]
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(text=text)
    scene.track.refresh_from_db()
    client, slug = client_of(scene, "organizer"), scene.track.slug

    form = client.get(reverse("pooling:submit", args=[slug])).content.decode()
    api = client.post(
        f"/api/v1/tracks/{slug}/runs/",
        {"kind": "primary", "team": scene.ours.name, "uses": "math", "file": BytesIO(run_bytes())},
    )
    assert send(scene, "one", "primary", uses="scans" if line else "") == ""
    assert send(scene, "two", "primary", "organizer", uses="full-text") == ""
    scene.leaderboard(scene.qrels(QRELS))
    board = Leaderboard.objects.get()
    pages = {
        "page": client.get(Run.objects.get(tag="one").get_absolute_url()),
        "list": client.get(reverse("pooling:runs", args=[slug])),
        "board": client.get(reverse("scoring:leaderboard_file", args=[board.pk, "tsv"])),
        "json": client.get(reverse("scoring:leaderboard_file", args=[board.pk, "json"])),
        "table": client.get(reverse("publishing:table_file", args=[slug, "runs", "tex"])),
        "results": client.get(reverse("publishing:table_file", args=[slug, "results", "tex"])),
        "run": client.get(f"/api/v1/runs/{Run.objects.get(tag='one').pk}/"),
        "track": client.get(f"/api/v1/tracks/{slug}/"),
    }
    texts = {name: page.content.decode() for name, page in pages.items()}

    assert api.status_code == 409
    assert ("use scans or full-text" if line else "the protocol does not ask for it") in api.json()["detail"]
    if line:
        assert '<option value="full-text" selected>full text</option>' in form
        assert "uses page images" in texts["page"]
        assert '<td data-label="Uses">full text</td>' in texts["list"]
        assert "\tscans\t" in texts["board"]
        assert '"uses": "full-text"' in texts["json"]
        assert "Scans" in texts["table"]
        assert "Full-text" in texts["results"]
        assert pages["run"].json()["uses"] == "scans"
        assert pages["track"].json()["uses"] == {"scans": "page images", "full-text": "full text"}
    else:
        assert Run.objects.get(tag="one").uses == ""
        assert 'name="uses"' not in form
        assert not [name for name in ("page", "list", "board", "json") if "uses" in texts[name].lower()]
        assert not [name for name in ("table", "results") if "Data" in texts[name]]
        assert (pages["run"].json()["uses"], pages["track"].json()["uses"]) == ("", {})
