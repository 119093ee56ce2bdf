"""The account page."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from participation.models import Team
from tests.helpers.factories import PASSWORD, make_track, make_user
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
