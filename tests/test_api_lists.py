"""Every filter and order that a list of the API states, on rows in which they make a difference."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import resolve

from tests.helpers.api import api, call
from tests.scoring.conftest import Scene
from tests.test_api_access import addresses, rows, scene
from web.api.filters import Filter
from web.api.views import Endpoint

pytestmark = pytest.mark.django_db
__all__ = ["addresses", "scene"]  # fixtures


def lists(addresses: dict[str, str]) -> Iterator[tuple[str, Endpoint]]:
    """The address of each list, and what it states."""
    for method, name in rows():
        view = resolve(addresses[name]).func
        endpoint = getattr(getattr(view.cls, view.actions.get("get", ""), None), "endpoint", None)
        if method == "GET" and endpoint is not None and endpoint.initial.get("is_list"):
            yield addresses[name], endpoint


def accepted(each: Filter) -> str:
    return next(iter(each.values), {"whole number": "7", "true or false": "true"}.get(each.kind, "x"))


def test_stated_filters_and_orders_are_accepted_and_wrong_values_named(
    scene: Scene, addresses: dict[str, str]
) -> None:
    organizer, n = api(scene.organizer), 0

    for address, endpoint in lists(addresses):
        if organizer.get(address).status_code == 404:  # of another person
            continue
        for each in endpoint.filters:
            n += 1
            assert organizer.get(address, {each.name: accepted(each)}).status_code == 200, (address, each)
            if each.values or each.kind != "text":
                refused = organizer.get(address, {each.name: "?"})
                [error] = refused.json()["errors"]
                assert (refused.status_code, error["field"]) == (400, each.name)
                assert accepted(each) in error["message"] or each.kind in error["message"]
        for order in endpoint.orders:
            n += 1
            up = organizer.get(address, {"order": order}).json()["results"]
            down = organizer.get(address, {"order": f"-{order}"}).json()["results"]
            assert up == down[::-1], (address, order)
            assert organizer.get(address, {"order": "luck"}).status_code == 400

    assert n > 60


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
    assert asked("jobs", field="kind", state="queued", kind="tests.work") == ["tests.work"]
    assert asked("jobs", field="kind", state="done", kind="tests.work") == []
    topics = asked("judgments", batch_id, field="topic", grade="3", is_current="true")
    assert topics == ["A.1"]
    assert asked("judgments", batch_id, field="grade", topic="A.2") == []
    assert sorted(asked("judgments", batch_id, field="grade", topic="A.1", assessor="ada")) == [1, 2, 3]
    assert asked("events", field="track", track=slug, action="no.such") == []
    assert asked("people", field="username", is_organizer="true") == ["olga"]
    first = organizer.get(f"/api/v1/tracks/{slug}/runs/", {"order": "-tag", "page_size": "1"}).json()
    assert [row["tag"] for row in organizer.get(first["next"]).json()["results"]] == ["good"]
