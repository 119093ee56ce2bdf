"""The page of a track for visitors, teams and assessors, and its preview for organizers."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from assessment.batches import services as batch_services
from assessment.models import Batch
from participation.models import Announcement
from pooling.models import Pool, Run
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard
from tests.helpers.factories import make_collection, make_deadline, make_role, make_topic, make_track
from tests.scoring.conftest import Scene, _alone, scene, scored
from tracks.agreements import services as agreements
from tracks.models import Download, Milestone, Track
from tracks.tracks import services as track_services

__all__ = ["_alone", "scene", "scored"]  # fixtures
pytestmark = pytest.mark.django_db
DAY = 24 * 60 * 60
PAGE, PREVIEW = "/tracks/arq/", "/tracks/arq/?view=public"


def text_at(address: str, user: User | None = None) -> str:
    client = Client()
    if user is not None:
        client.force_login(user)
    response = client.get(address)
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


def primary(page: str) -> list[str]:
    """The words of the filled buttons of the page."""
    page = page.partition("<main")[2]
    return [re.sub(r"<[^>]*>", "", each).strip() for each in re.findall(r"btn-primary[^>]*>(.*?)</a>", page)]


def offer(track: Track, name: str, **fields: object) -> None:
    values = {"kind": "other", "url": "https://example.org/", "released_at": datetime(2020, 1, 1, tzinfo=UTC)}
    Download.objects.create(track=track, name=name, **values | fields)


def test_visitor_reads_dates_the_way_in_data_and_who_organizes(scene: Scene) -> None:
    make_role(scene.track, "emmy", is_chair=True)
    noether = make_role(scene.track, "noether")
    User.objects.filter(pk=noether.pk).update(first_name="Ada & Emmy", last_name="Noether")
    make_deadline(scene.track, opens_at=-DAY, closes_at=3 * DAY + 60, zone="AoE")
    Milestone.objects.create(track=scene.track, title="Workshop", starts_on="2136-09-01")
    offer(scene.track, "public.zip")
    offer(scene.track, "teams.zip", audience="teams")
    offer(scene.track, "later.zip", released_at=datetime(2136, 1, 1, tzinfo=UTC))

    page = text_at(PAGE).replace("<wbr>", "")

    assert re.findall(r'<li class="(\w*)"> <b><bdi>([^<]*)</bdi>', page) == [
        ("past", "Open for runs"),
        ("now", "Runs due"),
        ("", "Workshop"),
    ]
    assert "3 days" in page
    assert primary(page) == ["Take part"]
    assert "How to take part" in page
    assert "assay check --protocol arqmath-2020-task1 FILE" in page
    assert "public.zip" in page
    assert "teams.zip" not in page
    assert "later.zip" not in page
    assert "<bdi>Ada &amp; Emmy Noether</bdi>" in page
    assert "@misc{arq,\n" in Client().get(PAGE).content.decode()
    assert r"author = {Ada \&amp; Emmy Noether}" in page
    assert "year = {2136}" in page


def test_page_leaves_out_what_the_track_does_not_have() -> None:
    make_track("arq", status=Track.Status.CLOSED)

    page = text_at(PAGE)

    for heading in ("Dates", "How to take part", "Data", "Results", "Announcements", "About this track"):
        assert f">{heading}</h2>" not in page
    assert primary(page) == []


def test_track_that_was_closed_early_says_what_happened_and_what_comes(scored: Scene) -> None:
    make_deadline(scored.track, closes_at=3 * DAY)
    for title in ("Judging", "Results", "Workshop"):
        Milestone.objects.create(track=scored.track, title=title, starts_on="2136-09-01")
    batch = scored.judged(*["high"] * 9)
    track_services.close(track=scored.track)
    judging = text_at(PAGE)
    batch_services.close(batch=batch)
    judged = text_at(PAGE)
    board = scored.leaderboard(scored.qrels())
    leaderboard_services.release(leaderboard=board, level="public", by=scored.organizer)

    page = text_at(PAGE)

    dates = [re.findall(r"<b><bdi>([^<]*)</bdi>", each) for each in (judging, judged, page)]
    assert dates[0] == ["Runs closed", "Judging", "Results", "Workshop"]
    assert dates[1] == ["Runs closed", "Judged", "Results", "Workshop"]
    assert dates[2] == ["Runs closed", "Judged", "Results released", "Workshop"]
    assert '<div class="form-text">planned</div>' in page
    assert "Assessors judge now." in judging
    assert "No more runs are accepted." in judged
    assert "The results follow" not in page


def test_documents_without_a_description_have_the_counts_of_the_collection(scene: Scene) -> None:
    scene.track.collection = make_collection(counts={"answers": 9})
    scene.track.save()
    offer(scene.track, "documents.jsonl.gz", kind="collection")
    offer(scene.track, "notes.pdf")

    page = text_at(PAGE)

    assert "<bdi>9 answers</bdi>" in page
    assert "<bdi>Other files</bdi>" in page


def test_description_is_markdown(scene: Scene) -> None:
    Track.objects.update(description="Rank **answers**.\n\n- Text\n- <script>alert(1)</script>")

    page = text_at(PAGE)

    assert '<p class="lead" dir="auto">Rank <strong>answers</strong>.</p>' in page
    assert "<li>Text</li>" in page
    assert "<script>alert" not in page
    about = page.partition(">About this track</h2>")[2]
    assert about.index("Rank <strong>answers</strong>.") < about.index("<li>Text</li>"), "the whole text"
    Track.objects.update(description="Rank **answers**.")
    assert "About this track" not in text_at(PAGE)


def test_visitor_sees_results_only_when_they_are_public(scored: Scene) -> None:
    qrels = scored.qrels()
    scored.leaderboard(qrels)
    scored.leaderboard(qrels, release="participants")
    pages = {name: text_at(PAGE, user) for name, user in (("visitor", None), ("member", scored.member))}
    scored.leaderboard(qrels, release="public")

    public = text_at(PAGE)
    scored.track.collection = make_track("next-year").collection
    scored.track.save()
    make_track("elsewhere")
    make_track("task-2", protocol="arqmath-2020-task2", collection=scored.track.collection)

    assert f">Same task: {scored.track.name}</h2>" in text_at("/tracks/next-year/")
    assert ">Same task" not in public + text_at("/tracks/elsewhere/") + text_at("/tracks/task-2/")
    assert ">Results</h2>" not in pages["visitor"]
    assert "bar first" in pages["member"]
    assert "Judged units" in public
    assert "in the results" not in public
    make_topic(scored.track, "A.999")
    scored.track.teams.create(name="Without runs")
    uneven = re.sub(r"\s+", " ", text_at(PAGE))
    assert re.search(r"<dd>4 <span [^>]*>3 in the results</span>", uneven)
    assert re.search(r"<dt>Teams</dt><dd>2 <span [^>]*>1 in the results</span>", uneven)
    assert f'<a href="{qrels.get_absolute_url()}"' in public.partition(">Data</h2>")[2]
    assert qrels.get_absolute_url() not in pages["visitor"]
    assert re.search(r"<bdi>Ours</bdi></span> <progress ", public)


def test_participant_has_the_team_first_with_what_it_may_still_do(scored: Scene) -> None:
    make_deadline(scored.track, closes_at=3 * DAY + 60)

    page = text_at(PAGE, scored.member)

    assert page.index("Your team: <bdi>Ours</bdi>") < page.index(">Dates</h2>")
    assert "any number accepted" in page
    assert "Disk space left" not in page, "there is enough"
    assert page.count("3 days") >= 2, "in the numbers of the team and in the dates"
    assert primary(page) == ["Submit runs"]
    assert "How to take part" not in page
    assert "Theirs" not in page
    assert "poor" not in page


def test_participant_accepts_the_agreement_before_anything_else(scene: Scene) -> None:
    agreements.publish(track=scene.track, text="# Terms", revision=0, by=scene.organizer)
    before = text_at(PAGE, scene.member)
    agreements.accept(track=scene.track, user=scene.member, revision=1)

    after = text_at(PAGE, scene.member)

    assert primary(before) == ["Accept the data agreement"]
    assert "accept it before you get data or submit runs" in before
    assert primary(after) == ["Submit runs"]


def test_participant_of_a_closed_track_sees_runs_and_scores(scored: Scene) -> None:
    qrels = scored.qrels()
    Track.objects.update(status=Track.Status.CLOSED)
    scored.leaderboard(qrels)
    before = text_at(PAGE, scored.member)
    scored.leaderboard(qrels, release="public")

    after = text_at(PAGE, scored.member)

    assert primary(before) == ["See your runs"]
    assert primary(after) == ["See the leaderboard"]
    assert ">Your scores</a>" not in before
    assert ">Your scores</a>" in after
    assert "any number accepted" not in before
    assert "Disk space left" not in before
    assert "Runs cannot be submitted now: the track is closed." in before
    assert "<h2>Scores</h2>" not in before
    assert "<h2>Scores</h2>" in after
    runs = text_at(f"{PAGE}teams/{scored.ours.pk}/runs/", scored.member)
    assert runs.index("<h2>Scores</h2>") < runs.index("<h2>Runs</h2>")
    run = text_at(Run.objects.get(tag="good").get_absolute_url(), scored.member)
    [first, *_] = re.findall(r'<span class="over">([^<]*)</span> <span class="big">[\d.]+</span>', run)
    assert unescape(first) == Leaderboard.objects.latest("pk").measures[0]
    assert '<span class="over">Kind</span>' not in run
    assert ">Values by topic and plots</a>" in run
    assert re.search(r'Place</span><span class="big">1</span> <span class="muted">of 1 team', after)
    assert "Runs cannot be submitted now" not in after


def test_open_track_in_the_main_judging_says_so_and_still_takes_runs(scored: Scene) -> None:
    scored.judged(*["high"] * 9)

    page, cards = text_at(PAGE), text_at("/")

    for text in (page, cards):
        assert '<span class="chip gold">judging</span>' in text
        assert "Assessors judge now. Runs are still accepted." in text
    assert primary(page) == ["Take part"]


def test_state_of_a_track_that_takes_late_runs_only_goes_forward(scored: Scene) -> None:
    """It is the same word for visitors, in the list, and in the navigation of organizers."""
    batch_services.close(batch=scored.judged(*["high"] * 9))
    places = [(PAGE, None), ("/", None), ("/tracks/", None), (PAGE, scored.organizer)]

    judged = [text_at(address, user) for address, user in places]
    dual = scored.batch({scored.bob: ["A.1"]}, kind=Batch.Kind.DUAL)
    assert '<span class="chip ">judged</span>' in text_at(PAGE)
    batch_services.close(batch=dual)
    scored.leaderboard(release="public")
    released = [text_at(address, user) for address, user in places]

    for texts, word in ((judged, "judged"), (released, "results released")):
        for text in texts:
            assert f'<span class="chip ">{word}</span>' in text
            assert "Runs are still accepted." in text
            assert ">open for runs<" not in text
    assert "Open for late runs" in judged[2]


def test_tab_of_own_runs_is_for_members_of_teams(scored: Scene) -> None:
    assert [">Your runs<" in text_at(PAGE, user) for user in (scored.member, scored.stranger, None)] == [
        1,
        0,
        0,
    ]


def test_team_without_runs_is_led_to_submit_one(scored: Scene) -> None:
    with_runs = text_at(PAGE, scored.member)
    new = scored.track.teams.create(name="Without runs")
    new.members.add(scored.member)

    page = text_at(PAGE, scored.member)

    assert "No runs yet." not in with_runs
    assert re.search(rf'No runs yet. <a href="[^"]*submit/\?team={new.pk}">Submit runs</a>', page)


def test_member_of_two_teams_sees_the_runs_of_each_and_all_scores_once(scored: Scene) -> None:
    scored.leaderboard(scored.qrels(), release="public")
    scored.theirs.members.add(scored.member)

    page = text_at(PAGE, scored.member)

    assert "Your team: <bdi>Ours</bdi>" in page
    assert "Your team: <bdi>Theirs</bdi>" in page
    assert page.count('id="own-scores"') == 1
    assert all(f">{tag}</a>" in page for tag in ("good", "poor"))


def test_assessor_is_led_to_the_judging(scene: Scene) -> None:
    scene.judged("high", "high", "high", "low", "low", "low", "low", "low", "low")

    page = text_at(PAGE, scene.ada)

    assert primary(page) == ["Judge"]
    assert "3 topics assigned to you, 9 judgments submitted." in page
    assert "Take part" not in page


def test_organizer_previews_the_page_of_a_draft_as_a_visitor(scored: Scene) -> None:
    scored.leaderboard()
    offer(scored.track, "teams.zip", audience="teams")
    Track.objects.update(status=Track.Status.DRAFT)
    Announcement.objects.create(
        track=scored.track,
        title="For teams",
        text="x",
        html="<p>x</p>",
        audiences=["teams"],
        published_by=scored.organizer,
    )

    page = text_at(PREVIEW, scored.organizer)

    assert "This is what visitors see once the track is open." in page
    assert "teams<wbr>.zip" not in page
    assert "For teams" not in page
    assert "no organizer has entered one" in page
    assert ">Results</h2>" not in page
    assert Client().get(PREVIEW).status_code == 404
    assert "This is what visitors see" not in text_at(PAGE, scored.organizer)


def test_page_states_the_depths_of_the_judged_pool_once_there_is_one(scene: Scene) -> None:
    before = text_at(PAGE)
    Pool.objects.update(depth={"primary": 3, "alternate": 2})
    built = text_at(PAGE)

    scene.batch({scene.ada: ["A.1"]})
    judged = text_at(PAGE)

    assert "<h3>Usual pool</h3>" in before
    assert "50 of primary, 20 of alternate runs.</p>" in before
    assert built.count("50 of primary") == 1
    assert "<h3>Pool</h3>" in judged
    assert "3 of primary, 2 of alternate runs.</p>" in judged
    assert "50 of primary" not in judged


def test_more_dates_files_and_leaderboards_cost_no_more_queries(scored: Scene) -> None:
    qrels = scored.qrels()
    scored.leaderboard(qrels, release="public")
    client = Client()
    client.get(PAGE)
    with CaptureQueriesContext(connection) as first:
        client.get(PAGE)
    for number in range(3):
        offer(scored.track, f"{number}.zip")
        starts_on = datetime.now(UTC).date() + timedelta(days=number)
        Milestone.objects.create(track=scored.track, title=f"Day {number}", starts_on=starts_on)
    scored.leaderboard(qrels, release="public")

    with CaptureQueriesContext(connection) as second:
        client.get(PAGE)

    assert len(second) <= len(first) <= 16
