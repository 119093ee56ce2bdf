"""Every filter and order that a list of the API states, on rows in which they make a difference."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes

from assay_extensions.estimates.site.models import Estimate, Sample
from assessment.models import GoldUnit, JudgmentImport, TopicAssignment
from corpus.models import Collection, Document
from jobs.models import Job
from participation.invitations.services import Place, Terms, invite
from participation.models import Invitation, JoinRequest, TeamDocument
from pooling.models import Run
from publishing.models import Archive
from scoring.leaderboards import services as leaderboards
from scoring.models import Analysis, LaterRun, Leaderboard
from tests.helpers.api import api, call, make_token
from tests.helpers.factories import make_protocol, make_topic, make_track, make_user
from tests.helpers.judging import judge, make_machine, make_team
from tests.helpers.team_judges import JudgeBoard, make_judge
from tests.scoring.conftest import Scene
from tests.test_api_access import addresses, rows, scene
from tracks.models import Assessor, Fetch, Machine
from web.api.views import Endpoint

pytestmark = pytest.mark.django_db
__all__ = ["addresses", "scene"]  # fixtures
# a few numbered versions, samples and batches to join; candidates are filtered by conditions (`where`)
WITHOUT_FILTER = {
    "announcements",
    "announcement_mails",
    "guidelines",
    "candidate_samples",
    "candidates",
    "open_batches",
    "project_imports",
    "webhooks",
}


def lists(addresses: dict[str, str]) -> Iterator[tuple[str, Endpoint]]:
    """The address of each list, and what it states."""
    for method, name in rows():
        view = resolve(addresses[name]).func
        endpoint = getattr(getattr(view.cls, view.actions.get("get", ""), None), "endpoint", None)
        if method == "GET" and endpoint is not None and endpoint.initial.get("is_list"):
            yield addresses[name], endpoint


def twin(row: Model, **changes: Any) -> Any:
    """Another row that differs only in some fields."""
    copy = type(row)._default_manager.get(pk=row.pk)
    copy.pk, copy._state.adding = None, True
    for name, value in changes.items():
        setattr(copy, name, value)
    copy.save()
    return copy


@pytest.fixture
def varied(scene: Scene, addresses: dict[str, str]) -> Scene:
    """The scene with two rows in each list, which differ in each field that it is filtered by."""
    organizer, track, pool = scene.organizer, scene.track, scene.pool
    other_protocol = make_protocol("trec-adhoc")
    twin(other_protocol, slug="mine", is_shipped=False)
    other_track = make_track("other", protocol="trec-adhoc", status="draft")
    twin(Collection.objects.get(slug="posts"), slug="more", name="more", status="importing")
    twin(Document.objects.get(docno="1"), docno="2", kind="document")
    other_pool = twin(pool, name="Twin of a pool", status="failed", protocol=other_protocol)
    batch = pool.batches.get()
    for of_pool in (pool, other_pool, twin(pool, name="Pool 3", track=other_track)):
        twin(batch, name="Twin of a batch", pool=of_pool, kind="dual", status="closed")
    make_topic(track, "A.3", split="test")
    TopicAssignment.objects.filter(batch=batch, topic__code="A.2").update(assessor=scene.bob)
    task = batch.tasks.earliest("pk")
    judge(task, "low")  # a revision
    for assessor in (scene.ada, scene.bob):
        scene.judge(batch, assessor, "medium")
    Assessor.objects.filter(user=scene.bob).update(group="experts")
    track.collection = None  # without the run's documents
    track.save()
    poor = scene.submit(scene.theirs, "poor", "9 10", kind="baseline")
    Run.objects.filter(pk=poor.pk).update(status="disqualified", is_late=True, is_manual=True)
    board = Leaderboard.objects.get()
    twin(board.evaluations.get(), run=poor)
    other_qrels = twin(board.qrels, version=2, source="frozen")
    twin(board, qrels=other_qrels, job=None, status="failed")
    leaderboards.release(leaderboard=board, level="public", by=organizer, reason="A test.")
    twin(Analysis.objects.get(), kind="reusability")
    twin(Archive.objects.get(), status="failed", job=None)
    twin(Job.objects.earliest("pk"), kind="tests.other", state="done")
    twin(JudgmentImport.objects.get(), kind="dual", pool=pool)
    twin(JudgmentImport.objects.get(pool=None), pool=other_pool)
    twin(JoinRequest.objects.get(), state="refused")
    twin(GoldUnit.objects.get(), topic=scene.topics["A.2"], grade=2)
    for team in (scene.ours, scene.theirs):
        invite(place=Place(track=track, team=team), terms=Terms(), by=organizer)
    invited = Invitation.objects.filter(role="assessor").latest("pk")
    twin(invited, group="experts", digest="0" * 64)
    for each in (scene.ours, make_team(other_track, scene.other)):
        LaterRun.objects.create(
            leaderboard=board,
            team=each,
            tag=each.name,
            sha256="0" * 64,
            n_topics=1,
            n_missing=0,
            values={},
            scored_by=organizer,
        )
    twin(TeamDocument.objects.get(), team=scene.theirs, word="poster")
    other_machine = make_machine(track, organizer, name="Other judge")
    twin(Estimate.objects.get(), machine=other_machine, pool=other_pool, job=None)
    twin(JudgeBoard.objects.get(), status="failed")
    twin(Sample.objects.get(), design="uniform", batch=None, job=None)
    other_judge = make_judge(scene.theirs, scene.other, "other")
    type(other_judge).objects.filter(pk=other_judge.pk).update(
        status="withdrawn", withdrawn_at=timezone.now()
    )
    for user in (organizer, Machine.objects.earliest("pk").assessor.user):
        make_token(user, name="more")
    for name in ("a.tsv", "b.tsv"):
        Fetch.objects.create(track=track, user=make_user(name[0]), name=name, sha256="0" * 64)
    webhook = track.webhooks.get()
    for event in ("batch.closed", "qrels.frozen"):
        webhook.deliveries.create(event=event, body="{}")
    make_user("gone", is_active=False)
    return scene


def shown(value: object) -> str:
    """A value of a row, as it is written in an address."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_stated_filter_chooses_exactly_the_rows_that_have_its_value(
    varied: Scene, addresses: dict[str, str]
) -> None:
    organizer, ada = api(varied.organizer), api(varied.ada)
    without, unknown = set(), set()

    for address, endpoint in lists(addresses):
        client = ada if organizer.get(address).status_code == 404 else organizer
        if client.get(address).status_code != 200:
            unknown.add(endpoint.name)
            continue
        everything = client.get(address, {"page_size": "500"}).json()["results"]
        if not endpoint.filters:
            without.add(endpoint.name)
        for each in endpoint.filters:
            values = {shown(row[each.name]) for row in everything if row[each.name] not in ("", None)}
            assert values, (address, each)
            for value in values:
                chosen = client.get(address, {each.name: value, "page_size": "500"}).json()["results"]
                assert chosen == [row for row in everything if shown(row[each.name]) == value], (
                    address,
                    each,
                )
                assert 0 < len(chosen) < len(everything), f"{address}: {each.name} makes no difference"

    assert without == WITHOUT_FILTER
    assert unknown == {
        "nuggets",
        "nugget_versions",
        "phase_scores",
    }  # the track has neither answers nor phases


