"""Data agreements are published by organizers, accepted with version, time and digest, and asked for again."""

import hashlib
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from tests.helpers.factories import make_organizer, make_track, make_user
from tracks.agreements import services
from tracks.agreements.selectors import has_accepted
from tracks.models import AgreementAcceptance, AgreementVersion, Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def track(db: None) -> Track:
    return make_track("arq")


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def edit(track: Track, action: str, text: str, revision: int = 0) -> Any:
    values = {"text": text, "revision": revision, "action": action}
    address = reverse("tracks:edit_agreement", args=[track.slug])
    return as_user(make_organizer()).post(address, values, follow=True)


def test_participant_reads_and_accepts_what_the_organizer_published(track: Track) -> None:
    edit(track, "publish", "# Terms\n\nKeep the data.\n<script>alert(1)</script>")
    member = make_user("pat")
    client = as_user(member)

    page = client.get("/tracks/arq/data-agreement/?next=/tracks/arq/runs/").content.decode()
    track.refresh_from_db()
    before = has_accepted(member, track)
    form = {"revision": 1, "next": "/tracks/arq/runs/"}
    response = client.post("/tracks/arq/data-agreement/accept/", form)

    accepted = AgreementAcceptance.objects.get()
    assert "<h2>Terms</h2>" in page
    assert "<script>alert" not in page
    assert (before, has_accepted(member, track)) == (False, True)
    assert response["Location"] == "/tracks/arq/runs/"
    assert (accepted.user, accepted.version.number) == (member, 1)
    assert accepted.sha256 == hashlib.sha256(accepted.version.text.encode()).hexdigest()
    assert "You accepted this version" in client.get("/tracks/arq/data-agreement/").content.decode()


def test_new_version_asks_again_and_withdrawn_agreement_nobody(track: Track) -> None:
    member = make_user()
    edit(track, "publish", "One")
    track.refresh_from_db()
    services.accept(track=track, user=member, revision=1)

    edit(track, "publish", "Two", revision=1)
    track.refresh_from_db()
    after_change = has_accepted(member, track)
    with pytest.raises(Refused, match="Version 2 is in force now"):
        services.accept(track=track, user=member, revision=1)
    edit(track, "withdraw", "Two", revision=2)
    track.refresh_from_db()

    assert not after_change
    assert has_accepted(member, track)
    assert AgreementVersion.objects.count() == 2


@pytest.mark.parametrize(
    ("text", "revision", "message"),
    [
        ("One", 1, "The text is the same as that of version 1."),
        ("  ", 1, "The text is empty."),
        ("Two", 0, "The data agreement changed after you opened the page."),
    ],
)
def test_publication_is_refused_with_the_reason(track: Track, text: str, revision: int, message: str) -> None:
    edit(track, "publish", "One")

    page = edit(track, "publish", text, revision)

    assert page.status_code == 409
    assert message in page.content.decode()
    assert AgreementVersion.objects.count() == 1


def test_preview_publishes_nothing(track: Track) -> None:
    page = edit(track, "preview", "**Draft**").content.decode()

    assert "<strong>Draft</strong>" in page
    assert not AgreementVersion.objects.exists()


def test_organizers_and_tracks_without_an_agreement_need_no_acceptance(track: Track) -> None:
    assert has_accepted(make_user(), track)
    edit(track, "publish", "One")
    track.refresh_from_db()

    assert has_accepted(make_organizer(), track)
    assert not has_accepted(make_user(), track)


def test_database_keeps_versions_and_acceptances(track: Track) -> None:
    edit(track, "publish", "One")
    track.refresh_from_db()
    services.accept(track=track, user=make_user(), revision=1)

    for rows in (AgreementVersion.objects.all(), AgreementAcceptance.objects.all()):
        with pytest.raises(IntegrityError, match="is kept"), transaction.atomic():
            rows.update(sha256="0" * 64)
        with pytest.raises(IntegrityError, match="is kept"), transaction.atomic():
            rows._raw_delete(rows.db)


def test_accepting_goes_to_no_other_site(track: Track) -> None:
    edit(track, "publish", "One")

    for elsewhere in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        form = {"revision": 1, "next": elsewhere}
        response = as_user(make_user()).post("/tracks/arq/data-agreement/accept/", form)
        assert response["Location"] == "/tracks/arq/"


def test_run_is_refused_before_the_agreement_is_accepted(track: Track) -> None:
    from participation.teams import services as team_services

    member = make_user()
    team_services.create(track=track, name="Ours", members=[member])
    edit(track, "publish", "One")

    response = as_user(member).get("/tracks/arq/runs/submit/")

    assert response["Location"] == "/tracks/arq/data-agreement/?next=%2Ftracks%2Farq%2Fruns%2Fsubmit%2F"
