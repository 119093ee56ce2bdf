"""The base classes of the admin with input that no page sends, and with two people at once."""

import re
from threading import Thread
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import User
from participation.models import Team
from tests.helpers.factories import PASSWORD, make_organizer, make_user

pytestmark = pytest.mark.django_db
YEARS = ["99999", "10000", "9999", "0", "-1", "x"]


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def address(model: Any, page: str) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}")


def test_admin_names_several_rows_by_a_plural_of_english() -> None:
    wrong = re.compile(r"[^aeiou]ys$|ss$|xs$|chs$")

    names = [str(model._meta.verbose_name_plural) for model in apps.get_models()]

    assert [name for name in names if wrong.search(name)] == []


@pytest.mark.parametrize("model", list(site._registry), ids=lambda model: model.__name__)
def test_years_outside_the_calendar_show_the_whole_list(client: Client, organizer: User, model: Any) -> None:
    field = site._registry[model].date_hierarchy or "created_at"

    statuses = {
        client.get(address(model, "changelist"), {f"{field}__year": year}).status_code for year in YEARS
    }

    assert statuses <= {200, 302, 400}


def test_text_instead_of_a_row_is_an_error_of_the_form(client: Client, organizer: User) -> None:
    form = {"name": "Owls", "track": "x", "members": "9" * 30}

    page = client.post(address(Team, "add"), form)

    assert page.status_code == 200
    assert "Select a valid choice" in page.content.decode()


@pytest.mark.django_db(transaction=True)
def test_name_that_another_request_has_just_taken_is_an_error_of_the_form(
    client: Client, organizer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    form_class = site._registry[User].add_form  # type: ignore[attr-defined]
    clean = form_class.full_clean

    def clean_while_another_saves(form: Any) -> None:
        clean(form)
        if form.is_bound and not User.objects.filter(username="ada").exists():
            other = Thread(target=elsewhere)
            other.start()
            other.join()

    def elsewhere() -> None:
        make_user("ada", first_name="Ada")
        connection.close()

    monkeypatch.setattr(form_class, "full_clean", clean_while_another_saves)
    form = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    page = client.post(address(User, "add"), form)

    assert page.status_code == 200
    assert "already exists" in page.content.decode()
    assert User.objects.get(username="ada").first_name == "Ada"


def test_selection_of_anything_but_rows_is_refused(client: Client, organizer: User) -> None:
    user = make_user()
    selection = {"action": "make_link", "_selected_action": [user.pk, "x"]}

    page = client.post(address(User, "changelist"), selection, follow=True)

    assert [str(message) for message in page.context["messages"]] == [
        "The selection contains rows that are not in this list. Nothing was changed."
    ]
