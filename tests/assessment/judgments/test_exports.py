"""The judgments of a track as a file: from the page and from the command."""

import csv
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from assay.formats.judgments.reader import parse_judgments
from assay.formats.judgments.rows import COLUMNS
from assessment.models import Judgment
from assessment.planning import services as assignment_services
from publishing.archives.loading import CODE_NAME
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.judging import accept, judge, judge_all, make_batch
from tracks.assessors.selectors import code_names


@pytest.fixture
def organizer(client: Client, db: None) -> Client:
    client.force_login(make_organizer())
    return client


def export(client: Client, scene: Scene, **options: str) -> bytes:
    chosen = {"to": "csv", "names": "usernames", "comments": "with"} | options
    answer = client.get(reverse("assessment:export", args=[scene.track.slug]), chosen)
    assert answer.status_code == 200
    return b"".join(answer)


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


@pytest.fixture
def judged(scene: Scene) -> Scene:
    """Ada revises one judgment and gives a non-answer; Bob takes over a topic; a training round; an adjudication."""
    task = accept(scene.batch, scene.ada)
    judge(task, "low", "=1+1")
    judge(task, "high", "by Ada\r\nherself")
    judge(accept(scene.batch, scene.ada), "do-not-know", "'=x")
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    judge(accept(scene.batch, scene.bob), "medium")
    training = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")
    judge_all(training, scene.bob)
    adjudication = make_batch(scene.pool, {scene.bob: [scene.first]}, kind="adjudication")
    judge(accept(adjudication, scene.bob), "not-relevant")
    return scene


def test_every_judgment_is_exported_with_all_fields(judged: Scene, organizer: Client) -> None:
    rows = rows_of(export(organizer, judged))

    assert list(rows[0]) == list(COLUMNS)
    assert [row["judgment"] for row in rows] == [str(n) for n in range(1, 9)]
    first, second, third, fourth = rows[:4]
    assert (first["choice"], first["label"], first["grade"]) == ("low", "Low", "1")
    assert (first["comment"], second["comment"], third["comment"]) == ("'=1+1", "by Ada\r\nherself", "''=x")
    assert [(row["is_current"], row["replaces"]) for row in rows[:3]] == [
        ("False", ""),
        ("True", "1"),
        ("True", ""),
    ]
    assert (third["choice"], third["grade"], third["is_withdrawn"]) == ("do-not-know", "", "True")
    assert (fourth["assessor"], fourth["is_withdrawn"], fourth["seat"]) == ("bob", "False", "1")
    assert [row["is_adjudicated"] for row in rows[:4]] == ["True", "True", "False", "False"]
    assert [(row["kind"], row["round"]) for row in rows[3:]] == [
        ("main", ""), *[("training", "1")] * 3, ("adjudication", ""),
    ]  # fmt: skip
    judgment = Judgment.objects.latest("pk")
    assert rows[-1]["judged_at"] == judgment.created_at.isoformat(timespec="seconds")
    assert rows[-1]["accepted_at"] == judgment.task.accepted_at.isoformat(timespec="seconds")


def test_both_formats_have_the_same_judgments(judged: Scene, organizer: Client) -> None:
    as_csv = parse_judgments(export(organizer, judged), "judgments.csv")
    lines = export(organizer, judged, to="jsonl")
    as_jsonl = parse_judgments(lines, "judgments.jsonl")

    assert next(row for row in as_csv.rows if row.comment == "'=x").choice == "do-not-know"
    assert [_without_line(row) for row in as_csv.rows] == [_without_line(row) for row in as_jsonl.rows]
    assert json.loads(lines.splitlines()[2])["grade"] is None


def _without_line(row: object) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__slots__ if name != "line"}  # type: ignore[attr-defined]


def test_code_names_are_stable_and_comments_can_be_left_out(judged: Scene, organizer: Client) -> None:
    first = export(organizer, judged, names="codes", comments="without")
    names = {row["assessor"] for row in rows_of(first)}

    make_assessor(judged.track, "carl")
    again = export(organizer, judged, names="codes", comments="without")

    assert len(names) == 2
    assert all(CODE_NAME.fullmatch(name) for name in names)
    assert first == again
    assert not {b"ada", b"Ada", b"bob"} & set(first.replace(b",", b" ").split())
    assert len({*code_names(judged.track).values()}) == 3


def test_export_of_a_choice_that_is_not_offered_shows_the_form(scene: Scene, organizer: Client) -> None:
    page = organizer.get(reverse("assessment:export", args=[scene.track.slug]), {"to": "xls"})

    assert page.status_code == 400
    assert "Choose one of the list" in page.content.decode()


def test_command_writes_the_file_of_the_page(judged: Scene, organizer: Client, tmp_path: Path) -> None:
    path = tmp_path / "judgments.csv"

    call_command("export_judgments", judged.track.slug, str(path), "--usernames")

    assert path.read_bytes() == export(organizer, judged)
    with pytest.raises(CommandError, match="cannot be written: File exists"):
        call_command("export_judgments", judged.track.slug, str(path))
    with pytest.raises(CommandError, match="There is no track x"):
        call_command("export_judgments", "x", "-")


def test_command_writes_code_names_to_standard_output(
    judged: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("export_judgments", judged.track.slug, "-", "--format", "jsonl", "--no-comments")

    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["assessor"] for row in rows} == {*code_names(judged.track).values()}
    assert {row["comment"] for row in rows} == {""}
