"""Judged examples of an earlier track, for the assessors of the next one."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from corpus.models import Collection
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_collection, make_document, make_track, make_user
from tests.scoring.conftest import Scene
from tracks.models import Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def track(scene: Scene) -> Track:
    """The next year's track, on the same collection; document 10 of it is loaded."""
    collection = make_collection(status=Collection.Status.READY)
    make_document(collection, docno="10", body="<p>A proof by induction.</p>")
    Track.objects.filter(pk=scene.track.pk).update(collection=collection)
    return make_track("arq-2", name="ARQ 2", collection=collection)


def test_assessor_reads_a_topic_with_documents_of_each_grade(
    client: Client, scene: Scene, track: Track
) -> None:
    qrels = scene.qrels()
    client.force_login(scene.organizer)
    client.post(reverse("scoring:train", args=[qrels.pk]), {"track": "arq-2"})
    client.force_login(make_assessor(track, "nora"))
    address = reverse("scoring:judged_examples", args=["arq-2"])
    topics = client.get(address).content.decode()

    page = client.get(address, {"qrels": qrels.pk, "topic": "A.1"}).content.decode()

    assert f"?qrels={qrels.pk}&amp;topic=A.10" in topics
    assert "Body of A.1." in page
    high, not_relevant = page.index("<strong>High</strong>"), page.index("<strong>Not relevant</strong>")
    assert high < page.index("A proof by induction.") < not_relevant < page.index(">9</span>")
    assert "No longer show these" not in page


def test_only_assessors_of_the_track_read_and_only_organizers_choose(
    client: Client, scene: Scene, track: Track
) -> None:
    qrels = scene.qrels()
    own = call(api(scene.organizer), "POST", "train_with_qrels", qrels.pk, data={"track": "arq"})
    client.force_login(scene.ada)  # an assessor of the earlier track only

    read = client.get(reverse("scoring:judged_examples", args=["arq-2"]))
    chosen = client.post(reverse("scoring:train", args=[qrels.pk]), {"track": "arq-2"})
    client.force_login(make_user())

    assert (read.status_code, chosen.status_code) == (404, 403)
    assert client.get(reverse("scoring:judged_examples", args=["arq-2"])).status_code == 404
    assert own.status_code == 409
    assert "cannot train with its qrels" in own.json()["detail"]
    assert not track.training_qrels.exists()


def test_program_shows_and_hides_examples(scene: Scene, track: Track) -> None:
    client, qrels = api(scene.organizer), scene.qrels()

    call(client, "POST", "train_with_qrels", qrels.pk, data={"track": "arq-2"})
    shown = track.training_qrels.count()
    call(client, "POST", "train_with_qrels", qrels.pk, data={"track": "arq-2", "is_shown": False})

    call(client, "POST", "train_with_qrels", qrels.pk, data={"track": "arq-2", "is_shown": False})

    assert (shown, track.training_qrels.count()) == (1, 0)
    events = Event.objects.filter(action__startswith="training-qrels.").order_by("pk")
    assert [(event.action, event.by, event.track_slug, event.details) for event in events] == [
        (f"training-qrels.{word}", scene.organizer, "arq-2", {"qrels of": "arq"})
        for word in ("shown", "hidden")
    ]
