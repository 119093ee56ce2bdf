"""The page of a user's own keys, and their effect on the judging page."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.protocols.loader import parse_protocol, shipped_text
from assessment.judging.keys import keys_of
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_user
from tests.helpers.judging import accept

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def own_keys(user: User) -> dict[str, str]:
    return User.objects.get(pk=user.pk).judging_keys


def keys_on(html: str) -> dict[str, str]:
    """The keys of the choices on a judging page."""
    pattern = r'value="([a-z-]+)"\s+data-label="[^"]+"\s+(?:data-key="(.)")?'
    return dict(re.findall(pattern, html))


def test_judging_page_and_guidelines_show_the_users_own_keys(scene: Scene) -> None:
    client = client_of(scene.ada)

    saved = client.post(reverse("assessment:keys"), {"grade-1": "J", "grade-2": "k", "skip": "3"})
    page = client.get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()
    guidelines = client.get(reverse("assessment:guidelines", args=[scene.batch.pk])).content.decode()

    assert saved.url == reverse("assessment:keys")
    assert own_keys(scene.ada) == {"grade-1": "j", "grade-2": "k", "skip": "3"}
    assert keys_on(page) == {
        "high": "j", "medium": "k", "low": "1", "not-relevant": "0", "system-failure": "x", "do-not-know": "u",
    }  # fmt: skip
    assert 'data-then="skip-reason" data-press="3"' in page
    assert "<kbd>J</kbd>" in guidelines


def test_switched_off_keys_are_nowhere_on_the_page(scene: Scene) -> None:
    User.objects.filter(pk=scene.ada.pk).update(uses_shortcuts=False, judging_keys={"grade-1": "j"})

    page = client_of(scene.ada).get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()

    assert "data-press" not in page
    assert "Change your keys" not in page
    assert set(keys_on(page).values()) == {""}


@pytest.mark.parametrize(
    ("fields", "name", "message"),
    [
        ({"skip": "F5"}, "skip", "“f5” belongs to the browser or the page. Use one letter, digit or sign."),
        ({"skip": "/"}, "skip", "“/” starts a search in some browsers."),
        ({"skip": "k", "undo": "K"}, "undo", "“k” is the key of “Skip the task”."),
        ({"grade-1": "c"}, "grade-1", "“c” is the key of “Write a comment”."),
        ({"undo": "x"}, "undo", "“x” chooses “System failure” in ARQMath"),
        ({"grade-2": "3"}, "grade-2", "“3” chooses “High” in ARQMath"),
    ],
)
def test_key_that_cannot_be_used_is_refused_with_the_reason(
    scene: Scene, fields: dict[str, str], name: str, message: str
) -> None:
    page = client_of(scene.ada).post(reverse("assessment:keys"), fields)

    assert page.status_code == 422
    assert message in " ".join(page.context["form"].errors[name])
    assert own_keys(scene.ada) == {}


def test_keys_can_be_swapped_and_reset(scene: Scene) -> None:
    client = client_of(scene.ada)
    client.post(reverse("assessment:keys"), {"grade-1": "0", "grade-4": "3", "skip": "z", "undo": "s"})
    swapped = own_keys(scene.ada)

    client.post(reverse("assessment:keys"), {"grade-1": "7", "reset": "yes"})

    assert swapped == {"grade-1": "0", "grade-4": "3", "skip": "z", "undo": "s"}
    assert own_keys(scene.ada) == {}


def test_key_of_a_protocol_that_came_later_gives_way_to_an_own_key(scene: Scene) -> None:
    user = make_user()
    client_of(user).post(reverse("assessment:keys"), {"skip": "x"})
    user.refresh_from_db()

    keys = keys_of(user, scene.pool.protocol.parsed.judging)

    assert (keys.skip, keys.choices["system-failure"]) == ("x", "")


def test_choice_of_a_protocol_has_its_key_before_an_action() -> None:
    text = shipped_text("arqmath-2020-task1").replace('shortcut = "u"', 'shortcut = "c"')

    keys = keys_of(make_user(), parse_protocol(text, name="ours.toml").judging)

    assert (keys.choices["do-not-know"], keys.comment, keys.skip) == ("c", "", "s")
