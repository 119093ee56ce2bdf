"""The lab of captions from its table to answers, agreement, qrels and an archive that is verified and loaded."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Judgment
from scoring.models import Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.helpers.row_scenes import CAPTIONS, ROWS, RowScene, build_pool, build_rows
from tests.publishing.archives.test_arguments import archive_of, findings_of, load, written
from tracks.checklist.selectors import checklist
from tracks.models import Row, Track
from tracks.rows.services import import_rows

KINDS = {"f1": "all", "f2": "some", "n1": "none"}


def judge_all(scene: RowScene) -> None:
    for assessor in (scene.ada, scene.bob):
        while task := task_services.accept_next(batch=scene.batch, assessor=assessor):
            kept = KINDS[task.entry.docno]
            is_strict = assessor == scene.bob and kept == "all"
            answers = {"adequacy": "some" if is_strict else kept, "errors": ["term"], "fluent": "yes"}
            if answers["adequacy"] == "all":
                answers.pop("errors")
            judgment_services.submit(task=task, choice="answered", answers=answers, request_id=uuid4())


@pytest.mark.django_db
def test_rows_become_answers_agreement_qrels_and_an_archive(tmp_path: Path) -> None:
    scene = build_rows()
    judge_all(scene)
    client = Client()
    client.force_login(scene.organizer)
    agreement = client.get(reverse("assessment:agreement", args=[scene.track.slug]))
    new_pool = client.get(reverse("pooling:new_pool", args=[scene.track.slug]))
    freeze = client.get(reverse("scoring:freeze", args=[scene.track.slug])).content.decode()
    qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    import_rows(track=scene.track, data=f"{ROWS}news,n2,Nein,No\n".encode(), name="more.csv")
    build_pool(scene.track, scene.organizer, "Second", tops_up=scene.pool)

    path = written(archive_of(scene.track, scene.organizer), tmp_path)
    wrong = [finding for finding in findings_of(path) if not finding.is_right]
    loaded = load(path, scene.organizer, slug="again")

    again = Track.objects.get(slug="again")
    assert wrong == []
    assert loaded.track == again
    assert agreement.context["scale"].key == "adequacy", "all have one grade, so a question comes first"
    assert agreement.context["pairs"][0].kappa.n == 3
    assert "order" not in new_pool.context["form"].fields, "no run names the rows"
    assert "The pool has every" in new_pool.content.decode()
    assert "By the set <em>adequacy</em>" in freeze
    of_set = Qrels.objects.get(track=scene.track)  # and no version in which every row has the same grade
    assert (of_set.set_key, of_set.name, "part_of" in of_set.report) == ("adequacy", "adequacy", False)
    assert qrels_tsv(of_set).decode().replace("\t", " ").split("\n") == [
        "films 0 f1 1",
        "films 0 f2 1",
        "news 0 n1 0",
        "",
    ]
    assert qrels_tsv(Qrels.objects.get(track=again, report__set="adequacy")) == qrels_tsv(of_set)
    assert Judgment.objects.filter(track=again).count() == 6
    rows = [
        list(Row.objects.filter(topic__track=track).order_by("pk").values_list("docno", "fields"))
        for track in (scene.track, again)
    ]
    assert rows[1] == rows[0]
    assert len(rows[1]) == 4


@pytest.mark.django_db
def test_questions_without_grades_and_sets_make_no_qrels() -> None:
    scene = build_rows(CAPTIONS.partition("[[qrels.set]]")[0])
    judge_all(scene)
    client = Client()
    client.force_login(scene.organizer)

    page = client.get(reverse("scoring:freeze", args=[scene.track.slug])).content.decode()
    refused = client.post(reverse("scoring:freeze", args=[scene.track.slug]), {"pool": scene.pool.pk})

    assert "captions asks questions without grades." in page
    assert "No question gives a grade, so there are no qrels." in page
    assert "and it names no sets of qrels." in refused.content.decode()
    assert not Qrels.objects.exists()
    points = [point.label for phase in checklist(scene.track).phases for point in phase.points]
    assert "Qrels" not in points
