"""The models that a run used: stated in the form, the API or the header of the file, and shown and written again."""

from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from assay.formats.models import UsedModel, WrongModels, families_in, models_in, stated_models
from assay.formats.runs.metadata import header
from pooling.models import Run
from tests.helpers.api import api, call
from tests.helpers.runs import run_bytes
from tests.pooling.conftest import Scene
from tracks.models import Track

STATED = "gpt-4o-mini; gpt; 1200000 tokens; 3.20 USD; 0.4 kWh\nbm25"


@pytest.fixture
def member(scene: Scene) -> Client:
    client = Client()
    client.force_login(scene.member)
    return client


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a, b", "without commas"),
        ("; gpt", "expected a name"),
        ("a; gpt; many tokens", "“many tokens” is not an amount such as"),
        ("a; gpt; 1 USD; 2 EUR", "“2 EUR” is a second amount"),
        ("\n" * 60 + "a", ""),
        ("a\n" * 60, "60 lines; at most 50"),
        ("a; " + "g" * 300, "the family has more than 200 characters"),
    ],
)
def test_line_that_is_not_a_model_is_refused_with_its_number(line: str, says: str) -> None:
    if not says:
        assert models_in(line) == [UsedModel("a")]
        return
    with pytest.raises(WrongModels, match=says):
        models_in(line)


def test_amounts_are_read_by_their_units() -> None:
    assert models_in(STATED) == [
        UsedModel("gpt-4o-mini", "gpt", "1200000", "3.20", "USD", "0.4"),
        UsedModel("bm25"),
    ]
    assert families_in(STATED) == {"gpt"}
    assert stated_models("", STATED.replace("\n", ", ")) == STATED


def test_form_takes_the_models_of_a_run(scene: Scene, member: Client) -> None:
    address = reverse("pooling:submit", args=[scene.track.slug])

    def submit(models: str) -> str:
        file = SimpleUploadedFile("one.tsv", run_bytes(tag="one"))
        data = {"file": file, "team": scene.ours.pk, "kind": "primary", "made": "automatic", "uses": "text"}
        return member.post(address, data | {"models": models}, follow=True).content.decode()

    assert "Models, line 1: “9 miles and more” is not an amount" in submit("a; b; 9 miles and more")
    page = submit(STATED)

    run = Run.objects.get()
    assert run.models_used == STATED
    assert "<dt>Models</dt>" in page
    assert "gpt-4o-mini; gpt; 1200000 tokens; 3.20 USD; 0.4 kWh<br>bm25" in page
    alone = member.get(reverse("pooling:run_file", args=[run.pk]), {"header": "alone"})
    written = alone.getvalue().decode()
    assert "one.ir_metadata.yml" in alone["Content-Disposition"]
    assert (
        'method:\n  automatic: "true"\n  models: "gpt-4o-mini; gpt; 1200000 tokens; 3.20 USD; 0.4 kWh, bm25"\n'
        in written
    )


def test_api_takes_the_models_of_the_header_of_a_file(scene: Scene) -> None:
    address, stated = (
        reverse("api:runs", args=[scene.track.slug]),
        {"method.models": STATED.replace("\n", ", ")},
    )
    data = header(stated) + run_bytes(tag="one")

    refused = api(scene.member).post(
        address, {"file": BytesIO(data), "kind": "primary", "models_used": "a,b"}
    )
    accepted = api(scene.member).post(address, {"file": BytesIO(data), "kind": "primary"})

    assert refused.status_code == 409
    assert "without commas" in refused.json()["detail"]
    assert accepted.json()["models_used"] == STATED
    sent = api(scene.member).get(
        reverse("api:run_file", args=[Run.objects.get().pk]), {"header": "ir_metadata"}
    )
    assert b"# " in sent.getvalue()


def submitted(scene: Scene, folder: Path) -> Run:
    path = folder / "one.tsv"
    path.write_bytes(run_bytes(tag="one"))
    return scene.submit(path)


METADATA = b"---\nmethod:\n  models: [gpt-4o-mini; gpt, bm25]\n  retrieval:\n    - name: bm25\nplatform: x\n"


