"""Downloads for programs."""

from io import BytesIO
from typing import Any

import pytest

from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_topic, make_track, make_user
from tracks.agreements import services as agreements
from tracks.downloads import services
from tracks.downloads.services import Release
from tracks.models import Fetch
from web.times import now

pytestmark = pytest.mark.django_db


def test_program_lists_and_fetches_what_is_released_to_it(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path
    track, user, olga = make_track("lab"), make_user(), make_organizer()
    make_topic(track, "A.1")
    for name, release in (("open.gz", Release(released_at=now())), ("hidden.gz", Release())):
        services.attach_file(
            track=track, kind="other", file=BytesIO(b"0123456789"), name=name, release=release, by=olga
        )

    listed = {item["name"]: item for item in call(api(user), "GET", "downloads", "lab").json()["results"]}
    part = api(user).get(listed["open.gz"]["url"], headers={"range": "bytes=4-"})
    whole = call(api(user), "GET", "download", "lab", "lab-topics.xml")

    assert "hidden.gz" not in listed
    assert (part.status_code, part.getvalue(), part["ETag"]) == (
        206,
        b"456789",
        f'"{listed["open.gz"]["sha256"]}"',
    )
    assert len(whole.getvalue()) == listed["lab-topics.xml"]["n_bytes"]
    assert call(api(user), "GET", "download", "lab", "hidden.gz").status_code == 404
    assert list(Fetch.objects.values_list("user", "name")) == [(user.pk, "lab-topics.xml")]


def test_program_needs_the_data_agreement_for_files() -> None:
    track, user = make_track("lab"), make_user()
    make_topic(track, "A.1")
    agreements.publish(track=track, text="Do not share.", revision=0, by=make_organizer())

    refused = call(api(user), "GET", "download", "lab", "lab-topics.xml")
    agreements.accept(track=track, user=user, revision=1)

    assert (refused.status_code, refused.json()["title"]) == (409, "Accept the data agreement first")
    assert call(api(user), "GET", "download", "lab", "lab-topics.xml").status_code == 200
