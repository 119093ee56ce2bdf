"""The languages of the pages of assessors: catalogs without gaps, pages without unmarked words, and who gets which."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse
from django.utils import translation

from accounts.mail import letters
from accounts.models import Login, User
from accounts.tasks import send_letters
from assay.errors import say
from assay.html.sanitize import plain
from assay.protocols.description import label_title
from assessment.judgments.answers import in_language
from assessment.nuggets import services as nuggets
from assessment.nuggets.selectors import listed
from config.celery import app
from corpus.models import Collection, Document, Formula
from home.languages import words_of_scripts
from jobs import services as jobs
from maintenance import languages
from participation.interaction import services as sessions
from participation.invitations.selectors import link_of
from participation.invitations.services import Place, Terms, invite
from participation.models import Announcement, Invitation, Nomination, Team
from pooling.models import Nugget
from tests.assessment.conftest import Scene, build_scene, scene
from tests.assessment.judging import test_pairs
from tests.helpers.answers import SEGMENTS, answers_lab, write_nuggets
from tests.helpers.api import api, call
from tests.helpers.bolt_campaign import build_campaign
from tests.helpers.candidates import LABELS, make_choice
from tests.helpers.factories import make_assessor, make_organizer, make_user
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.judging import accept, judge, make_announcement
from tests.helpers.row_scenes import ROWS, build_rows
from tests.helpers.translated import marks_translated, unmarked_pages, walk
from tracks.agreements import services as agreements
from tracks.choosing.services import decide
from tracks.guidelines import services as guidelines
from tracks.models import Candidate, Topic, Track

__all__ = ["marks_translated", "scene"]  # fixtures
NUMBER_FOR_GERMANS = re.compile(r'(?:value|min|max|step|data-[a-z-]+)="\d+,\d+"')  # a script cannot read it
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
    pytest.importorskip("assay_extensions.turkle")
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


def test_sentence_of_the_library_is_said_in_the_language_of_the_page() -> None:
    wanted = say("at most {n} characters", n=5)
    sentence = say("“{question}” takes {wanted}; there are {n}.", question="Q", wanted=wanted, n=9)

    with translation.override("de"):
        assert in_language(sentence) == "„Q“ nimmt höchstens 5 Zeichen; es sind 9."
        assert in_language("anything else") == "anything else"
    assert in_language(sentence) == sentence


# -- pages

pytest_db = pytest.mark.django_db


@pytest_db
@pytest.mark.usefixtures("marks_translated")
def test_pages_of_assessors_have_no_word_that_cannot_be_translated(scene: Scene) -> None:
    track, batch = scene.batch.pool.track, scene.batch.pk
    organizer = make_organizer()
    for number, text in enumerate(("# Old rules", "# New rules")):
        guidelines.publish(track=track, text=text, revision=number, by=organizer)
    judge(accept(scene.batch, scene.ada))
    task = accept(scene.batch, scene.ada)
    forms = ("stored", "done", "own_judgments", "guidelines")

    pages = walk(
        speaking(scene.ada, "de"),
        task.get_absolute_url(),
        *(reverse(f"assessment:{name}") for name in ("mine", "keys", "own_statistics")),
        *(reverse(f"assessment:{name}", args=[batch]) for name in forms),
        *(reverse(name) for name in ("home", "all_tracks", "account", "password_change")),
        *(reverse(f"tracks:{name}", args=[track.slug]) for name in ("guidelines", "guidelines_versions")),
        reverse("tracks:guidelines_changes", args=[track.slug, 1, 2]),
    )

    protocol = track.protocol.parsed
    choices = [text for each in protocol.judging.choices for text in (each.label, each.definition)]
    shown = [
        Document.objects.values_list("title"),
        [plain(body) for body in Document.objects.values_list("body", flat=True)],
        track.topics.values_list("tags"),
        protocol.runs.kinds,
        scene.ada,
        track,
        track.description,
        scene.batch,
        protocol.title,
        protocol.source,
        track.collection,
    ]
    assert unmarked_pages(pages, *shown, *choices) == {}
    views = {resolve(address.partition("?")[0]).view_name for address in pages}
    assert {"home", "tracks:guidelines_changes", "tracks:guidelines_version", "assessment:task"} <= views


@pytest_db
@pytest.mark.usefixtures("marks_translated")
@pytest.mark.parametrize("build", [test_pairs.build_scene, build_rows])
def test_pairs_and_rows_have_no_word_that_cannot_be_translated(build: Callable[[], Any]) -> None:
    lab = build()
    task = accept(lab.batch, lab.ada)

    pages = walk(speaking(lab.ada, "de"), task.get_absolute_url())

    rules = lab.track.protocol.parsed.judging
    asked = [(each.label, each.help, each.unit, each.field) for each in rules.questions]
    choices = [(each.label, each.definition) for each in rules.choices]
    of_questions = [(each.label, each.definition) for asked in rules.questions for each in asked.choices]
    data = [*lab.track.collection.documents.values_list("body")] if lab.track.collection else ROWS
    protocol = lab.track.protocol.parsed
    names = [
        Document.objects.values_list("title"),
        lab.track,
        protocol.title,
        protocol.source,
        lab.track.collection,
        lab.ada,
        lab.batch,
    ]
    texts = [
        lab.track.topics.values_list("tags"),
        protocol.runs.kinds,
        rules.form,
        rules.preference,
        data,
        asked,
        choices,
        of_questions,
    ]
    assert unmarked_pages(pages, *names, *texts) == {}


CITED = "six cranes stop; I love the song"  # words of passages that the developers of a topic cited


def campaign_of_sessions() -> tuple[User, list[str], list[object]]:
    """A campaign of BOLT: sessions that are planned, practiced, running and over, and a data agreement."""
    campaign = build_campaign()
    track, ada, owls = campaign.track, campaign.ada, Team.objects.get(name="Owls")
    olive = make_user("olive")
    owls.members.add(olive)
    codes = list(track.topics.order_by("code").values_list("code", flat=True))
    sessions.nominate(team=owls, codes=codes, by=olive)
    sessions.set_address(team=owls, address="https://owls.example.org/", by=olive, site=SITE)
    sessions.plan(team=owls, n=len(codes), assessor=ada, by=campaign.organizer)
    over, running = Nomination.objects.filter(team=owls).order_by("place")[:2]
    sessions.practice(nomination=over, by=ada)
    for nomination in (over, running):
        sessions.start(nomination=nomination, by=ada)
        if nomination == over:
            sessions.end(nomination=nomination, by=ada)
    for revision, text in enumerate(("One", "Two")):
        agreements.publish(track=track, text=text, revision=revision, by=campaign.organizer)
    make_announcement(track, campaign.organizer)
    address = reverse("participation:interaction", args=[track.slug])
    return (
        ada,
        [address],
        [Announcement.objects.values_list("title"), "Owls Harbor harbor", CITED],
    )


def lists_of_nuggets() -> tuple[User, list[str], list[object]]:
    """Lists of nuggets: merged, similar and frozen ones, next to segments."""
    lab = answers_lab()
    write_nuggets(lab)
    first, second = listed(lab.bees)[:2]
    nuggets.merge(
        topic=lab.bees, ids=[first.pk, second.pk], text="A bee dances", importance="vital", by=lab.ada
    )
    for text in ("Green tea is never fermented", "Green tea is not ever fermented"):
        nuggets.add(topic=lab.tea, text=text, importance="okay", by=lab.ada)
    return (
        lab.ada,
        [reverse("assessment:nuggets", args=[lab.track.slug])],
        [lab.organizer, lab.relevance, Nugget.objects.values_list("text"), SEGMENTS],
    )


def choice_of_topics() -> tuple[User, list[str], list[object]]:
    """Candidates for topics that two people accept, reject and disagree on."""
    choice = make_choice()
    candidates = list(choice.sample.rows.order_by("position").values_list("candidate__docno", flat=True))
    for person, choices in ((choice.first, (True, False)), (choice.second, (True, True))):
        for docno, is_accepted in zip(candidates, choices, strict=False):
            reason = "" if is_accepted else "Too short"
            decide(
                sample=choice.sample,
                docno=docno,
                is_accepted=is_accepted,
                reason=reason,
                labels=LABELS,
                by=person,
            )
    names = ("candidate_sample", "decide", "settle")
    arguments = [choice.track.slug, choice.sample.number]
    addresses = [
        reverse(f"tracks:{name}", args=[*arguments, *candidates[1:2] * (name == "settle")]) for name in names
    ]
    return (
        choice.second,
        addresses,
        [choice.first, Candidate.objects.values_list("title"), LABELS, "Too short"],
    )


def threads_with_formulas() -> tuple[User, list[str], list[object]]:
    """The pages of a collection of questions and answers with formulas."""
    lab = build_formula_scene()
    ada, code = make_assessor(lab.track, "ada"), Formula.objects.values_list("code", flat=True)[0]
    collection = lab.track.collection
    assert collection is not None
    formula = reverse("corpus:formula", args=[collection.slug, code])
    starts = [lab.track.get_absolute_url(), collection.get_absolute_url(), formula]
    return ada, starts, [collection]


@pytest_db
@pytest.mark.usefixtures("marks_translated")
@pytest.mark.parametrize(
    "build", [campaign_of_sessions, lists_of_nuggets, choice_of_topics, threads_with_formulas]
)
def test_page_that_an_assessor_opens_has_no_word_that_cannot_be_translated(
    build: Callable[[], tuple[User, list[str], list[object]]],
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    ada, starts, shown = build()

    pages = walk(speaking(ada, "de"), *starts, reverse("all_tracks"), reverse("tokens"))

    assert {number[0] for page in pages.values() for number in NUMBER_FOR_GERMANS.finditer(page)} == set()
    rules = [track.protocol.parsed for track in Track.objects.all()]
    data: list[object] = [ada, *shown]
    data += Track.objects.values_list("name", "slug"), Collection.objects.values_list("name", "license")
    data += (
        Document.objects.values_list("title", "tags"),
        Topic.objects.values_list("code", "title", "tags", "labels"),
    )
    labels = [label_title(label).capitalize() for each in rules for label in each.topics.labels]
    labels += [
        label_title(name).capitalize() for labels in Topic.objects.values_list("labels") for name in labels[0]
    ]
    judging = [
        [*each.judging.choices, *each.judging.questions, each.title, each.runs.kinds] for each in rules
    ]
    shown_data = [list(each) if isinstance(each, QuerySet) else each for each in data]
    assert unmarked_pages(pages, *shown_data, labels, judging) == {}


@pytest_db
def test_sides_of_a_pair_and_when_a_question_is_asked_are_in_the_language() -> None:
    lab = test_pairs.build_scene()
    task = accept(lab.batch, lab.ada).get_absolute_url()

    german, arabic = (speaking(lab.ada, language).get(task).content.decode() for language in ("de", "ar"))

    assert 'data-label="Links viel besser"' in german
    assert "gefragt: nach " in german
    assert "Left" not in german
    assert 'data-label="الأيمن أفضل"' in arabic
    assert "يُسأل: بعد " in arabic


@pytest_db
@pytest.mark.usefixtures("marks_translated")
@pytest.mark.parametrize("role", ["assessor", "account"])
def test_invitation_has_no_word_that_cannot_be_translated(role: str, scene: Scene) -> None:
    track, organizer = scene.batch.pool.track, make_organizer()
    user = make_user("carl") if role == "account" else None
    invitation = invite(place=Place(track, user=user), terms=Terms(), by=organizer)
    address = link_of(invitation, "")

    visitor = Client(headers={"Accept-Language": "de"})
    pages = {address: visitor.get(address, follow=True).content.decode()}
    pages["refused"] = visitor.post(reverse("participation:join"), {}).content.decode()
    pages["gone"] = visitor.get("/join/nothing/").content.decode()

    assert unmarked_pages(pages, track, organizer, invitation.user or "", organizer.get_full_name()) == {}


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
    assert '<html lang="de">' in german
    assert "Einreichen" in german
    assert "rtl.min" not in german
    assert '<html lang="en-us">' in english
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
    member = speaking(make_user("mia"), "de")
    desk, overview = (reverse(name, args=[track.slug]) for name in ("assessment:judging", "tracks:track"))

    assert 'lang="en-us"' in organizer.get(desk).content.decode()
    assert 'lang="de"' in assessor.get(desk).content.decode()
    shown = [client.get(overview).content.decode() for client in (organizer, member, assessor)]
    assert ['lang="de"' in page for page in shown] == [False, False, True]


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


SITE = "https://assay.example.org"
# The letters that assessors get: the data, the subject in German, and a sentence
LETTERS: list[tuple[str, Callable[[User, Track], dict[str, Any]], str, str]] = [
    (
        "accounts.links",
        lambda ada, _: {"name": ada.username},
        "Ihr Anmeldelink",
        "Melden Sie sich mit diesem Link",
    ),
    (
        "accounts.lockout",
        lambda ada, _: {"user": ada.pk, "address": None},
        "Falsche Passwörter für Ihr Konto",
        "von einer unbekannten Adresse",
    ),
    (
        "accounts.login",
        lambda ada, _: {"login": Login.objects.create(user=ada).pk},
        "Eine Anmeldung bei Ihrem Konto",
        "mit einem unbekannten Browser von einer unbekannten Adresse bei Ihrem Konto",
    ),
    (
        "participation.added",
        lambda ada, track: {"user": ada.pk, "track": track.pk, "role": "assessor", "team": ""},
        "Ihre Rolle in ",
        "hat Sie bei Assay zum Assessor",
    ),
    (
        "participation.announcement",
        lambda ada, track: {"user": ada.pk, "announcement": announce(track).pk},
        ": Topics",
        "geben bekannt:",
    ),
    (
        "participation.invitation",
        lambda ada, track: {"invitation": invite_by_mail(track, ada.email).pk},
        "Einladung zu ",
        "lädt Sie ein, für",
    ),
    (
        "participation.invitation",
        lambda ada, track: {"invitation": invite_by_mail(track, user=ada).pk},
        "Einladung zu ",
        "Wählen Sie mit diesem Link ein Passwort",
    ),
]


def announce(track: Track) -> Announcement:
    values = {"title": "Topics", "text": "-", "html": "-", "audiences": ["assessors"]}
    return Announcement.objects.create(track=track, published_by=make_organizer(), **values)


def invite_by_mail(track: Track, email: str = "", user: User | None = None) -> Invitation:
    if user is not None:
        user.set_unusable_password()
        user.save()
    return invite(place=Place(track, user=user), terms=Terms(email=email), by=make_organizer(), site=SITE)


@pytest_db
@pytest.mark.parametrize(("kind", "data", "subject", "sentence"), LETTERS)
def test_every_letter_to_an_assessor_is_in_the_language_of_the_account(
    kind: str, data: Callable[[User, Track], dict[str, Any]], subject: str, sentence: str, settings: Any
) -> None:
    settings.SENDS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    app.loader.import_default_modules()
    lab = build_scene()
    User.objects.filter(pk=lab.ada.pk).update(language="de", email="ada@example.org")
    lab.ada.refresh_from_db()

    letters.post(kind=kind, data=data(lab.ada, lab.track), site=SITE)
    send_letters()

    [message] = mail.outbox
    assert message.to == ["ada@example.org"]
    assert subject in message.subject
    assert sentence in message.body
    assert SITE in message.body


@pytest_db
def test_letter_to_an_assessor_that_is_not_tested_above_does_not_exist() -> None:
    app.loader.import_default_modules()

    others = {kind for kind in letters._writers if kind not in {each[0] for each in LETTERS}}

    of_extensions = {"judge-boards.released"}
    assert others - of_extensions == {
        *(
            "runs.accepted",
            "runs.rejected",
            "runs.owed",
            "leaderboards.released",
            "jobs.backup_alarm",
        ),
        *(
            "participation.request_decided",
            "participation.requests",
            "participation.team_requests",
            "interaction.planned",
            "interaction.held",
        ),
    }, "does an assessor get the letter? Then translate it"


@pytest_db
@pytest.mark.parametrize(
    ("language", "sentence"),
    [("", "invites you to judge documents for"), ("de", "lädt Sie ein, für"), ("ar", "يدعوك")],
)
def test_invited_person_without_an_account_gets_the_language_of_the_inviter(
    language: str, sentence: str, settings: Any
) -> None:
    settings.SENDS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    app.loader.import_default_modules()
    invitation = invite_by_mail(build_scene().track, "new@example.org")
    User.objects.filter(pk=invitation.created_by_id).update(language=language)

    letters.post(kind="participation.invitation", data={"invitation": invitation.pk}, site=SITE)
    send_letters()

    assert sentence in mail.outbox[0].body
