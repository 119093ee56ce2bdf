"""The languages of the pages of assessors: catalogs without gaps, pages without unmarked words, and who gets which."""

import re
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse
from django.utils import translation
from lxml import html

from accounts import letters
from accounts.models import User
from accounts.tasks import send_letters
from assay.errors import say
from assessment.judgments.answers import in_language
from config.languages import TRANSLATED, words_of_scripts
from maintenance import languages
from tests.assessment.conftest import Scene, scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_user
from tests.helpers.judging import accept, judge

__all__ = ["scene"]  # a fixture
CATALOGS = [(language, domain) for language in languages.languages() for domain in languages.DOMAINS]


def as_user(user: User | None, **headers: Any) -> Client:
    client = Client(**headers)
    if user is not None:
        client.force_login(user)
    return client


def speaking(user: User, language: str) -> Client:
    user.language = language
    user.save()
    return as_user(user)


# -- catalogs


@pytest.mark.parametrize(("language", "domain"), CATALOGS)
def test_every_text_is_translated(language: str, domain: str) -> None:
    assert languages.problems_of(language, domain) == [], "run python -m maintenance.languages"


@pytest.mark.parametrize(("language", "domain"), CATALOGS)
def test_compiled_catalog_is_that_of_the_texts(language: str, domain: str) -> None:
    path = languages.path_of(language, domain)

    assert path.with_suffix(".mo").read_bytes() == languages.compiled(languages.catalog_of(language, domain))


def test_catalog_names_a_text_that_lacks_a_value_or_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        languages, "DOMAINS", {"django": lambda: {languages.Text("{n} unit", "{n} units of {x}")}}
    )

    problems = languages.problems_of("ar", "django")

    assert any(problem.startswith("{n} unit: ") for problem in problems)
    assert any(problem.startswith("not in the source") for problem in problems)


def test_texts_are_those_of_tags_calls_and_counted_nouns() -> None:
    page = (
        '{% translate "Log in" %} {% table _("Topics") %} {{ n|counted:"person,people" }} '
        "{% blocktranslate trimmed with a=b count n=c %}\n {{ a }}: {{ n }} run\n{% plural %}\n {{ a }}: {{ n }} runs"
        "\n{% endblocktranslate %}"
    )

    texts = {*languages.texts_of_page(page), *languages.nouns_in(page)}

    assert texts == {
        ("Log in", ""),
        ("Topics", ""),
        ("%(a)s: %(n)s run", "%(a)s: %(n)s runs"),
        ("{n} person", "{n} people"),
    }


def test_translated_views_exist() -> None:
    def exists(name: str) -> bool:
        for args in ([], [1], ["x"]):
            try:
                return bool(reverse(name, args=args))
            except NoReverseMatch:
                continue
        return name == "login_link"  # takes a user and a token

    assert [name for name in TRANSLATED if not exists(name)] == []


def test_sentence_of_the_library_is_said_in_the_language_of_the_page() -> None:
    wanted = say("at most {n} characters", n=5)
    sentence = say("“{question}” takes {wanted}; there are {n}.", question="Q", wanted=wanted, n=9)

    with translation.override("de"):
        assert in_language(sentence) == "„Q“ nimmt höchstens 5 Zeichen; es sind 9."
        assert in_language("anything else") == "anything else"
    assert in_language(sentence) == sentence


# -- pages

pytest_db = pytest.mark.django_db
# What a page shows of the data of a lab, and what no language changes
DATA_CLASSES = ("post", "choice", "math", "mono", "navbar-brand", "guidelines-text")
DATA_ELEMENTS = ("kbd", "time", "script", "style", "title", "bdi", "option")


