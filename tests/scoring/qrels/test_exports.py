"""Packages of qrels and judgments for others."""

import csv
import hashlib
import io
import re
import zipfile

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from assay.formats.qrels.reader import format_qrels, parse_qrels
from scoring.models import Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.scoring.conftest import Scene
from tracks.assessors.selectors import code_names

pytestmark = pytest.mark.django_db


def files(answer: HttpResponse) -> dict[str, bytes]:
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        contents = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}
    for line in contents["SHA256SUMS"].decode().splitlines():
        digest, name = line.split()
        assert hashlib.sha256(contents[name]).hexdigest() == digest
    return contents


@pytest.fixture
def organizer(scene: Scene, client: Client) -> Client:
    client.force_login(scene.organizer)
    return client


def export(client: Client, qrels: Qrels, **options: str) -> HttpResponse:
    answer: HttpResponse = client.get(reverse("scoring:qrels_export", args=[qrels.pk]), options)  # type: ignore[assignment]
    return answer


@pytest.mark.parametrize(
    ("form", "name"),
    [("trec", "qrels.txt"), ("arqmath", "qrels.tsv"), ("tsv", "qrels.tsv"), ("csv", "qrels.csv")],
)
def test_version_is_exported_in_every_format(scene: Scene, organizer: Client, form: str, name: str) -> None:
    qrels = scene.qrels()

    contents = files(export(organizer, qrels, to=form))

    assert set(contents) == {name, "README.md", "SHA256SUMS"}
    assert format_qrels(parse_qrels(contents[name])) == qrels_tsv(qrels)
    assert qrels.sha256 in contents["README.md"].decode()


def test_a_version_is_split_by_topic(scene: Scene, organizer: Client) -> None:
    qrels = scene.qrels()

    contents = files(export(organizer, qrels, to="arqmath", test_share="0.34", seed="5"))

    assert set(contents) == {"train.tsv", "test.tsv", "README.md", "SHA256SUMS"}
    lines = sorted((contents["train.tsv"] + contents["test.tsv"]).splitlines())
    assert lines == sorted(qrels_tsv(qrels).splitlines())
    assert len(parse_qrels(contents["test.tsv"]).topics) == 1


def test_the_same_choices_give_the_same_zip(scene: Scene, organizer: Client) -> None:
    qrels = scene.qrels()

    first, second = (export(organizer, qrels, to="csv", test_share="0.5").content for _ in range(2))

    assert first == second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "xml"}, "Choose one of the list"),
        ({"to": "csv", "test_share": "0.01"}, "one part is empty"),
        ({"to": "csv", "test_share": "7"}, "a number of at most 0.99."),
        ({"to": "csv", "seed": "-1"}, "a number of at least 0."),
        ({}, "Contents of the zip"),
    ],
)
def test_invalid_choice_shows_the_form_again(
    scene: Scene, organizer: Client, options: dict[str, str], message: str
) -> None:
    answer = export(organizer, scene.qrels(), **options)

    assert answer.status_code == 200
    assert message in answer.content.decode()


def test_judgments_are_exported_without_names(scene: Scene, organizer: Client) -> None:
    scene.judged("high", "not-relevant", "system-failure", "medium", "low", "high", "low", "low", "low")
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    answer = organizer.get(reverse("scoring:qrels_judgments", args=[qrels.pk]))

    contents = files(answer)  # type: ignore[arg-type]
    rows = list(csv.DictReader(io.StringIO(contents["judgments.csv"].decode())))
    assert len(rows) == 9
    assert {row["assessor"] for row in rows} == {code_names(scene.track)[scene.ada.pk]}
    assert {row["grade"] for row in rows if row["choice"] == "system-failure"} == {""}
    assert not re.search(rb"\bada\b", b"".join(contents.values()))


def test_page_of_a_version_offers_its_exports(scene: Scene, organizer: Client) -> None:
    scene.judged(*["high"] * 9)
    frozen, imported = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer), scene.qrels()

    pages = [organizer.get(qrels.get_absolute_url()).content.decode() for qrels in (frozen, imported)]

    assert reverse("scoring:qrels_judgments", args=[frozen.pk]) in pages[0]
    assert reverse("scoring:qrels_export", args=[imported.pk]) in pages[1]
    assert "judgments.zip" not in pages[1]
