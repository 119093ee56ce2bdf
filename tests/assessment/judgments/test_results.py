"""Judgments with the columns of Turkle's results, and a project of Turkle that moves to Assay and back."""

import csv
from io import BytesIO, StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from assay import samples
from assay.cli.main import main
from assay.formats.judgments.turkle import COLUMNS
from assay_extensions.turkle.moves import answer_of, read_table
from assessment.imports import services as import_services
from assessment.judgments import services as judgment_services
from assessment.models import Judgment
from scoring.models import Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.helpers.api import api
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.judging import accept
from tests.helpers.row_scenes import TURKLE, build_pool, build_rows, make_row_track

PROJECT = samples.path("turkle-project/template.html").parent


def moved(folder: Path, *options: str) -> Path:
    files = [str(PROJECT / name) for name in ("template.html", "batch.csv", "results.csv")]
    assert main(["turkle", *files, "--to", str(folder), *options]) == 0
    return folder


def rows_of(content: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(content, newline="")))


@pytest.mark.django_db
def test_page_command_and_api_write_turkles_columns(capsys: pytest.CaptureFixture[str]) -> None:
    scene = build_rows(TURKLE.replace("SCRIPT", ""), "topic,docno,text\nt,1,=Lovely\n")
    answers = {"mood": "good", "why": ["words", "tone"], "note": "=1+1"}
    judgment_services.submit(
        task=accept(scene.batch, scene.ada), choice="answered", answers=answers, request_id=uuid4(), seconds=7
    )
    organizer = Client()
    organizer.force_login(scene.organizer)
    query = {"to": "turkle", "names": "usernames", "comments": "without"}

    page = organizer.get(reverse("assessment:export", args=[scene.track.slug]), query)
    through_api = api(scene.organizer).get(reverse("api:export_judgments", args=[scene.track.slug]), query)
    call_command(
        "export_judgments", scene.track.slug, "-", "--format", "turkle", "--usernames", "--no-comments"
    )

    content = b"".join(page).decode()
    assert content == b"".join(through_api).decode() == capsys.readouterr().out
    assert content.startswith('"HITId","HITTypeId","Title"')
    [row] = rows_of(content)
    names = ["Input.docno", "Input.text", "Input.topic", "Answer.mood", "Answer.note", "Answer.why"]
    assert list(row) == [*COLUMNS, *names, "Turkle.Username"]
    assert [row[name] for name in names] == ["1", "'=Lovely", "t", "good", "'=1+1", "words|tone"]
    assert (row["Turkle.Username"], row["WorkTimeInSeconds"], row["MaxAssignments"]) == ("ada", "7", "1")
    assert row["SubmitTime"].split()[4] == "UTC"
    assert "attachment" in page.headers["Content-Disposition"]
    assert "sentiment-turkle.csv" in page.headers["Content-Disposition"]


@pytest.mark.django_db
def test_project_of_label_studio_moves_with_its_judgments(tmp_path: Path) -> None:
    config, tasks = (str(samples.path(f"label-studio/{name}")) for name in ("config.xml", "tasks.json"))
    assert main(["label-studio", "import", config, tasks, "--to", str(tmp_path / "answers")]) == 0
    lab = tmp_path / "answers"
    track = make_row_track((lab / "lab.toml").read_text(), (lab / "rows.csv").read_text())
    organizer = make_organizer()
    pool = build_pool(track, organizer)
    people = {
        "4": make_assessor(track, "dora").username,
        "ann@example.org": make_assessor(track, "ann").username,
    }
    data = (lab / "judgments.csv").read_bytes()

    source = import_services.import_file(
        track=track, name="judgments.csv", file=BytesIO(data), assessors=people, by=organizer
    )

    assert source.n_imported == 3
    ann = Judgment.objects.get(docno="11", assessor__username="ann")
    terms = [{"start": 5, "length": 5, "choice": "term"}]
    assert ann.answers == {
        "quality": "3", "kind": "definition", "faults": ["vague"], "facts": "2", "terms": terms
    }  # fmt: skip
    assert (ann.source, ann.seconds) == ("label-studio", 12)
    assert Judgment.objects.get(docno="12").choice == "skipped"
    qrels_services.freeze_judgments(pool=pool, by=organizer, also=["dual"])
    assert qrels_tsv(Qrels.objects.get(track=track, report__set="quality")).decode().split() == [
        "rows",
        "0",
        "11",
        "3",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("${passage}", "${text}", "template.html: line 2: no batch has the column text"),
        ('name="grade"', 'name="${question}"', ""),
    ],
)
def test_template_and_batch_are_checked_against_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    template = tmp_path / "template.html"
    template.write_text((PROJECT / "template.html").read_text().replace(old, new))

    status = main(["turkle", str(template), str(PROJECT / "batch.csv"), "--to", str(tmp_path / "lab")])

    assert (status, message in capsys.readouterr().err) == (2 if message else 0, True)
    assert (tmp_path / "lab").exists() == (not message)


def test_results_that_turkles_api_cut_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "results.csv"
    cut.write_bytes((PROJECT / "results.csv").read_bytes()[:-4])

    status = main(["turkle", str(PROJECT / "template.html"), str(cut), "--to", str(tmp_path / "lab")])

    assert status == 2
    assert "download them on the page of the batch" in capsys.readouterr().err


def test_rows_come_from_results_alone_and_tasks_with_equal_rows_stay_apart(tmp_path: Path) -> None:
    table = read_table((PROJECT / "results.csv").read_text(), "results.csv")
    results = [line.cells for line in table.lines]
    twice = [*results, {**results[0], "HITId": "9", "Turkle.Username": "cyd"}]
    path = tmp_path / "results.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(results[0]), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(twice)

    assert main(["turkle", str(PROJECT / "template.html"), str(path), "--to", str(tmp_path / "lab")]) == 0

    judged = rows_of((tmp_path / "lab" / "judgments.csv").read_text(encoding="utf-8-sig"))
    assert [(row["docno"], row["assessor"]) for row in judged][::5] == [("1", "ann"), ("4", "cyd")]


def test_lists_of_python_are_read_and_nothing_is_run() -> None:
    assert answer_of("[__import__('os')]", None) == "[__import__('os')]"
    assert answer_of("['a', 1]", None) == "['a', 1]"
