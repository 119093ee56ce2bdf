import json
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction

from assay.errors import Refused
from assay_extensions.analyses.site import services as analysis_services
from assay_extensions.machines.site import services as machine_services
from assay_extensions.papers.site.selectors import collection_of
from assessment.judging import services as task_services
from assessment.models import Judgment
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, PoolMember, Run
from pooling.pools import services as pool_services
from pooling.runs import services as runs
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Analysis, Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from scoring.stored_analyses import (
    analyses_for,
    evaluated,
    newest,
    other_versions,
    rankings_by_label,
    scores_of,
)
from tests.helpers.factories import make_assessor
from tests.helpers.formula_scene import FormulaScene, build_formula_scene
from tests.helpers.judging import make_batch, make_machine
from tests.helpers.real_files import KNOWN, real_qrels
from tests.scoring.conftest import QRELS, Scene

MORE = QRELS + b"A.1 0 x 3\n"


def computed(scene: Scene, board: Leaderboard, kind: str, **arguments: object) -> Analysis:
    """An analysis by a job that this process runs."""
    analysis = analysis_services.request(leaderboard=board, kind=kind, by=scene.organizer, **arguments)  # type: ignore[arg-type]
    assert analysis.job is not None
    jobs.run(analysis.job.pk)
    analysis.refresh_from_db()
    return analysis


def test_a_team_is_left_out_of_the_tracks_own_pool(scored: Scene) -> None:
    board = scored.leaderboard(scored.qrels(MORE))

    analysis = computed(scored, board, Analysis.Kind.REUSABILITY)

    result = analysis.result
    assert analysis.status == Analysis.Status.READY
    assert [row["tag"] for row in result["runs"]] == ["good", "poor"]
    teams = {row["team"]: row for row in result["teams"]}
    # good ranks 10 é 9, poor x 9 10: é is alone ours (judged in A.2), x alone theirs (judged in A.1)
    assert (teams["Ours"]["n_judged"], teams["Ours"]["n_relevant"]) == (1, 1)
    assert (teams["Theirs"]["n_judged"], teams["Theirs"]["n_relevant"]) == (1, 1)
    (change,) = teams["Theirs"]["changes"]
    assert change["run"] == 1
    assert change["after"][0] < change["before"][0]
    assert result["units"]["judged"]["total"] == 7
    assert len(result["depths"]) == 10
    assert result["depths"][-1]["label"] == "primary 50, alternate 20"
    assert result["depths"][-1]["n_judged"] == 7


def test_pools_of_an_analysis_are_as_deep_as_those_that_were_judged(scored: Scene) -> None:
    qrels = scored.qrels(MORE)
    track, stored = scored.track, scored.track.protocol
    shallow = {
        "track": track,
        "protocol": stored,
        "protocol_digest": stored.digest,
        "seed": 1,
        "created_by": scored.organizer,
    }
    first = Pool.objects.create(name="First", depth={"primary": 2, "alternate": 1}, **shallow)
    late = Pool.objects.create(name="Late", depth={"primary": 1, "alternate": 2}, tops_up=first, **shallow)
    Qrels.objects.update(pool=late)
    qrels.refresh_from_db()

    analysis = computed(scored, scored.leaderboard(qrels), Analysis.Kind.REUSABILITY)

    assert [row["label"] for row in analysis.result["depths"]] == ["1", "2"]
    teams = {row["team"]: row for row in analysis.result["teams"]}
    # good brings 10 and é to each of three topics, poor x and 9: deeper, each would bring all of the other but one
    assert (teams["Ours"]["n_pooled"], teams["Theirs"]["n_pooled"]) == (6, 6)


def test_the_pool_of_today_is_recorded_with_its_runs(scored: Scene) -> None:
    board = scored.leaderboard()

    result = computed(scored, board, Analysis.Kind.REUSABILITY).result

    standing = Run.objects.filter(track=scored.track)
    assert {(row["run"], row["sha256"]) for row in result["pooled"]} == {
        (row.pk, row.sha256) for row in standing
    }


def test_runs_are_ranked_by_fewer_topics_with_the_seed_that_is_kept(scored: Scene) -> None:
    board = scored.leaderboard()

    analysis = computed(scored, board, Analysis.Kind.TOPICS)

    result = analysis.result
    assert result["n_topics"] == 3
    assert set(result["measures"]) == set(board.measures)
    assert [point["n_topics"] for point in result["measures"]["nDCG'"]["points"]] == [3]
    assert result["measures"]["nDCG'"]["share_significant"] == 0
    Analysis.objects.filter(pk=analysis.pk).update(status=Analysis.Status.COMPUTING, result={})
    job = Job.objects.get(pk=analysis.job_id)
    Job.objects.filter(pk=job.pk).update(state=Job.State.QUEUED, attempt=0)
    jobs.run(job.pk)
    analysis.refresh_from_db()
    assert analysis.result == result


