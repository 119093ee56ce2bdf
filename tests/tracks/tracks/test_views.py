"""The pages that create, show, edit, open and close tracks."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from corpus.models import Collection
from participation.invitations.services import Place, Terms, invite
from participation.models import Team
from pooling.models import Run
from tests.helpers.confirming import confirm
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_deadline,
    make_organizer,
    make_protocol,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_pool
from tracks.models import Fetch, Track
from web.times import now

pytestmark = pytest.mark.django_db


def test_only_organizers_see_a_draft(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    addresses = [reverse(f"tracks:{name}", args=[track.slug]) for name in ("track", "topics")]

    as_visitor = [client.get(address).status_code for address in addresses]
    client.force_login(make_user())
    as_stranger = [client.get(address).status_code for address in addresses]
    client.force_login(make_organizer())
    as_organizer = [client.get(address).status_code for address in addresses]

    assert (as_visitor, as_stranger, as_organizer) == ([404, 404], [404, 404], [200, 200])


def test_open_track_shows_everyone_how_it_is_judged_and_scored(client: Client) -> None:
    track = make_track()

    page = client.get(track.get_absolute_url()).content.decode()

    assert "Sufficient to answer the complete question on its own." in page
    assert "AP(rel=2)&#x27;" in page
    assert "50 of primary, 20 of alternate runs" in page


def test_form_of_a_track_names_empty_choices_and_what_may_be_empty(client: Client) -> None:
    client.force_login(make_organizer())

    page = " ".join(client.get(reverse("tracks:new_track")).content.decode().split())

    assert re.findall(r'<option value=""[^>]*>([^<]*)<', page) == ["Choose one", "none", "none"]
    assert 'Short name <span class="optional">' in page
    assert '> Name <span class="optional">' not in page


def test_form_of_a_track_shows_what_the_chosen_protocol_states(client: Client) -> None:
    client.force_login(make_organizer())
    address, chosen = reverse("tracks:new_track"), make_track().protocol

    before, page, wrong = (
        client.get(address, {"protocol": given}).content.decode() for given in ("", chosen.pk, "x")
    )

    states = f'<a href="{reverse("tracks:protocol", args=[chosen.slug])}">{chosen.title}</a>'
    assert [states in text for text in (before, page, wrong)] == [False, True, False]
    assert "<dt>Grades</dt>" in page


def test_organizer_opens_and_closes_a_track(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    make_topic(track, "A.1")
    client.force_login(make_organizer())

    confirm(client, reverse("tracks:open_track", args=[track.slug]))
    track.refresh_from_db()
    opened = track.status
    confirm(client, reverse("tracks:close_track", args=[track.slug]))
    track.refresh_from_db()

    assert (opened, track.status) == ("open", "closed")


@pytest.mark.parametrize("name", ["open_track", "close_track"])
def test_only_organizers_open_and_close_a_track(client: Client, name: str) -> None:
    track = make_track()
    address = reverse(f"tracks:{name}", args=[track.slug])

    assert client.post(address).status_code == 302, "redirects to the login page"
    client.force_login(make_assessor(track))
    assert client.post(address).status_code == 403
    client.force_login(make_organizer())
    assert client.get(address).status_code == 200


def submitted(track: Track) -> Run:
    team = Team.objects.create(track=track, name="ours")
    return Run.objects.create(
        track=track, team=team, submitted_by=make_user(), tag="a", n_lines=1, n_topics=1
    )


def test_closing_names_the_runs_and_what_is_missing(client: Client) -> None:
    track = make_track()
    client.force_login(make_organizer())
    address = reverse("tracks:close_track", args=[track.slug])

    before = client.get(address).content.decode()
    submitted(track)
    Team.objects.create(track=track, name="silent")
    after = client.get(address).content.decode()

    assert '<b class="text-break">No runs</b>' in before
    assert re.search(r'aria-describedby="remarks-left">Close for runs</button>', before)
    assert "</span> 1 remark left</span>" in before
    assert "1 run from 1 of 2 teams" in after
    assert "1 team without a run" in after
    assert "silent" in after


def test_closing_asks_only_before_an_announced_deadline(client: Client) -> None:
    track, other = make_track(), make_track("other")
    make_deadline(track, closes_at=86_400 * 3 + 60)
    make_deadline(other, closes_at=-60)
    client.force_login(make_organizer())
    address, at_once = (reverse("tracks:close_track", args=[each.slug]) for each in (track, other))

    asked = client.post(address)
    page = asked.content.decode()
    before = Track.objects.get(pk=track.pk).status
    confirm(client, address)
    submitted(other)
    client.post(at_once)

    assert (asked.status_code, before) == (422, "open")
    assert "Runs are due in 3 days" in page
    assert "This site has no mail server, so it sends no e-mail." in page
    assert (
        f'<a href="{reverse("participation:new_announcement", args=[track.slug])}">Announce the closing</a>'
        in page
    )
    assert set(Track.objects.values_list("status", flat=True)) == {"closed"}


def test_opening_says_what_is_public_fixed_and_missing_and_wants_the_remarks_accepted(client: Client) -> None:
    pytest.importorskip("assay_extensions.building")
    track = make_track(status=Track.Status.DRAFT, description="Find **answers**.", skipped=[])
    make_topic(track, "A.1")
    address = reverse("tracks:open_track", args=[track.slug])
    client.force_login(make_organizer())

    page = client.get(address).content.decode()
    unaccepted = client.post(address)
    changed = client.post(address, {"remarks": "1"})
    track.refresh_from_db()

    for text in ("What everybody will see", "Fixed from now on", "You can still change", "Who is notified"):
        assert text in page
    assert "Find <strong>answers</strong>." in page
    remarks = [
        "No deadline",
        "Teams cannot download the documents",
        "Leaks are not checked",
        "No assessors",
        "No teams",
        "No guidelines",
    ]
    assert [text for text in remarks if text not in page] == []
    assert "</span> 6 remarks left</span>" in page
    assert (unaccepted.status_code, changed.status_code, track.status) == (422, 422, "draft")
    assert "Nothing is done yet: read the remarks above" in unaccepted.content.decode()
    assert confirm(client, address).url == track.get_absolute_url()


def test_what_blocks_the_opening_is_on_its_page_without_a_button(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    client.force_login(make_organizer())

    page = client.get(reverse("tracks:open_track", args=[track.slug])).content.decode()

    main = page.partition("<main")[2]
    shown = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", main))
    assert (
        f"Not possible: {track} has no topics yet. Import its topic file first. Import topics Remark:"
        in shown
    )
    assert "Not possible yet 1 problem, " in shown
    assert "You can still change" not in shown
    assert "btn-primary" not in main


def test_invitation_that_nobody_accepted_is_a_remark_at_the_opening(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    organizer = make_organizer()
    invite(place=Place(track=track), terms=Terms(email="lee@example.org"), by=organizer)
    client.force_login(organizer)

    page = client.get(reverse("tracks:open_track", args=[track.slug])).content.decode()

    assert "1 invitation is not accepted yet" in page
    assert "lee@example.org" in page
    assert track.description == ""
    assert "No description" in page


def test_opened_track_is_a_draft_again_while_nobody_has_used_it(client: Client) -> None:
    track, organizer = make_track(), make_organizer()
    make_deadline(track, opens_at=-60)
    Fetch.objects.create(track=track, user=organizer, name="topics.xml")
    address = reverse("tracks:back_to_draft", args=[track.slug])
    client.force_login(organizer)
    home = client.get(track.get_absolute_url()).content.decode()

    client.post(address)
    track.refresh_from_db()

    assert (track.status, track.deadlines.exists()) == ("draft", False)
    assert address in home
    assert Client().get(track.get_absolute_url()).status_code == 404
    assert Event.objects.filter(action="track.hidden", track_id=track.pk, by=organizer).exists()


def test_track_with_a_run_or_a_download_is_not_made_a_draft_again(client: Client) -> None:
    with_run, fetched = make_track("with-run"), make_track("fetched")
    team = Team.objects.create(track=with_run, name="Lab")
    Run.objects.create(
        track=with_run,
        team=team,
        tag="r1",
        n_lines=1,
        n_topics=1,
        status=Run.Status.WITHDRAWN,
        withdrawn_at=now(),
        submitted_by=make_user(),
    )
    Fetch.objects.create(track=fetched, user=None, name="topics.xml")
    client.force_login(make_organizer())

    answers = {
        track.slug: client.post(reverse("tracks:back_to_draft", args=[track.slug]))
        for track in (with_run, fetched)
    }
    page = client.get(reverse("tracks:back_to_draft", args=["with-run"])).content.decode()
    homes = [client.get(track.get_absolute_url()).content.decode() for track in (with_run, fetched)]

    assert {slug: answer.status_code for slug, answer in answers.items()} == {"with-run": 409, "fetched": 409}
    assert ["Back to draft" in home for home in homes] == [False, False]
    assert "with-run has received 1 run, checked against its topics" in page
    assert "1 file was downloaded from fetched" in answers["fetched"].content.decode()
    assert set(Track.objects.values_list("status", flat=True)) == {"open"}


def test_program_gets_a_refusal_as_json(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    client.force_login(make_organizer())

    answer = client.post(
        reverse("tracks:open_track", args=[track.slug]), headers={"accept": "application/json"}
    )

    assert answer.status_code == 409
    assert answer.json()["detail"] == f"{track} has no topics yet. Import its topic file first."


def test_front_page_without_tracks_says_what_to_do(client: Client) -> None:
    as_visitor = client.get("/").content.decode()
    client.force_login(make_organizer())
    as_organizer = client.get("/").content.decode()

    assert "No campaign is open for runs now." in as_visitor
    assert "Import a collection" in as_organizer


def test_unknown_url_gets_a_page(client: Client) -> None:
    answer = client.get("/tracks/none/")

    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()


TOPICS = b'{"code": "T.1", "title": "Waves"}\n{"code": "T.2", "title": "Tides"}\n'


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def create(client: Client, topics: bytes | None = None, **fields: Any) -> str:
    protocol = make_protocol("trec-adhoc").pk
    form = {"name": "Answers 2026", "slug": "answers-2026", "protocol": protocol, **fields}
    if topics is not None:
        form["topics"] = SimpleUploadedFile("topics.jsonl", topics)
    return client.post(reverse("tracks:new_track"), form, follow=True).content.decode()


def test_organizer_creates_a_draft_with_its_topics(client: Client, organizer: User) -> None:
    page = create(client, TOPICS, collection=make_collection("posts").pk)

    assert "Created Answers 2026. 2 topics: 2 new" in page
    track = Track.objects.get()
    assert (track.slug, track.status, track.topics.count()) == ("answers-2026", "draft", 2)
    actions = Event.objects.filter(track_id=track.pk).values_list("action", "by")
    assert sorted(actions) == [("topics.imported", organizer.pk), ("track.created", organizer.pk)]


def test_track_is_not_created_without_the_topics_of_its_file(client: Client, organizer: User) -> None:
    page = create(client, b'{"title": "no code"}\n')

    assert "line 1" in page
    assert not Track.objects.exists()
    assert not Event.objects.exists()
    assert "Created Answers 2026" in create(client)


def test_short_name_that_is_taken_an_address_or_no_word_is_refused(client: Client, organizer: User) -> None:
    make_track("answers-2026")

    assert "Another track has this short name. Choose another one." in create(client)
    assert "is the address of a page" in create(client, slug="new")
    assert "Use the letters a to z, digits, hyphens and underscores, without spaces." in create(
        client, slug="New lab"
    )


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("ARQMath 2020: Étude (1)", "arqmath-2020-etude-1"),
        ("Retrieval of scientific papers for complicated needs", "retrieval-of-scientific-papers-for"),
        ("x" * 41, "x" * 40),
        ("New", ""),
        ("数学", ""),
    ],
)
def test_short_name_follows_from_the_name_without_a_script(
    client: Client, organizer: User, name: str, slug: str
) -> None:
    page = client.get(reverse("tracks:new_track")).content.decode()

    answer, nameless = create(client, name=name, slug=""), create(client, name="", slug="")

    [field] = re.findall(r'<input[^>]* name="slug"[^>]*>', page)
    assert "required" not in field
    assert [track.slug for track in Track.objects.all()] == ([slug] if slug else [])
    refusal = (
        "is the address of a page" if name == "New" else "Enter a short name: none can be made from the name."
    )
    assert slug or refusal in answer
    assert "none can be made" not in nameless  # the name is what is missing


def test_collection_of_topic_threads_differs_from_the_searched_one(client: Client, organizer: User) -> None:
    collection = make_collection().pk

    page = create(client, collection=collection, topic_collection=collection)

    assert "Choose another collection than the one that runs search" in page
    assert not Track.objects.exists()


def test_edit_of_an_opened_track_leaves_what_runs_were_checked_against(
    client: Client, organizer: User
) -> None:
    track = make_track("task-1", name="Task 1")
    other = make_protocol("trec-adhoc")

    page = client.post(
        reverse("tracks:edit_track", args=["task-1"]),
        {"name": "Task One", "slug": "other", "protocol": other.pk},
        follow=True,
    )

    assert "Saved Task One" in page.content.decode()
    track.refresh_from_db()
    assert (track.name, track.slug, track.protocol.slug) == ("Task One", "task-1", "arqmath-2020-task1")
    assert Event.objects.get().details == {"name": {"from": "Task 1", "to": "Task One"}}


@pytest.mark.parametrize("way", ["page", "api"])
def test_opened_track_without_a_collection_gets_one_until_it_has_a_pool(client: Client, way: str) -> None:
    track, posts, others = (
        make_track("arq", collection=None),
        make_collection("posts"),
        make_collection("more"),
    )
    client.force_login(make_organizer())

    def choose(collection: Collection) -> None:
        if way == "api":
            client.patch("/api/v1/tracks/arq/", {"collection": collection.slug}, "application/json")
        else:
            content = {"name": track.name, "collection": collection.pk}
            client.post(reverse("tracks:edit_track", args=["arq"]), content)

    def chosen() -> Collection | None:
        return Track.objects.select_related("collection").get().collection

    pool = make_pool(track, {})
    choose(posts)
    with_pool = chosen()
    pool.delete()
    choose(posts)
    without_pool = chosen()
    choose(others)

    assert (with_pool, without_pool, chosen()) == (None, posts, posts)


@pytest.mark.parametrize("way", ["page", "api"])
def test_of_two_that_make_a_track_of_one_name_at_once_one_is_refused(client: Client, way: str) -> None:
    client.force_login(make_organizer())
    protocol = make_protocol()

    def other_is_faster(instance: Track, **_: Any) -> None:
        pre_save.disconnect(other_is_faster, sender=Track)
        Track.objects.bulk_create([Track(slug=instance.slug, name="Other", protocol=protocol)])

    pre_save.connect(other_is_faster, sender=Track, weak=False)  # between the check and the insertion
    if way == "page":
        response = client.post("/tracks/new/", {"name": "ARQ", "slug": "arq", "protocol": protocol.pk})
    else:
        content = {"name": "ARQ", "slug": "arq", "protocol": protocol.slug}
        response = client.post("/api/v1/tracks/", content, "application/json")

    assert response.status_code == 409
    assert "with the same name at the same moment" in response.content.decode()


def test_what_is_not_possible_leads_on(client: Client) -> None:
    track, draft = make_track("arq"), make_track("other", status=Track.Status.DRAFT)
    client.force_login(make_organizer())
    deletion, closing = (
        reverse("tracks:delete_track", args=["arq"]),
        reverse("tracks:close_track", args=["other"]),
    )

    can_be_draft = client.get(deletion).content.decode()
    submitted(track)
    opened, too_early = (client.get(address).content.decode() for address in (deletion, closing))

    assert "Not possible yet" in can_be_draft
    assert f'href="{reverse("tracks:back_to_draft", args=["arq"])}">Back to draft</a>' in can_be_draft
    assert "Not possible yet" not in opened
    assert f'href="{reverse("publishing:archives", args=["arq"])}">Archive the track</a>' in opened
    assert f'href="{reverse("tracks:open_track", args=[draft.slug])}">Open for runs</a>' in too_early
    assert "No runs" not in too_early


def test_page_not_found_names_the_nearest_track_that_the_reader_may_see(client: Client) -> None:
    make_track("math-2026", name="Math 2026")
    make_track("math-2027", name="Math 2027", status=Track.Status.DRAFT)

    near, far = (client.get(f"/tracks/{slug}/topics/") for slug in ("math-2027", "chemistry"))

    assert (near.status_code, far.status_code) == (404, 404)
    assert 'Did you look for <a href="/tracks/math-2026/">Math 2026</a>?' in near.content.decode()
    assert "Did you look for" not in far.content.decode()
