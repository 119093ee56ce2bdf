"""Where judges of several groups judge each unit (NTCIR-12): the sum, and what each group judged."""

import pytest
from django.test import Client
from django.urls import reverse

from jobs import services as jobs
from scoring.analyses import services as analysis_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import group_versions, qrels_tsv
from tests.scoring.conftest import Scene, build_scene
from tracks.assessors.admin import AssessorForm
from tracks.assessors.services import check_group
from tracks.models import Assessor
from tracks.tracks.services import TrackRefused

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged() -> Scene:
    """Ada is a graduate, Bob an undergraduate; she finds everything relevant, he partially. One topic is judged."""
    return _judged(2, 1)


def _judged(of_ada: int, of_bob: int) -> Scene:
    """Ada gives all units of a topic one grade, Bob another."""
    scene = build_scene("ntcir-12-wikipedia")
    people = ((scene.ada, "graduate", of_ada), (scene.bob, "undergraduate", of_bob))
    for user, group, _ in people:
        Assessor.objects.filter(user=user).update(group=group)
    batch = scene.batch({scene.ada: ["A.1"], scene.bob: ["A.1"]})
    for user, _, value in people:
        grades = scene.track.protocol.parsed.judging.grades
        choice = next(row.key for row in grades if row.value == value)
        scene.judge(batch, user, choice, choice, choice)
    return scene


def test_the_sum_and_each_groups_own_grades_become_versions(judged: Scene) -> None:
    qrels = qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)

    versions = {row.name: qrels_tsv(row).decode() for row in Qrels.objects.filter(track=judged.track)}
    assert qrels.version == 1
    assert versions == {
        "": "A.1\t0\t10\t3\nA.1\t0\t9\t3\nA.1\t0\té\t3\n",
        "graduate alone, of version 1": "A.1\t0\t10\t2\nA.1\t0\t9\t2\nA.1\t0\té\t2\n",
        "undergraduate alone, of version 1": "A.1\t0\t10\t1\nA.1\t0\t9\t1\nA.1\t0\té\t1\n",
    }


def test_groups_that_agree_have_a_version_each() -> None:
    scene = _judged(1, 1)

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    groups = list(group_versions(qrels))
    assert [version.report["group"] for version in groups] == ["graduate", "undergraduate"]
    assert len({version.sha256 for version in groups}) == 1


def test_one_group_alone_gives_no_grade(client: Client) -> None:
    scene = build_scene("ntcir-12-wikipedia")
    Assessor.objects.filter(user=scene.ada).update(group="graduate")
    scene.judged("relevant")
    client.force_login(scene.organizer)

    page = client.get(reverse("scoring:freeze", args=[scene.track.slug]), {"pool": scene.pool.pk})

    assert "9 units without a grade, because a grade is the sum of 2 judgments." in page.content.decode()


def test_page_of_a_version_names_its_group(judged: Scene, client: Client) -> None:
    qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)
    client.force_login(judged.organizer)

    page = client.get(Qrels.objects.get(name__startswith="graduate").get_absolute_url()).content.decode()

    assert "of the group <em>graduate</em> only" in page
    assert "Version 1 has the judgments of all groups" in page


def test_sum_of_judges_has_no_label_of_the_scale(client: Client) -> None:
    """Grade 2 may be one judge's *Relevant*, or *Partially relevant* twice."""
    scene = _judged(1, 1)
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    client.force_login(scene.organizer)

    of_sum, of_group = (
        client.get(each.get_absolute_url()).content.decode()
        for each in (qrels, Qrels.objects.get(name__startswith="graduate"))
    )

    assert "grade-label" not in of_sum
    assert "Partially relevant" in of_group


def test_without_groups_there_is_only_the_sum(judged: Scene) -> None:
    Assessor.objects.update(group="")

    qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)

    assert Qrels.objects.filter(track=judged.track).count() == 1


@pytest.mark.parametrize(
    ("protocol", "group", "reason"),
    [
        ("ntcir-12-wikipedia", "students", "use graduate, undergraduate"),
        ("arqmath-2020-task1", "graduate", "it defines no groups"),
    ],
)
def test_only_groups_of_the_protocol_are_taken(protocol: str, group: str, reason: str) -> None:
    with pytest.raises(TrackRefused, match=reason):
        check_group(track=build_scene(protocol).track, group=group)


def test_known_items_become_qrels_without_any_judgment() -> None:
    scene = build_scene("ntcir-11-math")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert set(qrels.entries.values_list("grade", flat=True)) == {1}
    assert (qrels.n_topics, qrels.n_judged) == (3, 9)
    assert qrels.report["known_items"] == 9


@pytest.mark.parametrize(("group", "is_taken"), [("graduate", True), ("", True), ("students", False)])
def test_the_admin_takes_groups_of_the_protocol(group: str, is_taken: bool) -> None:
    scene = build_scene("ntcir-12-wikipedia")

    form = AssessorForm({"user": scene.stranger.pk, "group": group}, instance=Assessor(track=scene.track))

    assert form.is_valid() == is_taken
    assert is_taken or "use graduate, undergraduate" in str(form.errors)


def test_other_qrels_of_an_analysis_may_be_those_of_groups(judged: Scene, client: Client) -> None:
    lines = [f"A.1 1 {docno} {rank} {-rank} run\n" for rank, docno in enumerate(("10", "9"), 1)]
    judged.submit_lines(judged.ours, "run", lines)
    qrels = qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)
    alone = list(Qrels.objects.filter(track=judged.track).exclude(pk=qrels.pk).order_by("pk"))
    leaderboard_services.request_with_groups(qrels=qrels, by=judged.organizer)
    for board in Leaderboard.objects.order_by("-pk"):  # that of all judgments is scored last
        jobs.run(board.job_id or 0)

    whole = Leaderboard.objects.get(qrels=qrels)
    analysis = analysis_services.request(
        leaderboard=whole, kind="compare", by=judged.organizer, versions=alone
    )
    jobs.run(analysis.job_id or 0)
    analysis.refresh_from_db()

    # A 2 of the graduate is relevant, a 1 of the undergraduate is not.
    assert [row["relevant"]["total"] for row in analysis.result["units"]] == [3, 3, 0]
    assert [column[0] for column in analysis.result["measures"]["P(rel=3)@5"]["means"]] == [0.4, 0.4, 0.0]
    client.force_login(judged.organizer)
    query = {"track": judged.track.slug, "measure": "P(rel=3)@5", "digits": "2"}
    address = reverse("scoring:comparison_file", args=["groups", "csv"])
    assert client.get(address, query).content.decode().splitlines() == [
        "collection,Run,P(rel=3)@5: all judgments,P(rel=3)@5: graduate,P(rel=3)@5: undergraduate",
        "ARQ,Ours: run,0.40,0.40,0.00",
    ]
