"""The reports of a leaderboard: tables of what is stored, and of what jobs computed; for organizers alone."""

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from assay_extensions.analyses.site import report_pages
from assay_extensions.analyses.site import services as analysis_services
from assessment.models import Batch
from jobs import services as jobs
from scoring.models import Analysis, Leaderboard, Qrels
from tests.scoring.conftest import QRELS, Scene
from web.tables import ShownTable


@pytest.fixture
def board(scored: Scene) -> Leaderboard:
    for topic, difficulty in zip(scored.topics.values(), ("easy", "hard", "hard"), strict=True):
        topic.labels = {"difficulty": difficulty}
        topic.save()
    scored.submit(scored.theirs, "middling", "9 10 é")
    return scored.leaderboard()


def analyzed(scene: Scene, board: Leaderboard, kind: str, *versions: Qrels) -> Analysis:
    analysis = analysis_services.request(leaderboard=board, kind=kind, versions=versions, by=scene.organizer)
    assert analysis.job_id is not None
    jobs.run(analysis.job_id)
    analysis.refresh_from_db()
    assert analysis.status == Analysis.Status.READY, analysis.job
    return analysis


def client_of(scene: Scene, part: str = "organizer") -> Client:
    client = Client()
    client.force_login(getattr(scene, part))
    return client


def table_of(tables: list[ShownTable], name: str) -> list[list[str]]:
    (named,) = [table for table in tables if table.name == name]
    return [[text for text, _ in row] for row in named.cells]


def test_reports_by_label_cover_the_topic_classes_of_the_protocol(scored: Scene, board: Leaderboard) -> None:
    for topic in scored.topics.values():
        topic.labels |= {"color": "red"}
        topic.save()

    def labels() -> set[str]:
        tables = report_pages.reports_page(scored.organizer, board).tables
        return {table.name for table in tables if table.name in {"label_color", "label_difficulty"}}

    assert labels() == {"label_difficulty"}
    stored = board.track.protocol
    stored.text = stored.text.replace('topic_classes = ["category", "difficulty", "dependence"]', "")
    stored.save()
    board.refresh_from_db()
    assert labels() == {"label_color", "label_difficulty"}


def test_units_and_rankings_by_label_need_no_job(scored: Scene, board: Leaderboard) -> None:
    page = report_pages.reports_page(scored.organizer, board)

    assert table_of(page.tables, "units")[0][1:6] == ["3", "2", "2", "2.0000", "6"]
    runs = [row[0] for row in table_of(page.tables, "label_difficulty")]
    assert runs == ["good", "middling", "poor", "mean gap between neighbors"]
    assert ["easy", "hard"] in [row[:2] for row in table_of(page.tables, "label_difficulty_tau")]


def test_chosen_measure_is_compared(scored: Scene, board: Leaderboard) -> None:
    page = report_pages.reports_page(scored.organizer, board, "AP(rel=2)'")
    junk = report_pages.reports_page(scored.organizer, board, "nonsense")

    assert (page.charted, junk.charted) == ("AP(rel=2)'", board.measures[0])


def test_page_without_labels_names_where_to_import_them(scored: Scene) -> None:
    board = scored.leaderboard()

    page = client_of(scored).get(reverse("analyses:reports", args=[board.pk])).content.decode()

    assert "No topic has a label yet (category, difficulty, dependence)" in page


def test_an_organizer_has_something_computed_and_reads_it(scored: Scene, board: Leaderboard) -> None:
    client = client_of(scored)
    address = reverse("analyses:reports", args=[board.pk])

    asked = client.post(reverse("analyses:analyze", args=[board.pk]), {"kind": "reusability"})
    analysis = Analysis.objects.get()
    waiting = client.get(address).content.decode()
    assert analysis.job_id is not None
    jobs.run(analysis.job_id)
    page = client.get(address).content.decode()

    assert asked["Location"] == address
    assert "Units that only one team contributed" not in waiting
    for text in (
        "Units that only one team contributed",
        "Shallower pools",
        f"seed {analysis.seed}",
        "Repeat the analysis",
    ):
        assert text in page


def test_all_analyses_that_need_no_choice_are_started_at_once(scored: Scene, board: Leaderboard) -> None:
    client = client_of(scored)
    page = client.get(reverse("analyses:reports", args=[board.pk])).content.decode()
    form = page[page.index("analyze") : page.index(" analyses</button>")]
    kinds = re.findall(r'name="kind" value="(\w+)"', form)

    client.post(reverse("analyses:analyze", args=[board.pk]), {"kind": kinds})
    after = client.get(reverse("analyses:reports", args=[board.pk])).content.decode()

    assert len(kinds) > 1
    assert "compare" not in kinds
    assert sorted(Analysis.objects.values_list("kind", flat=True)) == sorted(kinds)
    assert " analyses</button>" not in after


def test_units_of_one_team_only_and_their_effect_are_shown_by_run_and_measure(
    scored: Scene, board: Leaderboard
) -> None:
    analyzed(scored, board, "reusability")
    sections = report_pages.reports_page(scored.organizer, board).sections
    (section,) = [section for section in sections if section.kind == "reusability"]

    teams = table_of(section.tables, "teams")
    changes = table_of(section.tables, "left_out")
    assert [row[:2] for row in teams] == [["Ours", "1"], ["Theirs", "2"]]
    assert len(changes) == 3, "of the measure of the page"
    assert all(float(row[5]) == pytest.approx(float(row[4]) - float(row[3]), abs=2e-4) for row in changes)


