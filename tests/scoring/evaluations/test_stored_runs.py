"""Leaderboards of protocols that do not score documents one by one: distinct formulas, and near-duplicates."""

from io import BytesIO

import pytest
from django.test import Client

from assay.formats.qrels.reader import parse_qrels
from corpus.models import Collection, Formula
from jobs import services as jobs
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Pool, PoolEntry, PoolMember
from pooling.runs import services as run_services
from scoring.errors import LeaderboardRefused, QrelsRefused
from scoring.evaluations.stored_runs import judged_documents, ranking_of
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels, Score
from scoring.qrels import services as qrels_services
from tests.helpers.factories import (
    make_answer,
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
)
from tests.helpers.form_runs import bolt_run
from tracks.models import Topic

pytestmark = pytest.mark.django_db

FORMULA_RUN = b"B.1\tf1\t11\t1\t9\tr\nB.1\tf2\t11\t2\t8\tr\nB.1\tf3\t11\t3\t7\tr\nB.1\tf4\t11\t4\t6\tr\n"
VISUAL = {"f1": "v1", "f2": "v1", "f3": "v2", "f4": ""}


def formula_team(protocol: str = "arqmath-2020-task2") -> Team:
    collection = make_collection(status=Collection.Status.READY)
    make_answer(make_document(collection, "10"), "11")
    for code, visual in VISUAL.items():
        Formula.objects.create(
            collection=collection, code=code, post="11", thread="10", place=2, visual=visual
        )
    track = make_track("formulas", protocol=protocol, collection=collection)
    make_topic(track, "B.1")
    return team_services.create(track=track, name="Ours", members=[])


def frozen(team: Team, text: bytes) -> Qrels:
    return qrels_services.import_file(
        track=team.track, columns=parse_qrels(text), file_name="q", by=make_organizer()
    )


def submitted(team: Team, content: bytes, kind: str = "primary") -> None:
    run_services.submit(
        track=team.track,
        team=team,
        by=make_organizer(),
        file=BytesIO(content),
        file_name="r.tsv",
        declared=run_services.Declaration(kind=kind),
    )


def board_of(qrels: Qrels) -> Leaderboard:
    board = leaderboard_services.request(qrels=qrels, by=make_organizer())
    assert board.job is not None
    jobs.run(board.job.pk)
    board.refresh_from_db()
    return board


def test_runs_of_instances_are_scored_by_distinct_formulas() -> None:
    team = formula_team()
    submitted(team, FORMULA_RUN)

    board = board_of(frozen(team, b"B.1 0 v1 0\nB.1 0 v2 3\n"))

    assert board.status == Leaderboard.Status.READY
    values = dict(Score.objects.filter(topic="B.1").values_list("measure", "value"))
    assert values["AP(rel=2)'"] == 0.5
    assert values["judged@10"] == 1.0


def test_a_run_is_read_as_its_protocol_scores_it() -> None:
    team = formula_team()
    submitted(team, FORMULA_RUN)

    ranking = ranking_of(team.track.runs.get(), team.track)

    assert (ranking.topics.tolist(), ranking.docno.tolist()) == (["B.1"], [b"v1", b"v2"])


def test_distinct_formulas_need_a_collection() -> None:
    team = formula_team()
    submitted(team, FORMULA_RUN)
    qrels = frozen(team, b"B.1 0 v1 0\n")
    Collection.objects.update(status=Collection.Status.IMPORTING)
    qrels.track.refresh_from_db()

    with pytest.raises(
        LeaderboardRefused, match="collapse_instances: each instance counts as its visually distinct"
    ):
        leaderboard_services.request(qrels=qrels, by=make_organizer())


def tied(topic: Topic, name: str, judged: str, *others: str) -> Pool:
    """A pool with one class of near-duplicates, of which one is judged."""
    track = topic.track
    pool = Pool.objects.create(
        track=track,
        name=name,
        protocol=track.protocol,
        protocol_digest=track.protocol.digest,
        seed=1,
        status=Pool.Status.READY,
        created_by=make_organizer(),
    )
    entry = PoolEntry.objects.create(pool=pool, topic=topic, docno=judged, position=0)
    for docno in (judged, *others):
        PoolMember.objects.create(entry=entry, docno=docno)
    return pool


def bolt_qrels(topic: Topic) -> Qrels:
    columns = parse_qrels(b"1 0 t:p:0:5 2\n1 0 o:p:0:9 0\n")
    return qrels_services.import_file(track=topic.track, columns=columns, file_name="q", by=make_organizer())


def test_near_duplicates_that_a_pool_tied_are_known_to_scoring() -> None:
    topic = make_topic(make_track("bolt", protocol="bolt-ir-p3", collection=None), "1")
    tied(topic, "P", "t:p:0:5", "t:q:0:5")

    judged = judged_documents(bolt_qrels(topic))

    assert judged.n_graded(1).tolist() == [1]
    assert judged.grade.tolist() == [0, 2, 2]
    assert judged.group is not None
    assert judged.group[1] == judged.group[2] != judged.group[0]


def test_citations_are_scored_in_characters_on_the_leaderboard_and_the_page_of_the_run(
    client: Client,
) -> None:
    """Topic T1: 0 to 19 of p0 is relevant, and a near-duplicate of it ranks second. So 20 of 60 characters are."""
    topic = make_topic(make_track("bolt", protocol="bolt-ir-p3", collection=None), "T1")
    make_topic(topic.track, "T2")
    team = team_services.create(track=topic.track, name="Owls", members=[])
    submitted(team, bolt_run(), kind="evaluation")
    tied(topic, "P", "bolt-eng-DF-1:0:p0:0:20", "bolt-eng-DF-1:1:p1:10:20")
    text = b"T1 0 bolt-eng-DF-1:0:p0:0:20 2\nT1 0 bolt-eng-DF-1:2:p2:30:30 1\n"

    board = board_of(frozen(team, text))

    values = dict(Score.objects.filter(topic="T1").values_list("measure", "value"))
    assert values["charP@100"] == pytest.approx(
        (20 + 10) / 60
    )  # 20 to 39 of p2 is cited, 30 to 59 is relevant
    assert values["charRprec"] == pytest.approx(20 / 40)
    assert values["charR@100"] == pytest.approx(30 / 50)
    assert values["charAP@1000"] == pytest.approx((20 + 10 * 30 / 60) / 50)
    client.force_login(make_organizer())
    page = client.get(board.evaluations.get().get_absolute_url()).content.decode()
    assert "relevant from grade 1; in characters of the citations" in page


def test_qrels_of_other_documents_cannot_be_scored_in_characters() -> None:
    topic = make_topic(make_track("bolt", protocol="bolt-ir-p3", collection=None), "1")

    with pytest.raises(QrelsRefused, match="other is not a citation; measures in characters"):
        qrels_services.import_file(
            track=topic.track, columns=parse_qrels(b"1 0 other 0\n"), file_name="q", by=make_organizer()
        )


def test_frozen_qrels_know_what_their_own_pools_tie_and_no_other() -> None:
    topic = make_topic(make_track("bolt", protocol="bolt-ir-p3", collection=None), "1")
    pool = tied(topic, "P", "t:p:0:5", "t:q:0:5")
    tied(topic, "of other runs", "t:q:0:5", "t:p:0:5", "t:r:0:5")
    qrels = bolt_qrels(topic)
    qrels.pool = pool

    judged = judged_documents(qrels)

    assert judged.grade.tolist() == [0, 2, 2]
