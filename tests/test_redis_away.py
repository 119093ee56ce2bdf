"""While Redis is away, people log in, wrong passwords are counted, programs are answered, and jobs wait for it."""

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from jobs.models import Job
from tests.fixtures import Factory, wait_until
from tests.helpers.api import make_token
from tests.helpers.away import WAYS, Way, answered_soon, without_redis
from tests.helpers.dumps import dump, question
from tests.helpers.factories import PASSWORD, make_organizer, make_user
from web import caches

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("way", WAYS)]
POSTS = dump("posts", question(1)).encode()


@pytest.fixture(autouse=True)
def _ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a Redis that is back at once."""
    monkeypatch.setattr(caches.ForgivingRedisCache, "_silent_until", 0.0)
    monkeypatch.setattr(caches, "PAUSE_SECONDS", 2.0)


def test_people_log_in_and_wrong_passwords_are_counted(client: Client, way: Way) -> None:
    make_user("ada")
    make_user("bob")

    with without_redis(way), answered_soon():
        wrong = [client.post(reverse("login"), {"username": "ada", "password": "x"}) for _ in range(10)]
        locked = client.post(reverse("login"), {"username": "ada", "password": PASSWORD})
        entered = client.post(reverse("login"), {"username": "bob", "password": PASSWORD})
        link = client.post(reverse("request_link"), {"name": "ada"})
        page = client.get(reverse("account"))

    assert {answer.status_code for answer in wrong[:-1]} == {200}
    assert locked.status_code == 429
    assert (entered.status_code, page.status_code) == (302, 200)
    assert link.status_code in {200, 302}


def test_programs_are_answered(client: Client, way: Way) -> None:
    token = make_token(make_user("ada"))

    with without_redis(way), answered_soon():
        right = client.get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"})
        wrong = client.get("/api/v1/me/", headers={"Authorization": "Bearer wrong"})
        visitor = client.get("/api/v1/tracks/")

    assert (right.status_code, wrong.status_code) == (200, 401)
    assert visitor.status_code < 500


def test_job_waits_until_redis_is_back(client: Client, worker: Factory, beat: Factory, way: Way) -> None:
    client.force_login(make_organizer("olga"))
    form = {"slug": "math", "upload": SimpleUploadedFile("Posts.xml", POSTS)}

    with without_redis(way), answered_soon():
        asked = client.post("/imports/new/", form)
        page = client.get(asked.headers["Location"])
        state = Job.objects.get().state

    worker()
    beat()
    assert (asked.status_code, page.status_code, state) == (302, 200, "queued")
    wait_until(lambda: Job.objects.get().state == "done", reason="the job is done")
    cache.set("back", 1)
    assert cache.get("back") == 1
