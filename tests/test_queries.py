"""No page makes more queries when there are more rows: each address of the site, at two sizes."""

import math
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from config.pages.health import health
from tests.helpers.growth import grow
from tests.scoring.conftest import Scene
from tests.test_access import addresses, empty_refusals, scene

__all__ = ["addresses", "empty_refusals", "scene"]  # fixtures

pytestmark = pytest.mark.django_db


def people(scene: Scene) -> dict[str, User | None]:
    return {"visitor": None, "member": scene.member, "assessor": scene.ada, "organizer": scene.organizer}


def in_admin(scene: Scene) -> dict[str, str]:
    """The lists of the admin, each also with a search, and the forms that contain lists."""
    pages = {}
    for model, admin in site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        pages[name] = reverse(f"{name}_changelist")
        if admin.search_fields:
            pages[f"{name}, search"] = f"{pages[name]}?q=a"
        if row := model._default_manager.order_by("pk").first():
            pages[f"{name}, form"] = reverse(f"{name}_change", args=[row.pk])
    return pages


def queries_of(client: Client | None, address: str) -> tuple[int, list[str]]:
    """The status of the answer, and the queries."""
    client = (
        client or Client()
    )  # a visitor without a session: some pages start one, which is read from then on
    with CaptureQueriesContext(connection) as context:
        answer = client.get(address)
        for _ in answer:  # read a file to its end
            pass
    return answer.status_code, [query["sql"] for query in context.captured_queries]


def repeated(before: list[str], after: list[str]) -> str:
    """The query that is made more often, for the message of a failure."""
    starts = [sql.partition(" WHERE ")[0] for sql in after]
    most = max(set(starts), key=starts.count)
    return f"{len(before)} queries, then {len(after)}; {starts.count(most)} times {most[:300]}"


@pytest.mark.no_cover  # other tests open these pages; to measure this one takes 15 s
@pytest.mark.usefixtures("empty_refusals")
def test_no_page_makes_more_queries_for_more_rows(
    scene: Scene, addresses: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_until", math.inf)  # it keeps a result for a few seconds
    clients = {role: Client() for role, user in people(scene).items() if user is not None}
    for role, client in clients.items():
        client.force_login(people(scene)[role])

    pages = {(role, name): address for role, name, address in requested(scene, addresses)}

    ContentType.objects.get_for_models(*apps.get_models())  # one process reads them once
    grow(scene)
    grow(scene)
    few = {page: queries_of(clients.get(page[0]), address) for page, address in pages.items()}
    shown = {
        page: queries for page, (status, queries) in few.items() if status == 200
    }  # a refusal has no rows
    grow(scene)
    grow(scene)
    grow(scene)
    many = {page: queries_of(clients.get(page[0]), pages[page])[1] for page in shown}

    growing = {
        page: repeated(queries, many[page])
        for page, queries in shown.items()
        if len(many[page]) > len(queries)
    }
    assert not growing, "\n".join(f"{role}: {name}: {text}" for (role, name), text in growing.items())


def requested(scene: Scene, addresses: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Role, name and address of each page. What `/health/` finds counts for some seconds, so it is left out."""
    addresses = {name: address for name, address in addresses.items() if name != "health"}
    for name, address in {**addresses, **in_admin(scene)}.items():
        yield "organizer", name, address
    for role in ("visitor", "member", "assessor"):
        for name, address in addresses.items():
            yield role, name, address
