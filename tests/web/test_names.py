"""Names have one line, which everybody sees, through each way by which they come in."""

from typing import Any

import pytest
from django import forms
from django.apps import apps
from django.conf import settings as site
from django.core import mail
from django.db import models
from django.db.models.functions import Now
from django.test import Client

from accounts.mail import letters
from accounts.models import Letter
from config.celery import app
from tests.helpers.factories import make_organizer, make_protocol, make_track, make_user
from tracks.models import Track
from web.forms import StyledForm
from web.names import problem_of

WORDS = {
    "name",
    "title",
    "organization",
    "team_name",
    "group",
    "version",
    "license",
    "file_name",
    "data_name",
}
OURS = {*site.OWN_APPS, "web"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ARQ\nBcc: all@example.org", "Use one line: this text has a line break."),
        ("ARQ\u2028", "Use one line: this text has a line break."),
        ("ARQ\x00", "Remove the character U+0000, which cannot be seen."),
        ("ARQ\u202etxt", "Remove the character U+202E RIGHT-TO-LEFT OVERRIDE, which cannot be seen."),
        ("\ufeffARQ", "Remove the character U+FEFF ZERO WIDTH NO-BREAK SPACE, which cannot be seen."),
        ("\u3164", "Use at least one character that can be seen."),
        ("\u0301", "Use at least one character that can be seen."),
        ("", "Use at least one character that can be seen."),
        ("خانه\u200cها", ""),
        ("الاسترجاع 2027 – Ünïcödé, 情報 👩\u200d💻", ""),
    ],
)
def test_name_has_one_line_that_everybody_sees(text: str, problem: str) -> None:
    assert problem_of(text) == problem


def test_every_column_of_names_is_one() -> None:
    """Columns with choices are not; tags and keys of a protocol are checked against stricter rules."""
    columns = {
        f"{model.__name__}.{field.name}"
        for model in apps.get_models()
        if model.__module__.split(".")[0] in OURS
        for field in model._meta.local_fields
        if type(field) is models.CharField and field.name in WORDS and not field.choices
    }

    assert columns <= {"UnclaimedFile.name", "BuildFile.name"}, "names that the server gives"


def test_every_form_with_a_name_refuses_line_breaks() -> None:
    def below(form: type[forms.BaseForm]) -> list[type[forms.BaseForm]]:
        return [form, *(deeper for each in form.__subclasses__() for deeper in below(each))]

    app.loader.import_default_modules()
    own = [form for form in below(forms.BaseForm) if form.__module__.split(".")[0] in OURS]
    unstyled = {
        form.__qualname__
        for form in own
        if not issubclass(form, StyledForm)
        for name, field in form.base_fields.items()
        if type(field.widget) is forms.TextInput and name in WORDS and not issubclass(form, forms.ModelForm)
    }

    assert unstyled == set()


@pytest.mark.django_db
def test_name_with_a_line_break_is_refused_by_page_api_and_admin(client: Client) -> None:
    track = make_track("arq", name="ARQ")
    client.force_login(make_organizer(is_superuser=True))
    fields = {"name": "ARQ\nBcc: all@example.org", "slug": "arq", "protocol": make_protocol().pk}

    page = client.post("/tracks/arq/edit/", fields)
    api = client.patch("/api/v1/tracks/arq/", {"name": fields["name"]}, "application/json")
    admin = client.post(f"/admin/tracks/track/{track.pk}/change/", fields)

    track.refresh_from_db()
    assert track.name == "ARQ"
    assert page.status_code == 422
    for response in (page, admin):
        assert response.content.decode().count("Use one line: this text has a line break.") == 1
    assert (api.status_code, api.json()["errors"][0]["field"]) == (400, "name")


@pytest.mark.django_db
def test_name_from_a_file_or_a_command_is_stored_in_one_line() -> None:
    assert make_track("arq", name="ARQ\n Math\u202e").name == "ARQ Math"


@pytest.mark.django_db
def test_stored_name_with_a_line_break_stops_no_e_mail(client: Client, settings: Any) -> None:
    settings.SENDS_MAIL = True
    app.loader.import_default_modules()
    user = make_user("ada", email="ada@example.org")
    track = make_track("arq")
    Track.objects.update(name="ARQ\nBcc: all@example.org")  # stored by a release that took it
    letters.post(
        kind="participation.added",
        data={"user": user.pk, "track": track.pk, "role": "assessor", "team": ""},
        site="",
    )
    letters.post(kind="accounts.links", data={"name": "ada"}, site="")

    letters.send_due()

    assert [message.subject for message in mail.outbox] == [
        "Assay: Your role in ARQ Bcc: all@example.org",
        "Assay: Your login link",
    ]


@pytest.mark.django_db
def test_letter_that_cannot_be_written_fails_for_itself_and_administrators_see_it(
    client: Client, settings: Any
) -> None:
    settings.SENDS_MAIL = True
    app.loader.import_default_modules()
    make_user("ada", email="ada@example.org")
    letters.post(kind="from.another.release", data={}, site="")
    letters.post(kind="participation.added", data={"user": None}, site="")
    letters.post(kind="accounts.links", data={"name": "ada"}, site="")

    letters.send_due()

    client.force_login(make_organizer())
    page = client.get("/jobs/").content.decode()
    client.force_login(make_user())
    assert [message.subject for message in mail.outbox] == ["Assay: Your login link"]
    assert Letter.objects.filter(sent_at=None, n_tries=1, due_at__gt=Now()).count() == 2
    assert "from.another.release of " in page
    assert "KeyError" in page
    assert "could not be sent" not in client.get("/jobs/").content.decode()
