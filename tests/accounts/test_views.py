"""The account page."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.audit import services
from accounts.audit.services import acting
from accounts.models import Event, User
from participation.models import Team
from tests.helpers.api import api, call
from tests.helpers.database import guarded
from tests.helpers.factories import PASSWORD, make_assessor, make_organizer, make_track, make_user
from tracks.models import Assessor, Track

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "setting",
    ["uses_shortcuts", "accepts_next", "grade_submits", "shows_time_left", "is_mailed_about_runs"],
)
def test_user_switches_a_setting_off_and_on(client: Client, setting: str) -> None:
    user = make_user()
    client.force_login(user)

    client.post(reverse("account"), {"asks": "judging"})
    user.refresh_from_db()
    is_on_at_first = getattr(user, setting)
    client.post(reverse("account"), {"asks": "judging", setting: "on"})
    user.refresh_from_db()

    assert (is_on_at_first, getattr(user, setting)) == (False, True)


def test_account_asks_only_assessors_how_they_judge(client: Client) -> None:
    user = make_user()
    client.force_login(user)
    settings = (user.uses_shortcuts, user.accepts_next, user.is_mailed_about_requests)

    page = client.get(reverse("account")).content.decode()
    client.post(reverse("account"), {})
    user.refresh_from_db()
    Assessor.objects.create(track=make_track(), user=user)
    of_assessor = client.get(reverse("account")).content.decode()

    assert "Judge with single keys" not in page
    assert "Judge with single keys" in of_assessor
    assert (user.uses_shortcuts, user.accepts_next, user.is_mailed_about_requests) == settings


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

    with django_assert_num_queries(6):  # session, user, tracks, teams, former teams, lockouts
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


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def test_organizer_creates_users_but_no_superuser(client: Client, organizer: User) -> None:
    root = make_user("root", is_staff=True, is_superuser=True)
    form = {
        "username": "emmy",
        "usable_password": "true",
        "password1": "quintic-9-roots",
        "password2": "quintic-9-roots",
    }

    made = client.post(reverse("admin:accounts_user_add"), form)
    client.post(
        reverse("admin:accounts_user_change", args=[User.objects.get(username="emmy").pk]),
        {
            "username": "emmy",
            "is_active": "on",
            "is_superuser": "on",
            "date_joined_0": "2026-01-01",
            "date_joined_1": "0:00",
        },
    )
    attack = client.post(reverse("admin:accounts_user_change", args=[root.pk]), {"username": "mine"})

    assert (made.status_code, attack.status_code) == (302, 403)
    assert not User.objects.get(username="emmy").is_superuser


def test_admin_refuses_user_names_that_mislead(client: Client, organizer: User) -> None:
    emmy = make_user("emmy")
    address = reverse("admin:accounts_user_change", args=[make_user("eva").pk])
    form = {"is_active": "on", "date_joined_0": "2026-01-01", "date_joined_1": "0:00"}

    pages = [
        client.post(address, form | {"username": name, "first_name": first})
        for name, first in (("еmmy", ""), ("EMMY", ""), ("емму", ""), ("eva", "E\u202eva"))
    ]
    own = client.post(reverse("admin:accounts_user_change", args=[emmy.pk]), form | {"username": "emmy"})

    assert [page.status_code for page in pages] == [200] * 4
    assert all("looks like another one" in page.content.decode() for page in pages[:3])
    assert "U+202E" in pages[3].content.decode()
    assert own.status_code == 302


def test_users_are_not_deleted(client: Client, organizer: User) -> None:
    judge = make_assessor(make_track())

    answer = client.post(reverse("admin:accounts_user_delete", args=[judge.pk]), {"post": "yes"})

    assert answer.status_code == 403
    assert User.objects.filter(pk=judge.pk).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_event SET subject = 'another'",
        "DELETE FROM accounts_event",
        "TRUNCATE accounts_event",
    ],
)
def test_database_refuses_to_change_the_log(statement: str) -> None:
    with transaction.atomic():
        services.record(action="track.opened", subject="Task 1")

    with pytest.raises(IntegrityError, match="audit log is kept"), transaction.atomic(), guarded() as cursor:
        cursor.execute(statement)

    assert [event.subject for event in Event.objects.all()] == ["Task 1"]


def test_event_of_work_that_fails_is_not_kept() -> None:
    with transaction.atomic():
        services.record(action="track.opened")
        transaction.set_rollback(True)

    assert not Event.objects.exists()


def test_event_names_its_subject_its_track_and_the_person_who_acts() -> None:
    track, anna, ben = make_track("task-1"), make_organizer("anna"), make_organizer("ben")

    with transaction.atomic(), acting(lambda: anna, Event.Via.API):
        first = services.record(action="track.opened", subject=track, track=track)
        second = services.record(action="track.closed", track=track, by=ben)
    with transaction.atomic():
        third = services.record(action="protocol.added", subject="own")

    assert (first.by, first.via, first.subject_url) == (anna, "api", track.get_absolute_url())
    assert (first.track_id, first.track_slug) == (track.pk, "task-1")
    assert (second.by, second.via) == (ben, "api")
    assert (third.by, third.via, third.subject_url) == (None, "command", "")


@pytest.mark.django_db(transaction=True)
def test_event_outside_the_transaction_of_the_work_is_a_fault() -> None:
    assert not connection.in_atomic_block

    with pytest.raises(RuntimeError, match="outside the transaction"):
        services.record(action="track.opened")
