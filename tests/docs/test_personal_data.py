"""The page about personal data: a person is erased as it says."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event, Lockout, Login, User
from participation.models import Invitation, JoinRequest
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


def test_person_is_erased_as_the_page_says() -> None:
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
    browser.post(reverse("login"), {"username": "adal", "password": "wrong"})
    dry, done = StringIO(), StringIO()

    call_command("erase_person", "adal", stdout=dry)
    assert User.objects.get(pk=ada.pk).username == "adal"
    assert "Nothing was changed." in dry.getvalue()
    assert "1  login" in dry.getvalue()
    assert "1  assessor's role, user" in dry.getvalue()
    call_command("erase_person", "adal", "--yes", stdout=done)
    call_command("erase_person", f"{ada.pk}", "--yes", stdout=StringIO())  # as after a restore

    event = Event.objects.filter(action="person.erased").earliest("pk")
    assert (event.subject, event.details["invitation"]) == (f"former-{ada.pk}", 1)
    assert f"Erased the account {ada.pk}, and rows:" in done.getvalue()
    assert browser.get(reverse("account")).status_code == 302
    assert naming("adal", "lovelace", "ada@example") <= KEPT
    assert not Login.objects.filter(user=ada).exists()
    assert not User.objects.get(pk=ada.pk).is_active
    assert Session.objects.exists()
    with pytest.raises(CommandError, match="There is no user adal"):
        call_command("erase_person", "adal", "--yes")
