"""Work by a link without an account: from the organizer's link to judgments, and all that a guest must not do."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event, User
from assessment.batches import services as batch_services
from assessment.batches.selectors import assessors_of
from assessment.joining import services
from assessment.joining.selectors import link_in_force, workers_of
from assessment.models import Batch, BatchLink, Judgment, Task
from assessment.planning.grid import grid_of
from participation.invitations.services import Terms
from participation.people.selectors import people_of
from tests.assessment.conftest import Scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_image, make_organizer, make_user
from tests.test_access import MATRIX
from tracks.guidelines import services as guidelines
from tracks.models import Assessor
from web import throttling

pytestmark = pytest.mark.django_db
START = "/judge/link/"
READS = {"is_readable": "on"}


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    cache.clear()


def make_link(scene: Scene, judges: int = 1, **terms: int) -> BatchLink:
    batch = batch_services.create(pool=scene.pool, name="Crowd", judges=judges, is_shared=True, by=None)
    batch_services.open_for_judging(batch=batch)
    organizer = make_organizer()
    return services.create(
        batch=batch, terms=Terms(**({"max_uses": 5} | terms)), asks_name=False, by=organizer
    )


def address_of(link: BatchLink) -> str:
    """The path of the link, as its organizer copies it."""
    organizer = Client()
    organizer.force_login(User.objects.get(pk=link.invitation.created_by_id))
    page = organizer.get(reverse("assessment:batch_link", args=[link.batch_id])).content.decode()
    return re.findall(r'value="http://testserver(/join/[^"]+)"', page)[0]


def arrive(address: str) -> Client:
    """A new browser that has opened a link."""
    browser = Client()
    assert browser.get(address).status_code == 302
    return browser


def started(address: str) -> Client:
    browser = arrive(address)
    assert browser.post(START).status_code == 302
    return browser


def judge_next(browser: Client, batch: Batch, choice: str = "high") -> str:
    """Take a task and submit it; returns the address of the page that follows."""
    task = browser.post(reverse("assessment:next", args=[batch.pk])).headers["Location"]
    form = {"choice": choice, "comment": "", "request_id": str(uuid4()), "shown": "0"}
    answer = browser.post(task, form)
    assert answer.status_code == 302, answer.content.decode()
    return answer.headers["Location"]


def guest_of(browser: Client) -> User:
    return User.objects.get(pk=browser.session["guest"])


def test_visitor_comes_by_a_link_sees_a_unit_accepts_and_judges_to_the_end(scene: Scene) -> None:
    organizer, other = Client(), Client()
    organizer.force_login(make_organizer("ona"))
    batch = batch_services.create(pool=scene.pool, name="Crowd", judges=1, is_shared=True, by=None)
    batch_services.open_for_judging(batch=batch)
    guidelines.publish(track=scene.track, text="Read *slowly*.", revision=0, by=make_organizer("olga"))
    page = reverse("assessment:batch_link", args=[batch.pk])

    unread = organizer.post(page, {"asks_name": "on"})
    made = organizer.post(page, READS | {"asks_name": "on", "max_uses": "2"})
    link = link_in_force(batch)
    assert link is not None
    browser = arrive(address_of(link))
    offered = browser.get(START).content.decode()
    unit = browser.get("/judge/link/unit/").content.decode()
    nameless = browser.post(START)
    nobody = User.objects.exclude(guest_until=None).count()
    browser.post(START, {"name": "Worker 7"})
    own = browser.get(START).content.decode()
    task = browser.post(reverse("assessment:next", args=[batch.pk])).headers["Location"]
    judging = browser.get(task)
    for _ in range(6):
        last = judge_next(browser, batch)
    end = browser.get(last, follow=True).content.decode()
    hidden = other.get("/judge/link/unit/").status_code
    [worker] = workers_of(batch)
    shown = organizer.get(page).content.decode()

    assert (unread.status_code, made.status_code, nameless.status_code, nobody) == (422, 302, 422, 0)
    assert "Read <em>slowly</em>." in offered
    assert "6 units" in offered
    assert "Preview: nothing is stored." in unit
    assert "Start judging" in own
    assert judging.status_code == 200
    assert "no-store" in judging.headers["Cache-Control"]
    assert "Nothing is left for you to judge now" in end
    assert (worker.name, worker.n_judged, worker.code in end, worker.code in shown) == (
        "Worker 7",
        6,
        True,
        True,
    )
    assert "Worker 7" in shown
    assert hidden == 404
    assert Judgment.objects.filter(batch=batch, is_current=True, assessor=worker.user).count() == 6


def test_secret_is_in_no_page_but_its_own_and_in_no_log(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    link = make_link(scene)
    address, browser = address_of(link), Client()
    token = address.split("/")[2]

    opened = browser.get(address)
    offered = browser.get(START)
    guessed = Client().get(f"/join/{'x' * 43}/")

    assert opened.headers["Referrer-Policy"] == "strict-origin"
    assert "no-store" in opened.headers["Cache-Control"]
    assert opened.headers["Location"] == START
    assert token not in offered.content.decode()
    assert "no-store" in offered.headers["Cache-Control"]
    assert (guessed.status_code, settings.SESSION_COOKIE_NAME in guessed.cookies) == (410, False)
    assert token not in str(list(browser.session.items()))
    assert token not in caplog.text
    assert not Event.objects.filter(details__icontains=token).exists()


def test_guest_is_a_visitor_on_every_other_page_and_in_the_api(scene: Scene) -> None:
    """As in tests.test_access: where a visitor gets the login page, a guest gets it too."""
    link = make_link(scene)
    browser, visitor = started(address_of(link)), Client()
    places = {"slug": scene.track.slug, "batch_id": scene.batch.pk, "pool_id": scene.pool.pk, "code": "A.1"}
    names = [line.split()[0] for line in MATRIX.strip().splitlines()]
    welcome = {
        f"assessment:{name}" for name in ("mine", "link", "own_judgments", "done", "stored", "guidelines")
    }
    welcome |= {"assessment:guidelines_panel"}
    different = []
    for name in names:
        for keys in ([], ["slug"], ["batch_id"], ["pool_id"], ["slug", "code"]):
            try:
                address = reverse(name, kwargs={key: places[key] for key in keys})
            except Exception:  # noqa: BLE001 - another address than these
                continue
            answers = [client.get(address).status_code for client in (browser, visitor)]
            if answers[0] != answers[1]:
                different.append(name)

    assert set(different) <= welcome
    assert len(names) > 100
    of_other = [
        reverse(f"assessment:{name}", args=[scene.batch.pk]) for name in ("done", "guidelines", "stored")
    ]
    assert [browser.get(address).status_code for address in of_other] == [404, 404, 404]
    assert browser.post(reverse("assessment:next", args=[scene.batch.pk])).status_code == 404
    assert browser.get("/api/v1/batches/").status_code == 401
    assert browser.get(reverse("assessment:mine")).headers["Location"] == START


def test_guest_is_no_member_and_cannot_log_in(scene: Scene) -> None:
    link = make_link(scene)
    browser = started(address_of(link))
    guest = guest_of(browser)
    assert scene.track.collection is not None
    sha256 = make_image(scene.track.collection).sha256
    image = reverse("corpus:image", args=[scene.track.collection.slug, sha256])

    normal = Client()
    normal.force_login(guest, backend="accounts.backends.OrganizerBackend")

    shown = browser.get(image)
    assert b"".join(shown)
    assert shown.status_code == 200, "the images of its units"
    assert Client().get(image).status_code == 302
    assert not guest.has_usable_password()
    assert normal.get(reverse("account")).status_code == 302, "no session of a normal login works"
    assert guest not in assessors_of(scene.track)
    assert guest not in [person.user for person in people_of(scene.track)]
    assert guest.username not in [column.assessor.username for column in grid_of(scene.batch).columns]
    assert Assessor.objects.filter(track=scene.track, user=guest).exists(), (
        "exports and archives name them by code"
    )


def test_same_browser_goes_on_another_is_another_person_unless_it_has_the_own_link(scene: Scene) -> None:
    link = make_link(scene)
    address = address_of(link)
    browser = started(address)
    judge_next(browser, link.batch)
    page = browser.get(START).content.decode()
    own = re.findall(r'value="http://testserver(/join/[^"]+)"', page)[0]

    browser.get(address)
    same = browser.get(START).content.decode()
    second = started(address)
    third = arrive(own)
    offer = third.get(START).content.decode()
    third.post(START)

    assert "Resume your task" in page
    assert "Resume your task" in same
    assert guest_of(second) != guest_of(browser)
    assert "Welcome back" in offer
    assert guest_of(third) == guest_of(browser)
    link.invitation.refresh_from_db()
    assert link.invitation.n_uses == 2


def test_session_that_somebody_planted_is_not_the_one_that_judges(scene: Scene) -> None:
    browser = arrive(address_of(make_link(scene)))
    planted = browser.cookies[settings.SESSION_COOKIE_NAME].value
    browser.post(START)
    attacker = Client()
    attacker.cookies[settings.SESSION_COOKIE_NAME] = planted

    assert browser.cookies[settings.SESSION_COOKIE_NAME].value != planted
    assert "guest" not in attacker.session
    assert Client(enforce_csrf_checks=True).post(START).status_code == 403


def test_link_is_for_so_many_people_and_until_its_end(scene: Scene) -> None:
    link = make_link(scene, max_uses=1)
    address = address_of(link)
    late = arrive(address)
    browser = started(address)

    full = late.post(START)
    again = browser.get(START).status_code
    User.objects.exclude(guest_until=None).update(guest_until=timezone.now() - timedelta(minutes=1))
    over = browser.post(reverse("assessment:next", args=[link.batch_id]))

    assert full.status_code == 410
    assert again == 200
    assert over.status_code == 409
    assert "This work has ended" in over.content.decode()


def test_guest_gets_another_name_if_somebody_took_theirs(scene: Scene) -> None:
    link = make_link(scene)
    make_user(f"Link-{link.invitation_id}-1")

    started(address_of(link))

    assert User.objects.exclude(guest_until=None).get().username == f"link-{link.invitation_id}-2"


def test_revoked_link_ends_the_work_at_the_next_request_and_judgments_count(scene: Scene) -> None:
    link = make_link(scene)
    address = address_of(link)
    browser = started(address)
    judge_next(browser, link.batch)
    task = browser.post(reverse("assessment:next", args=[link.batch_id])).headers["Location"]
    form = {"choice": "high", "comment": "", "request_id": str(uuid4()), "shown": "0"}
    organizer = Client()
    organizer.force_login(make_organizer("ona"))

    organizer.post(reverse("assessment:revoke_link", args=[link.batch_id]))
    submitted = browser.post(task, form, headers={"Accept": "application/json"})
    page = browser.get(task)
    new = Client().get(address)

    assert submitted.status_code == 409
    assert submitted.json()["title"] == "This work has ended"
    assert "What you have judged is kept" in page.content.decode()
    assert "Nothing was changed" not in page.content.decode()
    assert new.status_code == 410
    assert Judgment.objects.filter(batch=link.batch, is_current=True).count() == 1


def test_nothing_counts_of_an_excluded_worker_and_others_judge_the_units(scene: Scene) -> None:
    link = make_link(scene)
    bad, good = started(address_of(link)), started(address_of(link))
    for _ in range(3):
        judge_next(bad, link.batch, "low")
    organizer = Client()
    organizer.force_login(make_organizer("ona"))
    exclude = reverse("assessment:exclude", args=[link.batch_id, guest_of(bad).pk])

    organizer.post(exclude, {"reason": ""})
    kept = Judgment.objects.filter(batch=link.batch, is_current=True).count()
    organizer.post(exclude, {"reason": "always low"})
    for _ in range(6):
        judge_next(good, link.batch)

    assert kept == 3
    assert bad.get(reverse("assessment:mine")).status_code == 409
    current = Judgment.objects.filter(batch=link.batch, is_current=True)
    assert set(current.values_list("choice", "assessor")) == {("high", guest_of(good).pk)}
    assert current.count() == 6
    assert Event.objects.get(action="worker.excluded").details == {"judgments": 3, "reason": "always low"}
    assert [worker.is_excluded for worker in workers_of(link.batch)] == [True, False]
    assert (
        organizer.post(reverse("assessment:exclude", args=[link.batch_id, scene.ada.pk])).status_code == 404
    )


def test_guest_sees_nothing_of_others_and_can_undo_and_skip(scene: Scene) -> None:
    link = make_link(scene, judges=2)
    address = address_of(link)
    first, second = started(address), started(address)
    judge_next(first, link.batch)
    task = Task.objects.get(status="submitted")
    taken = second.post(reverse("assessment:next", args=[link.batch_id])).headers["Location"]

    foreign = [
        second.get(task.get_absolute_url()).status_code,
        second.post(reverse("assessment:undo", args=[task.pk])).status_code,
    ]
    skipped = second.post(taken + "skip/", {"reason": "unclear"})
    undone = first.post(reverse("assessment:undo", args=[task.pk]))

    assert foreign == [404, 404]
    assert (skipped.status_code, undone.status_code) == (302, 302)
    task.refresh_from_db()
    assert task.status == "accepted"


def test_person_who_is_logged_in_does_not_become_a_guest(scene: Scene) -> None:
    browser = arrive(address_of(make_link(scene)))
    browser.force_login(scene.bob)
    browser.get(address_of(link_in_force(Batch.objects.get(name="Crowd"))))  # type: ignore[arg-type]

    page = browser.get(START).content.decode()
    browser.post(START)

    assert "You are logged in as" in page
    assert not User.objects.exclude(guest_until=None).exists()
    assert call(
        api(scene.bob), "post", "accept_invitation",
        data={"link": address_of(link_in_force(Batch.objects.get(name="Crowd")))},  # type: ignore[arg-type]
    ).status_code == 409  # fmt: skip


def test_only_an_open_batch_to_join_has_a_link_and_only_one(scene: Scene) -> None:
    ona, link = api(make_organizer("ona")), make_link(scene)

    closed = call(ona, "post", "batch_link", scene.batch.pk, data={})
    second = call(ona, "post", "batch_link", link.batch_id, data={})
    read = call(ona, "get", "batch_link", link.batch_id).json()
    browser = started(read["link"].removeprefix("http://testserver"))
    [worker] = call(ona, "get", "workers", link.batch_id).json()["results"]
    excluded = call(
        ona, "post", "exclude_worker", link.batch_id, worker["username"], data={"reason": "a test"}
    )
    revoked = call(ona, "post", "revoke_link", link.batch_id)
    made = call(ona, "post", "batch_link", link.batch_id, data={"days": 1, "is_name_asked": True})

    assert (closed.status_code, second.status_code) == (409, 409)
    assert "not open to join" in closed.json()["detail"]
    assert (excluded.status_code, revoked.status_code, made.status_code) == (204, 204, 201)
    assert (made.json()["is_name_asked"], made.json()["n_uses"]) == (True, 0)
    assert browser.get(reverse("assessment:mine")).status_code == 409


def test_a_class_behind_one_address_can_start_and_a_flood_cannot(scene: Scene) -> None:
    link = address_of(make_link(scene))
    arrived = [arrive(link) for _ in range(3)]
    for _ in range(69):
        throttling.count("start:127.0.0.1", throttling.HOUR)

    seventieth = arrived[0].post(START)
    for _ in range(throttling.OF_A_CLASS - 71):
        throttling.count("start:127.0.0.1", throttling.HOUR)
    codes = [browser.post(START).status_code for browser in arrived[1:]]

    assert (seventieth.status_code, codes) == (302, [302, 429])


def test_batch_that_is_finished_or_closed_admits_nobody(scene: Scene) -> None:
    link = make_link(scene)
    browser = arrive(address_of(link))
    batch_services.close(batch=link.batch)

    page = browser.get(START).content.decode()
    refused = browser.post(START)

    assert "The batch is not open now" in page
    assert refused.status_code == 409
    assert not User.objects.exclude(guest_until=None).exists()