def test_the_same_runs_are_scored_by_other_versions(scored: Scene) -> None:
    first, second = scored.qrels(), scored.qrels(MORE, name="students")
    board = scored.leaderboard(first)

    analysis = computed(scored, board, Analysis.Kind.COMPARE, versions=[second])

    result = analysis.result
    assert [row["name"] for row in result["qrels"]] == ["", "students"]
    assert [row["judged"]["total"] for row in result["units"]] == [6, 7]
    table = result["measures"]["nDCG'"]
    assert table["n_topics"] == [3, 3]
    assert table["means"][0][1] < table["means"][1][1]  # poor found x
    stored = dict(
        board.evaluations.filter(scores__topic="all", scores__measure="nDCG'").values_list(
            "run__tag", "scores__value"
        )
    )
    assert table["means"][0] == pytest.approx([stored["good"], stored["poor"]])
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_the_same_runs_are_scored_by_people_and_by_each_machine(scored: Scene) -> None:
    machine = make_machine(scored.track, scored.organizer)
    batch = machine_services.start(machine=machine, pool=scored.pool, by=scored.organizer)
    scored.judged("high", "low", "low", "high", "low", "low")
    # On the shared units people prefer the good run, and the machine the poor one.
    scored.judge(batch, machine.assessor.user, "not-relevant", "high", "low", "not-relevant", "high", "low")
    board = scored.leaderboard()

    analysis = computed(scored, board, Analysis.Kind.JUDGES)

    [compared] = analysis.result["judges"]
    assert compared["names"] == ["people", "machine Llama judge 3.1"]
    assert (compared["topics"], compared["units"]) == (2, 6)
    measure = board.measures[0]
    assert compared["measures"][measure]["tau"] == [[1, -1], [-1, 1]]


def test_other_versions_must_be_chosen_and_be_the_tracks(scored: Scene) -> None:
    board = scored.leaderboard()

    with pytest.raises(Refused, match="at least one other version"):
        analysis_services.request(leaderboard=board, kind="compare", by=scored.organizer)
    with pytest.raises(Refused, match="at least one other version"):
        analysis_services.request(
            leaderboard=board, kind="compare", by=scored.organizer, versions=[board.qrels]
        )
    assert list(other_versions(board)) == []


def test_a_leaderboard_is_analyzed_once_it_is_scored(scored: Scene) -> None:
    board = scored.leaderboard()
    Leaderboard.objects.filter(pk=board.pk).update(status=Leaderboard.Status.SCORING)

    with pytest.raises(Refused, match="You can analyze it when it is ready"):
        analysis_services.request(leaderboard=board, kind="topics", by=scored.organizer)
    with pytest.raises(Refused, match=r"There is no analysis 'nope'\. Use one of: reusability"):
        analysis_services.request(leaderboard=board, kind="nope", by=scored.organizer)


def test_the_same_is_computed_once_at_a_time(scored: Scene) -> None:
    board = scored.leaderboard()
    waiting = analysis_services.request(leaderboard=board, kind="topics", by=scored.organizer)

    with pytest.raises(Refused, match="already being computed"):
        analysis_services.request(leaderboard=board, kind="topics", by=scored.organizer)
    analysis_services.request(leaderboard=board, kind="reusability", by=scored.organizer)
    with pytest.raises(IntegrityError), transaction.atomic():
        Analysis.objects.create(leaderboard=board, kind="topics", seed=1, created_by=scored.organizer)

    assert waiting.job is not None
    jobs.run(waiting.job.pk)
    again = computed(scored, board, "topics")
    assert newest(scored.organizer, board)["topics"] == again


def test_an_analysis_that_cannot_be_made_says_why(scored: Scene) -> None:
    board = scored.leaderboard()
    Run.objects.filter(tag="poor").update(columns="nowhere.npz")

    analysis = computed(scored, board, "reusability")

    assert analysis.status == Analysis.Status.FAILED
    assert analysis.job is not None
    assert "cannot be read" in analysis.job.error


def test_a_failed_analysis_can_be_tried_again(scored: Scene) -> None:
    board = scored.leaderboard()
    stored = Run.objects.get(tag="poor").columns.name
    Run.objects.filter(tag="poor").update(columns="nowhere.npz")
    analysis = computed(scored, board, "reusability")
    Run.objects.filter(tag="poor").update(columns=stored)

    assert analysis.job is not None
    jobs.retry(job=analysis.job)
    analysis.refresh_from_db()
    assert analysis.status == Analysis.Status.COMPUTING
    jobs.run(analysis.job.pk)
    analysis.refresh_from_db()

    assert analysis.status == Analysis.Status.READY


def test_a_failed_analysis_waits_while_another_one_is_computed(scored: Scene) -> None:
    board = scored.leaderboard()
    stored = Run.objects.get(tag="poor").columns.name
    Run.objects.filter(tag="poor").update(columns="nowhere.npz")
    failed = computed(scored, board, "reusability")
    Run.objects.filter(tag="poor").update(columns=stored)
    analysis_services.request(leaderboard=board, kind="reusability", by=scored.organizer)

    assert failed.job is not None
    with pytest.raises(Refused, match="already being computed"):
        jobs.retry(job=failed.job)

    failed.job.refresh_from_db()
    assert failed.job.state == Job.State.FAILED


