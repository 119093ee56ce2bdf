"""People for programs."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_user

pytestmark = pytest.mark.django_db


def test_program_learns_who_it_is() -> None:
    mia = make_user("mia", first_name="Mia", last_name="Lee")
    session = Client()
    session.force_login(mia)

    by_token, by_session = call(api(mia, "judge"), "GET", "me").json(), call(session, "GET", "me").json()

    assert (by_token["username"], by_token["name"], by_token["is_organizer"]) == ("mia", "Mia Lee", False)
    assert by_token["token"]["scopes"] == ["judge"]
    assert by_session["token"] is None


def test_organizer_lists_people_but_no_machines() -> None:
    make_user("mia")
    make_user("robot", is_machine=True)
    client = api(make_organizer("olga"))

    names = [person["username"] for person in call(client, "GET", "people").json()["results"]]

    assert names == ["mia", "olga"]
    assert call(client, "GET", "person", "mia").json()["username"] == "mia"
    assert call(client, "GET", "person", "robot").status_code == 404
    assert call(api(make_user("otto")), "GET", "people").status_code == 403


def test_list_makes_as_many_queries_for_many_rows() -> None:
    client, counts = api(make_organizer()), []
    for _ in range(3):
        make_user()
        with CaptureQueriesContext(connection) as queries:
            call(client, "GET", "people")
        counts.append(len(queries))

    assert len(set(counts[1:])) == 1
