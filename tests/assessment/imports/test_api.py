"""Judgments that programs import."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from assessment.models import Judgment
from tests.assessment.conftest import Scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer

pytestmark = pytest.mark.django_db


def start(client: Client, scene: Scene, content: bytes) -> Any:
    form = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("old.csv", content), "batch": "Old"})
    return call(
        client, "POST", "judgment_imports", scene.track.slug, data=form, content_type=MULTIPART_CONTENT
    )


def test_file_is_checked_mapped_and_imported(scene: Scene) -> None:
    client = api(make_organizer())
    docno = scene.pool.entries.filter(topic=scene.first).earliest("position").docno
    started = start(client, scene, f"query,docno,assessor,grade\nA.1,{docno},zoe,3\n".encode())
    address = started["Location"]
    mapping = {"columns": {"topic": "query"}, "assessors": {"zoe": "bob"}, "pool": scene.pool.pk}

    early = call(client, "POST", "run_judgment_import", started.json()["id"])
    mapped = client.patch(address, mapping, content_type="application/json").json()
    imported = call(client, "POST", "run_judgment_import", mapped["id"]).json()
    late = client.delete(address)

    judgment = Judgment.objects.get()
    assert (started.status_code, started.json()["is_ready"]) == (201, False)
    assert (early.status_code, early.json()["code"]) == (409, "not-ready")
    assert (mapped["is_ready"], mapped["report"]["new"], imported["n_imported"]) == (True, 1, 1)
    assert (judgment.assessor, judgment.choice, judgment.batch.name) == (scene.bob, "high", "Old")
    assert (late.status_code, late.json()["code"]) == (409, "already-imported")


def test_file_is_discarded_and_an_unknown_column_is_refused(scene: Scene) -> None:
    client = api(make_organizer())
    address = start(client, scene, b"topic,docno,assessor,grade\nA.1,x,bob,3\n")["Location"]

    wrong = client.patch(address, {"columns": {"color": "x"}}, content_type="application/json")
    discarded = client.delete(address)

    assert wrong.json()["errors"][0]["field"] == "columns"
    assert discarded.status_code == 204
    assert client.get(address).status_code == 404