def test_file_of_ir_metadata_comes_with_a_run(scene: Scene, member: Client) -> None:
    address = reverse("pooling:submit", args=[scene.track.slug])

    def submit(tag: str, content: bytes, models: str = "") -> str:
        files = {
            "file": SimpleUploadedFile(f"{tag}.tsv", run_bytes(tag=tag)),
            "metadata": SimpleUploadedFile("made.yml", content),
        }
        stated = {"team": scene.ours.pk, "kind": "primary", "made": "automatic", "uses": "text"}
        return member.post(address, files | stated | {"models": models}, follow=True).content.decode()

    assert "file of ir_metadata: line 2: the line of ir_metadata is not “key: value”" in unescape(
        submit("wrong", b"a: b\nnothing\n")
    )
    assert "Models, line 1: expected a name" in submit("wrong", b"method:\n  models: ; gpt\n")
    submit("one", METADATA)
    sent = api(scene.member).post(
        reverse("api:runs", args=[scene.track.slug]),
        {
            "file": BytesIO(run_bytes(tag="two")),
            "kind": "primary",
            "models_used": "own",
            "metadata": BytesIO(header({"method.models": "other", "actor.team": "x"})),
        },
    )

    first, second = Run.objects.order_by("pk")
    assert (first.models_used, second.models_used) == ("gpt-4o-mini; gpt\nbm25", "own")
    assert sent.json()["models_used"] == "own"
    assert first.report["metadata"]["method.retrieval.name"] == "bm25"
    assert second.report["metadata"]["actor.team"] == "x"
    alone = member.get(reverse("pooling:run_file", args=[first.pk]), {"header": "alone"})
    assert b'platform: "x"' in alone.getvalue()


def test_team_changes_models_until_the_deadline_and_organizers_later(
    scene: Scene, member: Client, tmp_path: Path
) -> None:
    run = submitted(scene, tmp_path)
    address = reverse("pooling:describe", args=[run.pk])
    organizer = Client()
    organizer.force_login(scene.organizer)

    refused = member.post(address, {"models": "a, b"})
    page = member.post(address, {"models": STATED}, follow=True).content.decode()
    member.post(address, {"models": STATED, "metadata": SimpleUploadedFile("made.yml", METADATA)})
    by_file = Run.objects.get().models_used
    Track.objects.update(status="closed")
    late = member.post(address, {"models": "late"})
    organizer.post(address, {"models": "from a letter; llama"})

    assert "without commas" in refused.content.decode()
    assert "gpt-4o-mini; gpt; 1200000 tokens; 3.20 USD; 0.4 kWh<br>bm25" in page
    assert by_file == "gpt-4o-mini; gpt\nbm25"
    assert "can no longer be changed" in late.content.decode()
    assert Run.objects.get().families == {"llama"}
    history = [change.text for change in run.changes.filter(kind="models")]
    assert history == ["", STATED, "gpt-4o-mini; gpt\nbm25"]
    events = (
        Event.objects.filter(action__startswith="run.m").order_by("pk").values_list("action", "by__username")
    )
    changed = "run.models-changed"
    assert list(events) == [
        (changed, "ada"),
        ("run.metadata-added", "ada"),
        (changed, "ada"),
        (changed, scene.organizer.username),
    ]


def test_api_changes_the_models(scene: Scene, tmp_path: Path) -> None:
    run = submitted(scene, tmp_path)
    Run.objects.update(description="Kept.")

    def patch(**data: str) -> Any:
        return call(api(scene.member), "patch", "run", run.pk, data=data)

    wrong = patch(models_used="; x")
    stated = patch(models_used=STATED).json()
    by_file = patch(metadata=METADATA.decode()).json()
    cleared = patch(models_used="").json()

    assert (wrong.status_code, "expected a name" in wrong.json()["detail"]) == (409, True)
    assert (stated["models_used"], stated["description"]) == (STATED, "Kept.")
    assert by_file["models_used"] == "gpt-4o-mini; gpt\nbm25"
    assert cleared["models_used"] == ""
    assert [change["kind"] for change in cleared["changes"]] == ["models"] * 3
