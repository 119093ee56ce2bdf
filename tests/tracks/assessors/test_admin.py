"""Assessors, in the admin of their track."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from pooling.models import Team
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.judging import make_batch, make_pool
from tests.tracks.tracks.test_admin import track_form
from tracks.assessors.admin import AssessorForm
from tracks.models import Assessor

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def test_organizer_gives_an_assessor_a_group_of_the_protocol(client: Client, organizer: User) -> None:
    track, judge = make_track(protocol="ntcir-12-wikipedia"), make_user("ada")
    form = track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": judge.pk})
    address = reverse("admin:tracks_track_change", args=[track.pk])

    refused = client.post(address, form | {"assessors-0-group": "students"}).content.decode()
    client.post(address, form | {"assessors-0-group": "graduate"})

    assert "use graduate, undergraduate" in refused
    assert Assessor.objects.get().group == "graduate"


def test_group_of_an_assessor_is_changed_in_their_row(client: Client, organizer: User) -> None:
    track, judge = make_track(protocol="ntcir-12-wikipedia"), make_user("ada")
    assessor = Assessor.objects.create(track=track, user=judge, group="graduate")
    row = {"assessors-0-id": assessor.pk, "assessors-0-user": make_user("eve").pk}
    form = track_form(
        name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-INITIAL_FORMS": "1"}, **row
    )
    address = reverse("admin:tracks_track_change", args=[track.pk])

    refused = client.post(address, form | {"assessors-0-group": "students"}).content.decode()
    client.post(address, form | {"assessors-0-group": "undergraduate"})

    assessor.refresh_from_db()
    assert "use graduate, undergraduate" in refused
    assert (assessor.user, assessor.group) == (judge, "undergraduate")


def test_group_that_a_topic_depends_on_is_not_changed(client: Client, organizer: User) -> None:
    track = make_track(protocol="ntcir-12-wikipedia")
    topic = make_topic(track, "1")
    people = {group: make_assessor(track) for group in ("graduate", "undergraduate")}
    for group, user in people.items():
        Assessor.objects.filter(user=user).update(group=group)
    make_batch(make_pool(track, {topic: 1}), {user: [topic] for user in people.values()})
    rows = {"assessors-TOTAL_FORMS": "2", "assessors-INITIAL_FORMS": "2"}
    for n, assessor in enumerate(Assessor.objects.order_by("pk")):
        rows |= {f"assessors-{n}-id": str(assessor.pk), f"assessors-{n}-group": "graduate"}
    address = reverse("admin:tracks_track_change", args=[track.pk])

    refused = client.post(address, track_form(name="Renamed", **rows)).content.decode()
    unchanged = set(Assessor.objects.values_list("group", flat=True))
    swapped = {"assessors-0-group": "undergraduate", "assessors-1-group": "graduate"}
    client.post(address, track_form(name="Renamed", **rows | swapped))

    assert "cannot become a graduate assessor" in refused
    assert unchanged == set(people)
    assert list(Assessor.objects.order_by("pk").values_list("group", flat=True)) == list(swapped.values())


def test_member_of_a_team_cannot_become_an_assessor(client: Client, organizer: User) -> None:
    track, member = make_track(), make_user("pat")
    Team.objects.create(track=track, name="Abacus").members.add(member)
    form = track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": member.pk})

    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form)

    assert (
        f"{member} is a member of a team of {track}, so {member} cannot judge for it."
        in answer.content.decode()
    )
    assert not Assessor.objects.filter(user=member).exists()


def test_user_who_joins_a_team_while_the_form_is_checked_is_refused(
    client: Client, organizer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    track, member = make_track(), make_user("pat")
    form = track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": member.pk})
    clean = AssessorForm.clean

    def clean_and_join(self: AssessorForm) -> dict[str, Any]:
        data = clean(self)
        Team.objects.create(track=track, name="Abacus").members.add(member)
        return data

    monkeypatch.setattr(AssessorForm, "clean", clean_and_join)
    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form, follow=True)

    assert "cannot judge for it" in answer.content.decode()
    assert not Assessor.objects.filter(user=member).exists()
