"""Changes of a run after its submission: description, order, disqualification; through the pages that do it."""

import io
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Event
from assay.errors import Refused
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, PoolRun, Run, RunChange
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from tests.helpers.api import api, call
from tests.helpers.runs import lines_of, run_bytes
from tests.pooling.conftest import Scene
from tracks.tracks import services as track_services


def submit(
    scene: Scene, tag: str, data: bytes | None = None, *, kind: str = "primary", **options: Any
) -> Run:
    options = {"team": scene.ours, "by": scene.organizer} | options
    return run_services.submit(
        track=scene.track,
        file=io.BytesIO(run_bytes(tag=tag) if data is None else data),
        file_name=f"{tag}.tsv",
        declared=run_services.Declaration(kind=kind, description=f"How {tag} was made."),
        **options,
    )


def browser(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def team_page(scene: Scene, user: Any = None) -> str:
    address = reverse("pooling:team_runs", args=[scene.track.slug, scene.ours.pk])
    return browser(user or scene.member).get(address).content.decode()


def build(scene: Scene, **fields: Any) -> Pool:
    """Build a pool through its form."""
    form = {
        "name": "P",
        "seed": "7",
        "order": "random",
        "depth_primary": "3",
        "depth_alternate": "2",
    } | fields
    response = browser(scene.organizer).post(reverse("pooling:new_pool", args=[scene.track.slug]), form)
    assert response.status_code == 302, response.content.decode()
    pool = Pool.objects.latest("pk")
    assert pool.job is not None
    jobs.run(pool.job.pk)
    pool.refresh_from_db()
    assert pool.status == Pool.Status.READY
    return pool


def decide(scene: Scene, run: Run, name: str, reason: str = "It used the qrels.") -> Any:
    """Disqualify or reinstate a run on its page, and run the job that this requests."""
    response = browser(scene.organizer).post(reverse(f"pooling:{name}", args=[run.pk]), {"reason": reason})
    for job in Job.objects.filter(kind="pooling.recount", state=Job.State.QUEUED):
        jobs.run(job.pk)
    run.refresh_from_db()
    return response


# ---- the description


def test_description_can_change_until_the_close_and_its_history_stays(scene: Scene) -> None:
    run = submit(scene, "run-1")
    address = reverse("pooling:describe", args=[run.pk])

    browser(scene.member).post(address, {"description": "BM25 and a reranker"})
    page = browser(scene.member).get(run.get_absolute_url()).content.decode()
    track_services.close(track=scene.track)
    late = browser(scene.member).post(address, {"description": "too late"})

    run.refresh_from_db()
    assert run.description == "BM25 and a reranker"
    assert "BM25 and a reranker" in page
    assert "How run-1 was made." in page  # in the history
    assert late.status_code == 422
    assert "can no longer be changed: the track is closed" in late.content.decode()


# ---- the order, and the limit of runs per team


def test_team_orders_its_runs_and_a_limited_pool_takes_the_first(scene: Scene) -> None:
    first, second, third = (
        submit(scene, tag, run_bytes(tag=tag, first=start))
        for tag, start in (("a", 100), ("b", 101), ("c", 102))
    )
    other = submit(scene, "theirs", run_bytes(tag="theirs", first=103), team=scene.theirs)
    baseline = submit(scene, "base", run_bytes(tag="base", first=104), kind="baseline")
    move = browser(scene.member).post(reverse("pooling:move", args=[third.pk]), {"to": "up"}, follow=True)

    pool = build(scene, max_runs_per_team="2")

    rows = move.content.decode()
    assert rows.index(">c</a>") < rows.index(">b</a>")
    assert {row.run for row in PoolRun.objects.filter(pool=pool)} == {first, third, other, baseline}
    client = browser(scene.organizer)
    record = client.get(reverse("pooling:pool_record", args=[pool.pk])).json()
    assert record["runs_per_team"] == 2
    assert [run["tag"] for run in record["left_out"]] == ["b"]
    assert "at most 2" in client.get(pool.get_absolute_url()).content.decode()
    assert second.tag not in {run["tag"] for run in record["runs"]}


def test_run_cannot_leave_the_order_at_either_end_and_strangers_move_nothing(scene: Scene) -> None:
    runs = [submit(scene, tag) for tag in ("a", "b")]

    for user, run, to in (
        (scene.member, runs[0], "up"),
        (scene.member, runs[1], "down"),
        (scene.other, runs[1], "up"),
    ):
        browser(user).post(reverse("pooling:move", args=[run.pk]), {"to": to})

    ordered = scene.ours.runs.order_by("priority", "pk")
    assert [run.tag for run in ordered] == ["a", "b"]


# ---- the page of a team


def test_team_sees_quota_pools_and_states_but_nothing_hidden(scene: Scene) -> None:
    submit(scene, "mine")
    hidden = submit(scene, "hidden-run", run_bytes(tag="hidden-run", first=110), team=scene.theirs)
    build(scene)

    page = team_page(scene)

    assert "P, depth 3" in page
    assert "any number" in page
    assert "used, also by withdrawn runs" in page
    assert hidden.tag not in page
    assert "unique" not in page.lower()


def test_team_page_takes_as_many_queries_for_many_runs(scene: Scene) -> None:
    client = browser(scene.member)
    address = reverse("pooling:team_runs", args=[scene.track.slug, scene.ours.pk])
    submit(scene, "run-0")
    build(scene)
    with CaptureQueriesContext(connection) as of_few:
        client.get(address)
    for n in range(1, 6):
        submit(scene, f"run-{n}", run_bytes(tag=f"run-{n}", first=100 + n))
    build(scene, name="Q")

    with CaptureQueriesContext(connection) as of_many:
        client.get(address)

    assert len(of_few) == len(of_many)


# ---- disqualification


def test_disqualification_needs_a_closed_track_and_a_reason(scene: Scene) -> None:
    run = submit(scene, "run-1")
    early = decide(scene, run, "disqualify")
    track_services.close(track=scene.track)

    without = decide(scene, run, "disqualify", reason=" ")

    assert early.status_code == 409
    assert "still accepts primary runs" in early.content.decode()
    assert "Fill in this field." in without.content.decode()
    assert run.status == Run.Status.SUBMITTED
    assert not RunChange.objects.exists()


def test_disqualified_run_leaves_the_statistics_of_its_pool_and_comes_back(scene: Scene) -> None:
    run = submit(scene, "mine", run_bytes(tag="mine", first=100))
    submit(scene, "shared", run_bytes(tag="shared", first=101), team=scene.theirs)
    pool = build(scene)
    built = pool.statistics
    track_services.close(track=scene.track)

    decide(scene, run, "disqualify")
    pool.refresh_from_db()
    page = browser(scene.organizer).get(pool.get_absolute_url()).content.decode()
    record = browser(scene.organizer).get(reverse("pooling:pool_record", args=[pool.pk])).json()
    ours = team_page(scene)
    counted = pool.recount["statistics"]
    reason = browser(scene.member).get(run.get_absolute_url()).content.decode()
    decide(scene, run, "reinstate", reason="A mistake.")
    pool.refresh_from_db()

    shared = next(each for each in built["runs"] if each["tag"] == "shared")
    assert pool.statistics == built  # what the record rebuilds
    assert [each["tag"] for each in counted["runs"]] == ["shared"]
    assert counted["n"] == built["n"]  # no unit leaves the pool
    assert counted["runs"][0]["alone"] == shared["n"] > shared["alone"]  # nobody else has its units now
    assert [team["team"] for team in counted["teams"]] == ["Theirs"]
    assert counted["overlap"] == [[shared["n"]]]
    assert "The numbers below leave it out" in page
    assert [each["tag"] for each in record["disqualified"]] == ["mine"]
    assert "disqualified" in ours
    assert "It used the qrels." in reason
    assert run.status == Run.Status.SUBMITTED
    assert pool.recount == {}
    history = browser(scene.member).get(run.get_absolute_url()).content.decode()
    assert "It used the qrels." in history
    assert "A mistake." in history


def test_run_that_is_disqualified_while_its_pool_is_built_is_not_counted(scene: Scene) -> None:
    run = submit(scene, "mine", run_bytes(tag="mine", first=100))
    submit(scene, "other", run_bytes(tag="other", first=101), team=scene.theirs)
    pool = pool_services.request(track=scene.track, name="P", seed=1, depth={}, by=scene.organizer)
    track_services.close(track=scene.track)
    decide(scene, run, "disqualify")  # its job finds a pool without statistics
    assert pool.job is not None

    jobs.run(pool.job.pk)

    pool.refresh_from_db()
    assert pool.recount["without"] == [run.pk]


def test_team_withdraws_a_run_after_the_deadline_by_an_organizer_who_gives_the_reason(scene: Scene) -> None:
    run = submit(scene, "run-1")
    pool = build(scene)
    address = reverse("pooling:withdraw", args=[run.pk])
    open_page = browser(scene.organizer).get(address).content.decode()
    track_services.close(track=scene.track)

    refused = browser(scene.member).post(address)
    page = browser(scene.organizer).get(address).content.decode()
    unexplained = browser(scene.organizer).post(address, {"reason": ""})
    withdrawn = browser(scene.organizer).post(address, {"reason": "Built on the wrong index."})
    run.refresh_from_db()

    assert ("Reason" in open_page, "Reason" in page) == (False, True)
    assert (refused.status_code, unexplained.status_code, withdrawn.status_code) == (409, 422, 302)
    assert (run.status, run.withdrawn_by) == ("withdrawn", scene.organizer)
    event = Event.objects.get(action="run.withdrawn")
    assert event.details["reason"] == "Built on the wrong index."
    seen = browser(scene.member).get(run.get_absolute_url()).content.decode()
    assert "At the request of its team: Built on the wrong index." in seen
    assert "isqualified" not in seen
    of_pool = " ".join(browser(scene.organizer).get(pool.get_absolute_url()).content.decode().split())
    assert "Withdrawn since this pool was built:" in of_pool
    assert "The numbers below still count it" in of_pool
    record = browser(scene.organizer).get(reverse("pooling:pool_record", args=[pool.pk])).json()
    assert [each["tag"] for each in record["withdrawn"]] == ["run-1"]


def test_program_withdraws_a_run_after_the_deadline_with_a_reason(scene: Scene) -> None:
    run = submit(scene, "run-1")
    track_services.close(track=scene.track)
    client = api(scene.organizer)

    without = call(client, "POST", "withdraw_run", run.pk)
    answer = call(client, "POST", "withdraw_run", run.pk, data={"reason": "A wrong file."})

    assert without.status_code == 409
    assert answer.json()["status"] == "withdrawn"
    assert run.changes.get().kind == "withdrawn"


def test_disqualified_run_keeps_its_tag_and_its_place_in_the_quota(scene: Scene) -> None:
    run = submit(scene, "run-1")
    track_services.close(track=scene.track)
    decide(scene, run, "disqualify")
    track_services.open_for_runs(track=scene.track)

    with pytest.raises(run_services.TagTaken):
        submit(scene, "run-1", run_bytes(tag="run-1", first=120), team=scene.theirs)
    with pytest.raises(run_services.SameBytes, match="That run is disqualified"):
        submit(scene, "run-1")
    with pytest.raises(Refused, match="already disqualified"):
        run_services.withdraw(run=run, by=scene.member)


# ---- two runs compared


def test_documents_of_two_runs_are_compared(scene: Scene) -> None:
    first = submit(scene, "first", run_bytes(lines_of(4, tag="first", first=100)))
    second = submit(scene, "second", run_bytes(lines_of(4, tag="second", first=102)))
    foreign = submit(scene, "foreign", run_bytes(lines_of(4, tag="foreign", first=103)), team=scene.theirs)
    client = browser(scene.member)

    chosen = client.get(reverse("pooling:choose_run", args=[first.pk]), {"other": second.pk})
    page = client.get(f"{chosen['Location']}?topic=A.2").content.decode()
    of_others = client.get(reverse("pooling:compare_runs", args=[first.pk, foreign.pk]))

    assert "Ranks in topic A.2" in page
    assert "50 %" in page  # of the first 4 ranks, 103 and 104 are in both
    assert ">+2</td>" in "".join(page.split())  # 103: rank 3, then rank 1
    assert "gone" in page
    assert "new" in page
    assert of_others.status_code == 404