def test_measures_head_columns_by_their_own_names(scored: Scene, board: Leaderboard) -> None:
    analyzed(scored, board, "reusability")

    page = client_of(scored).get(reverse("analyses:reports", args=[board.pk])).content.decode()

    assert '<th scope="col">Team</th>' in page
    assert "nDCG&#x27;</th>" in page
    assert "NDCG" not in page


def test_runs_are_scored_with_other_qrels_too(scored: Scene, board: Leaderboard) -> None:
    students = scored.qrels(QRELS.replace(b"A.1 0 10 3", b"A.1 0 10 1"), name="students")
    client = client_of(scored)

    client.post(
        reverse("analyses:analyze", args=[board.pk]),
        {"kind": "compare", "versions": [str(students.pk), "junk", "99999"]},
    )
    analysis = Analysis.objects.get()
    assert analysis.job_id is not None
    jobs.run(analysis.job_id)
    sections = report_pages.reports_page(scored.organizer, board).sections
    (section,) = [section for section in sections if section.kind == "compare"]

    assert [row[0] for row in table_of(section.tables, "units")] == [
        "version 1",
        "version 2 (students)",
    ]


def test_fewer_topics_and_significantly_different_pairs(scored: Scene, board: Leaderboard) -> None:
    analyzed(scored, board, "topics")
    page = client_of(scored).get(reverse("analyses:reports", args=[board.pk])).content.decode()

    assert "Discriminative power" in page
    assert "Fewer topics" in page


@pytest.mark.parametrize("asked", [{"kind": "nonsense"}, {}, {"kind": "compare"}])
def test_what_cannot_be_computed_is_refused(scored: Scene, board: Leaderboard, asked: dict[str, str]) -> None:
    answer = client_of(scored).post(reverse("analyses:analyze", args=[board.pk]), asked)

    assert answer.status_code == 409
    assert not Analysis.objects.exists()


def test_tables_are_files_too(scored: Scene, board: Leaderboard) -> None:
    analysis = analyzed(scored, board, "reusability")
    client = client_of(scored)

    def text(name: str, *arguments: object) -> str:
        answer = client.get(reverse(f"analyses:{name}", args=arguments))
        assert answer.status_code == 200
        return str(answer.content.decode())

    assert text("report_table", board.pk, "units", "tsv").splitlines()[0].split("\t")[:2] == [
        "qrels",
        "topics",
    ]
    assert text("analysis_table", analysis.pk, "teams", "csv").splitlines()[0].startswith("team,")
    content = json.loads(text("analysis_json", analysis.pk))
    assert (content["seed"], content["qrels"]["sha256"]) == (analysis.seed, board.qrels.sha256)
    assert content["teams"] == analysis.result["teams"]
    for name, first in (("report_table", board.pk), ("analysis_table", analysis.pk)):
        assert client.get(reverse(f"analyses:{name}", args=[first, "nonsense", "tsv"])).status_code == 404


def test_a_team_neither_reads_nor_asks(scored: Scene, board: Leaderboard) -> None:
    Leaderboard.objects.filter(pk=board.pk).update(release="public", released_at="2026-01-01T00:00Z")
    client = client_of(scored, "member")

    assert client.get(reverse("analyses:reports", args=[board.pk])).status_code == 403
    assert client.post(reverse("analyses:analyze", args=[board.pk]), {"kind": "topics"}).status_code == 403
    assert not Analysis.objects.exists()


def test_leaderboard_by_either_judge_has_tau_between_them(scored: Scene) -> None:
    scored.submit(scored.theirs, "middling", "9 10 é")
    scored.judged("high", "not-relevant", "low")
    second = scored.batch({scored.bob: ["A.1"]}, kind=Batch.Kind.DUAL)
    scored.judge(second, scored.bob, "not-relevant", "high", "low")
    board = scored.leaderboard()
    client = client_of(scored)
    page = client.get(reverse("analyses:effect", args=[scored.track.slug]), follow=True)
    assert "Start the analysis" in page.content.decode()

    analyzed(scored, board, "judges")

    pages = [report_pages.reports_page(scored.organizer, board, measure) for measure in board.measures]
    of_measures = [table_of(page.sections[-1].tables, "judges") for page in pages]
    rows = [row for rows in of_measures for row in rows]
    assert [row[:2] for row in rows[:1]] == [["first judge", "second judge"]]
    assert {tuple(row[:2]) for row in rows} == {("first judge", "second judge"), ("ada", "bob")}
    assert {row[3] for row in rows} == {"1"}
    assert any(row[5] == "-1.0000" for row in rows)  # Ada and Bob exchange the relevant document
    assert [{row[2] for row in rows} for rows in of_measures] == [{measure} for measure in board.measures]
    assert len(table_of(pages[0].sections[-1].tables, "judge_ranks")) == board.evaluations.count()


def test_judges_are_compared_only_where_two_graded(scored: Scene) -> None:
    board = scored.leaderboard()
    analysis = analysis_services.request(leaderboard=board, kind="judges", by=scored.organizer)
    jobs.run(analysis.job_id)  # type: ignore[arg-type]

    html = client_of(scored).get(reverse("analyses:reports", args=[board.pk])).content.decode()

    assert "No document has the grades of two assessors yet" in html
