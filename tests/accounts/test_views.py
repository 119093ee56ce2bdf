"""The account page."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from participation.models import Team
from tests.helpers.api import api, call
from tests.helpers.factories import PASSWORD, make_organizer, make_track, make_user
from tracks.models import Assessor, Track

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("setting", ["uses_shortcuts", "accepts_next", "is_mailed_about_runs"])
def test_user_switches_a_setting_off_and_on(client: Client, setting: str) -> None:
    user = make_user()
    client.force_login(user)

    client.post(reverse("account"), {})
    user.refresh_from_db()
    is_on_at_first = getattr(user, setting)
    client.post(reverse("account"), {setting: "on"})
    user.refresh_from_db()

    assert (is_on_at_first, getattr(user, setting)) == (False, True)


def test_account_lists_all_roles_in_a_known_number_of_queries(
    client: Client, django_assert_num_queries: Any
) -> None:
    user = make_user()
    for year in (2025, 2026, 2027):
        track = make_track(slug=f"track-{year}", name=f"Track {year}")
        Assessor.objects.create(track=track, user=user)
        other = make_track(slug=f"other-{year}", name=f"Other {year}")
        Team.objects.create(track=other, name="Abacus").members.add(user)
    client.force_login(user)

    with django_assert_num_queries(
        7
    ):  # session, user, whether they judge, tracks, teams, former teams, lockouts
        page = client.get(reverse("account")).content.decode()

    assert [f"Track {year}" in page and f"Other {year}" in page for year in (2025, 2026, 2027)] == [True] * 3


def test_account_does_not_name_drafts(client: Client) -> None:
    user = make_user()
    judged = make_track(name="Secret judging", status=Track.Status.DRAFT)
    submitted = make_track(name="Secret runs", status=Track.Status.DRAFT)
    Assessor.objects.create(track=judged, user=user)
    Team.objects.create(track=submitted, name="Abacus").members.add(user)
    client.force_login(user)

    page = client.get(reverse("account")).content.decode()

    assert "Secret" not in page
    assert "You have no role in a track yet." in page


def test_user_changes_their_password(client: Client) -> None:
    user = make_user()
    client.force_login(user)
    form = {"old_password": PASSWORD, "new_password1": "quintic-9-roots", "new_password2": "quintic-9-roots"}

    page = client.get(reverse("password_change")).content.decode()
    response = client.post(reverse("password_change"), form, follow=True)

    user.refresh_from_db()
    assert page.count('class="form-control"') == 3
    assert user.check_password("quintic-9-roots")
    assert "Your password was changed." in response.content.decode()


def test_new_password_ends_the_other_sessions(client: Client) -> None:
    user, elsewhere = make_user(), Client()
    for each in (client, elsewhere):
        each.post(reverse("login"), {"username": user.username, "password": PASSWORD})
        assert each.get(reverse("account")).status_code == 200

    form = {"old_password": PASSWORD, "new_password1": "quintic-9-roots", "new_password2": "quintic-9-roots"}
    client.post(reverse("password_change"), form)

    assert client.get(reverse("account")).status_code == 200
    assert elsewhere.get(reverse("account")).headers["Location"].startswith(reverse("login"))


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
