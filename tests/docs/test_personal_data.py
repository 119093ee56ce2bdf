"""The page about personal data: a person is erased as it says."""

import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Lockout, Login, User
from participation.models import Invitation, JoinRequest
from server.paths import ROOT
from tests.helpers.database import tables
from tests.helpers.factories import PASSWORD, make_assessor, make_organizer, make_track

pytestmark = pytest.mark.django_db
PERSON = {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.org"}
KEPT = {'"accounts_event"'}  # the audit log names people for good


def naming(*words: str) -> set[str]:
    """The tables with a row in which one of some words is."""
    named = set()
    with connection.cursor() as cursor:
        for table in tables():
            cursor.execute(f"SELECT 1 FROM {table} row WHERE row::text ~* %s LIMIT 1", ["|".join(words)])
            named |= {table} if cursor.fetchone() else set()
    return named


def test_person_is_erased_as_the_page_says(client: Client) -> None:
    track, organizer = make_track(), make_organizer("olga")
    ada = make_assessor(track, "adal", **PERSON)
    browser = Client()
    browser.post(reverse("login"), {"username": "adal", "password": PASSWORD})
    Lockout.objects.create(user=ada, locked_at=timezone.now())
    JoinRequest.objects.create(track=track, name="Ada Lovelace", email="ADA@example.org", team_name="Owls")
    Invitation.objects.create(
        track=track,
        role="assessor",
        name="Ada Lovelace",
        email="ada@example.org",
        nonce="n",
        digest="d",
        expires_at=timezone.now() + timedelta(1),
        created_by=organizer,
    )
    client.force_login(organizer)
    (code,) = re.findall(r"```text\n(.*?)```", (ROOT / "docs/howto/personal-data.md").read_text(), re.DOTALL)

    form = {"username": f"former-{ada.pk}", "date_joined_0": "2026-01-01", "date_joined_1": "0:00"}
    edited = client.post(reverse("admin:accounts_user_change", args=[ada.pk]), form)
    statements = code.replace("17", str(ada.pk)).split(";")
    with connection.cursor() as cursor:
        for statement in statements:
            if statement.strip() and "socialaccount" not in statement and "--" not in statement:
                cursor.execute(statement)

    assert edited.status_code == 302
    assert browser.get(reverse("account")).status_code == 302
    assert naming("adal", "lovelace", "ada@example") <= KEPT | {'"axes_accessattempt"'}
    assert not Login.objects.filter(user=ada).exists()
    assert not User.objects.get(pk=ada.pk).is_active
    assert Session.objects.exists()
