"""User accounts in the admin."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.helpers.factories import make_assessor, make_organizer, make_track, make_user

pytestmark = pytest.mark.django_db


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


def test_users_are_not_deleted(client: Client, organizer: User) -> None:
    judge = make_assessor(make_track())

    answer = client.post(reverse("admin:accounts_user_delete", args=[judge.pk]), {"post": "yes"})

    assert answer.status_code == 403
    assert User.objects.filter(pk=judge.pk).exists()