def test_stated_orders_turn_the_rows_round_and_each_wrong_value_is_named(
    varied: Scene, addresses: dict[str, str]
) -> None:
    organizer, n_orders, n_wrong = api(varied.organizer), 0, 0

    for address, endpoint in lists(addresses):
        if organizer.get(address).status_code == 404:  # of another person
            continue
        for order in endpoint.orders:
            n_orders += 1
            up = organizer.get(address, {"order": order, "page_size": "500"}).json()["results"]
            down = organizer.get(address, {"order": f"-{order}", "page_size": "500"}).json()["results"]
            assert up == down[::-1], (address, order)
        strict = [each for each in endpoint.parameters if each.enum or each.type != OpenApiTypes.STR]
        wrong = {each.name: "?" for each in strict} | {"page_size": "0", "no_such": "1"}
        refused = organizer.get(address, wrong)
        assert (refused.status_code, errors_of(refused).keys()) == (400, wrong.keys()), address
        for each in strict:
            n_wrong += 1
            accepted = ", ".join(each.enum or ()) or "whole number|true or false"
            assert re.search(accepted, errors_of(refused)[each.name])

    assert (n_orders > 20, n_wrong > 35) == (True, True)


def errors_of(response: Any) -> dict[str, str]:
    return {error["field"]: error["message"] for error in response.json()["errors"]}


def test_lists_are_filtered_and_ordered(scene: Scene, addresses: dict[str, str]) -> None:
    organizer: Client = api(scene.organizer)
    scene.track.collection = None
    scene.track.save()
    scene.submit(scene.theirs, "poor", "9 10")
    slug, [batch_id] = scene.track.slug, scene.track.pools.get().batches.values_list("pk", flat=True)

    def asked(name: str, *arguments: object, field: str, **query: str) -> list[object]:
        response = organizer.get(call(organizer, "GET", name, *arguments).wsgi_request.path, query)
        assert response.status_code == 200, response.content
        return [row[field] for row in response.json()["results"]]

    assert asked("runs", slug, field="tag") == ["good", "poor"]
    assert asked("runs", slug, field="tag", team="Theirs") == ["poor"]
    assert asked("runs", slug, field="tag", order="-tag") == ["poor", "good"]
    assert asked("runs", slug, field="tag", team="Ours", status="withdrawn") == []
    assert asked("jobs", field="kind", status="queued", kind="tests.work") == ["tests.work"]
    assert asked("jobs", field="kind", status="done", kind="tests.work") == []
    topics = asked("judgments", batch_id, field="topic", grade="3", is_current="true")
    assert topics == ["A.1"]
    assert asked("judgments", batch_id, field="grade", topic="A.2") == []
    assert sorted(asked("judgments", batch_id, field="grade", topic="A.1", assessor="ada")) == [1, 2, 3]
    assert asked("events", field="track", track=slug, action="no.such") == []
    assert asked("people", field="username", is_administrator="true") == ["olga"]
    first = organizer.get(f"/api/v1/tracks/{slug}/runs/", {"order": "-tag", "page_size": "1"}).json()
    assert [row["tag"] for row in organizer.get(first["next"]).json()["results"]] == ["good"]