@pytest.fixture
def marks_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enclose every translated text in ⟦ and ⟧."""
    monkeypatch.setattr(translation._trans, "gettext", lambda text: f"⟦{text}⟧", raising=False)
    monkeypatch.setattr(
        translation._trans,
        "ngettext",
        lambda singular, plural, n: f"⟦{singular if n == 1 else plural}⟧",
        raising=False,
    )


def outside(text: str) -> str:
    """What is outside of the marks, which can be nested."""
    inner = re.compile(r"⟦[^⟦⟧]*⟧")
    while inner.search(text):
        text = inner.sub(" ", text)
    return text


def unmarked(page: str, data: set[str]) -> list[str]:
    """The words on a page that are neither translated nor data of the lab."""
    root = html.fromstring(page)
    classes = (f"//*[contains(concat(' ', @class, ' '), ' {name} ')]" for name in DATA_CLASSES)
    for element in root.xpath(" | ".join([*classes, *(f"//{name}" for name in DATA_ELEMENTS)])):
        if element.getparent() is not None:
            element.drop_tree()
    texts = [
        "".join(root.itertext()),
        *root.xpath("//@aria-label | //@title | //@placeholder | //@data-label"),
    ]
    words = {word for text in map(str, texts) for word in re.findall(r"[A-Za-z]{3,}", outside(text))}
    return sorted(words - data)


@pytest_db
@pytest.mark.usefixtures("marks_translated")
def test_pages_of_assessors_have_no_word_that_cannot_be_translated(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    task = accept(scene.batch, scene.ada)
    client, batch = as_user(scene.ada), scene.batch.pk
    addresses = [
        task.get_absolute_url(),
        *(reverse(f"assessment:{name}") for name in ("mine", "keys", "own_statistics")),
        *(
            reverse(f"assessment:{name}", args=[batch])
            for name in ("stored", "done", "own_judgments", "guidelines")
        ),
        *(reverse(name) for name in ("account", "password_change")),
    ]
    track = scene.batch.pool.track
    protocol = track.protocol.parsed
    choices = [text for each in protocol.judging.choices for text in (each.label, each.definition)]
    shown = ["Assay", "UTC", scene.ada, track, scene.batch, protocol.title, protocol.source, *choices]
    data = set(re.findall(r"[A-Za-z]{3,}", " ".join(map(str, shown))))

    pages = {address: unmarked(client.get(address).content.decode(), data) for address in addresses}

    assert {address: words for address, words in pages.items() if words} == {}


@pytest_db
def test_account_decides_the_language_then_the_browser(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada).get_absolute_url()
    arabic = speaking(scene.ada, "ar").get(task, headers={"Accept-Language": "de"}).content.decode()
    scene.ada.language = ""
    scene.ada.save()
    german = as_user(scene.ada).get(task, headers={"Accept-Language": "fr, de-AT;q=0.8"}).content.decode()
    english = as_user(scene.ada).get(task, headers={"Accept-Language": "fr"}).content.decode()

    assert '<html lang="ar" dir="rtl">' in arabic
    assert "bootstrap.rtl.min" in arabic
    assert "إرسال" in arabic
    assert '<html lang="de" dir="ltr">' in german
    assert "Einreichen" in german
    assert "rtl.min" not in german
    assert '<html lang="en-us" dir="ltr">' in english
    assert "Submit" in english
    assert 'id="words"' not in english
    assert words_of_scripts("ar")["Saved."] == "حُفظ."


@pytest_db
def test_language_costs_no_query(scene: Scene, django_assert_num_queries: Any) -> None:
    task = accept(scene.batch, scene.ada).get_absolute_url()
    client = as_user(scene.ada)
    client.get(task)

    with CaptureQueriesContext(connection) as english:
        client.get(task)
    client = speaking(scene.ada, "de")
    with django_assert_num_queries(len(english)):
        client.get(task)


@pytest_db
def test_pages_of_organizers_stay_english(scene: Scene) -> None:
    track = scene.batch.pool.track
    organizer, assessor = speaking(make_organizer(), "de"), speaking(scene.ada, "de")
    desk, runs = reverse("assessment:judging", args=[track.slug]), reverse("tracks:track", args=[track.slug])

    assert 'lang="en-us"' in organizer.get(desk).content.decode()
    assert 'lang="de"' in assessor.get(desk).content.decode()
    assert 'lang="en-us"' in assessor.get(runs).content.decode()


@pytest_db
def test_errors_and_refusals_are_in_the_language(scene: Scene) -> None:
    client = speaking(scene.ada, "de")
    scene.batch.status = "closed"
    scene.batch.save()

    missing, refused = client.get("/nowhere/"), client.post(reverse("assessment:next", args=[scene.batch.pk]))
    login = Client().get(reverse("login"), headers={"Accept-Language": "ar"})

    assert (missing.status_code, refused.status_code) == (404, 409)
    assert "Seite nicht gefunden" in missing.content.decode()
    assert "Dieser Stapel ist nicht offen" in refused.content.decode()
    assert "geschlossen. Sie können Aufgaben nur nehmen, solange er offen ist." in refused.content.decode()
    assert "تسجيل الدخول" in login.content.decode()
    assert "Accept-Language" in login["Vary"]


@pytest_db
def test_user_chooses_the_language_on_the_account_page_and_by_the_api() -> None:
    user = make_user()
    client = as_user(user)

    saved = client.post(reverse("account"), {"language": "de"}, follow=True).content.decode()
    unknown = client.post(reverse("account"), {"language": "tlh"})
    by_api, refused = (call(api(user), "PATCH", "me", data={"language": name}) for name in ("ar", "tlh"))

    user.refresh_from_db()
    assert "Einstellungen gespeichert." in saved
    assert unknown.status_code == 409
    assert "tlh" in unknown.content.decode()
    assert (by_api.json()["language"], user.language) == ("ar", "ar")
    assert refused.status_code == 400


@pytest_db
def test_login_link_comes_in_the_language_of_the_account(settings: Any) -> None:
    settings.SENDS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    user = make_user(email="ada@example.org", language="de")

    letters.post(kind="accounts.links", data={"name": user.username}, site="https://assay.example.org")
    send_letters()

    [message] = mail.outbox
    assert message.subject == "Assay: Ihr Anmeldelink"
    assert "Melden Sie sich mit diesem Link" in message.body
    assert "https://assay.example.org/" in message.body