def test_organizers_see_every_analysis_and_others_finished_ones_of_their_leaderboards(scored: Scene) -> None:
    board = scored.leaderboard(release="participants")
    done = computed(scored, board, "topics")
    waiting = analysis_services.request(leaderboard=board, kind="reusability", by=scored.organizer)

    assert set(analyses_for(scored.organizer)) == {done, waiting}
    assert set(analyses_for(scored.member)) == {done}
    assert set(analyses_for(scored.stranger)) == set()
    assert set(analyses_for(AnonymousUser())) == set()


def test_rankings_by_label_need_no_job(scored: Scene) -> None:
    for code, difficulty in (("A.1", "easy"), ("A.10", "hard"), ("A.2", "easy")):
        scored.topics[code].labels = {"difficulty": difficulty}
        scored.topics[code].save()
    board = scored.leaderboard()

    table = rankings_by_label(board, "nDCG'")["difficulty"]

    assert (table.names, table.n_topics) == (("all topics", "easy", "hard"), (3, 2, 1))
    assert scores_of(board, evaluated(board), "nDCG'").shape == (2, 3)


def test_the_real_runs_of_2020_are_analyzed(scene: Scene, data: Path) -> None:
    for code in {f"A.{n}" for n in range(1, 101)} - set(scene.topics):
        scene.track.topics.create(code=code)
    for name in KNOWN:
        team = scene.ours if "MIRMU" in name or "scm" in name else scene.theirs
        declared = runs.Declaration(kind="primary", tag=name)
        with (data / "arqmath" / "runs" / name).open("rb") as file:
            runs.submit(
                track=scene.track, team=team, by=scene.organizer, file=file, file_name=name, declared=declared
            )
    board = scene.leaderboard(scene.qrels(real_qrels(data).read_bytes()))

    result = computed(scene, board, "reusability").result

    teams = {row["team"]: row for row in result["teams"]}
    assert teams["Ours"]["n_judged"] == 3373  # as the command says of the same two runs
    assert teams["Ours"]["n_relevant"] == 167
    assert result["depths"][-1]["n_judged"] == 11_124


@pytest.fixture
def judged_formulas(db: None) -> tuple[FormulaScene, Leaderboard]:
    """Two runs of formulas. Instance 0 of the formula v0 is highly relevant and instance 4 is not relevant."""
    scene = build_formula_scene()
    for n, ranking in enumerate(([4, 0, 2], [1, 0, 4])):
        scene.submit("ab"[n], ranking, team=n)
    pool = pool_services.request(track=scene.track, name="Pool", seed=7, depth={}, by=scene.organizer)
    jobs.run(pool.job_id or 0)
    ada = make_assessor(scene.track, "ada")
    batch = make_batch(Pool.objects.get(pk=pool.pk), {ada: [scene.topic, scene.other]})
    task = task_services.accept_next(batch=batch, assessor=ada)
    grades = {"0": ("high", 3), "1": ("medium", 2)}
    for member in PoolMember.objects.filter(entry__pool=pool).select_related("entry"):
        choice, grade = grades.get(member.docno, ("not-relevant", 0))
        Judgment.objects.create(
            task=task, batch=batch, track=scene.track, topic=member.entry.topic,
            docno=member.docno, assessor=ada, choice=choice, grade=grade, order="random", request_id=uuid4(),
        )  # fmt: skip
    qrels = qrels_services.freeze_judgments(pool=Pool.objects.get(pk=pool.pk), by=scene.organizer)
    board = leaderboard_services.request(qrels=qrels, by=scene.organizer)
    jobs.run(board.job_id or 0)
    return scene, Leaderboard.objects.get(pk=board.pk)


def test_runs_are_scored_over_instances_and_over_distinct_formulas(
    judged_formulas: tuple[FormulaScene, Leaderboard],
) -> None:
    scene, board = judged_formulas

    analysis = analysis_services.request(leaderboard=board, kind="instances", by=scene.organizer)
    jobs.run(analysis.job_id or 0)
    analysis.refresh_from_db()

    result = analysis.result
    assert result["names"] == ["instances", "distinct formulas"]
    assert [row["judged"]["total"] for row in result["units"]] == [8, 6]
    assert [row["relevant"]["total"] for row in result["units"]] == [4, 4]
    # Run a ranks the instance of v0 first that is not relevant: one relevant of its first two, and then v2.
    ap = result["measures"]["AP(rel=2)'"]["means"]
    assert ap == [pytest.approx([0.25, 1.0]), pytest.approx([0.5, 1.0])]
    collection = collection_of(scene.organizer, scene.track)
    assert list(collection.units) == ["instances"]
    assert collection.several == (2, 6), "v0 of both topics"
    run = next(run for run in collection.track.runs if run.tag == "a")
    assert set(run.first_hits) == {"B.1", "B.2"}
    assert collection.latex["v0"] == "x^2"
    assert collection.instances is not None
    assert collection.instances.runs == ("Abacus: a", "Base: b")


def test_instances_are_compared_only_where_they_were_judged(scored: Scene) -> None:
    board = scored.leaderboard()

    with pytest.raises(Refused, match="no judgments of instances"):
        analysis_services.request(leaderboard=board, kind="instances", by=scored.organizer)
