"""The models that a run used: stated in the form, the API or the header of the file, and shown and written again."""

from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.formats.models import UsedModel, WrongModels, families_in, models_in, stated_models
from assay.formats.runs.metadata import header
from pooling.models import Run
from tests.helpers.api import api
from tests.helpers.runs import run_bytes
from tests.pooling.conftest import Scene

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
