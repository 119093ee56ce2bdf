"""Qrels of one track in the downloads of another."""

from django.test import Client
from django.urls import reverse

from scoring.qrels.selectors import qrels_tsv
from tests.helpers.factories import make_track
from tests.scoring.conftest import Scene
from tracks.models import Download


def test_qrels_of_an_earlier_year_are_attached_and_not_released(scored: Scene, client: Client) -> None:
    later, qrels = make_track("next-year"), scored.qrels()
    client.force_login(scored.organizer)
    address = reverse("scoring:offer_qrels", args=[qrels.pk])

    answer = client.post(address, {"track": later.slug})
    again = client.post(address, {"track": later.slug})
    own = client.post(address, {"track": scored.track.slug})

    row = Download.objects.get()
    assert answer["Location"] == reverse("tracks:edit_download", args=[later.slug, row.pk])
    assert (row.kind, row.released_at, row.sha256) == ("qrels", None, qrels.sha256)
    with row.file.open("rb") as file:
        assert file.read() == qrels_tsv(qrels)
    assert (again.status_code, own.status_code) == (409, 409)
