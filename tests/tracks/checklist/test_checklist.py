"""The checklist of a campaign names what is done, what comes next, and what is wrong."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.urls import Resolver404, resolve, reverse
from lxml import html
from pytest_django import DjangoAssertNumQueries

from accounts.models import Event, User
from assessment.batches import services as batch_services
from assessment.batches.progress import BatchProgress, progress_of_each
from assessment.checklist import progress_of
from assessment.models import Batch
from corpus.models import Collection
from jobs import services as jobs
from pooling.models import Pool
from pooling.pools import services as pool_services
from pooling.runs import changes
from scoring.leaderboards import services as leaderboard_services
from scoring.leaderboards.releases import hindrances, missing_runs
from scoring.models import Qrels
from scoring.qrels import services as qrels_services
from tests.helpers.factories import (
    make_archive,
    make_assessor,
    make_collection,
    make_deadline,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_announcement, make_machine, make_team
from tests.scoring.conftest import Scene, build_scene
from tests.scoring.qrels.test_services import NINE
from tracks.assessors import services as assessor_services
from tracks.checklist.points import Point
from tracks.checklist.selectors import Kind, Next, checklist, next_steps
from tracks.models import Assessor, Track
from tracks.tracks import services as track_services
from web.statements import _prepared, read_rows

pytestmark = pytest.mark.django_db
FILLED = re.compile(r'(?:<h1>|class="btn[^"]*btn-primary[^>]*>)([^<]*)<')


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> Scene:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    settings.MEDIA_ROOT = tmp_path
    return build_scene()


def following(track: Track) -> Next:
    track.refresh_from_db()
    return checklist(track).next


def points(track: Track) -> dict[str, Point]:
    track.refresh_from_db()
    return {point.label: point for phase in checklist(track).phases for point in phase.points}


def texts(point: Point) -> list[str]:
    return [problem.text for problem in point.problems]


def page_of(user: object, address: str) -> str:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client.get(address).content.decode()


def test_next_step_of_a_new_track_is_its_topics() -> None:
    track = make_track(status=Track.Status.DRAFT)

    assert following(track)[:2] == (Kind.DO, "Import topics")
    assert "Import topics" in page_of(make_organizer(), track.get_absolute_url())

    make_topic(track)

    assert following(track).text == "Add people"


def test_what_a_worker_does_is_waited_for_and_named() -> None:
    collection = make_collection(status=Collection.Status.IMPORTING)
    track = make_track(collection=collection, status=Track.Status.CLOSED)
    Pool.objects.create(
        track=track,
        protocol=track.protocol,
        name="P",
        seed=1,
        depth={},
        status="building",
        created_by=make_user(),
    )

    shown = points(track)

    assert shown["Collection"].waits == f"{collection} is importing."
    assert shown["Pool"].waits == "The pool P is being built."


def test_collection_without_documents_leads_to_the_form_of_the_import() -> None:
    collection = make_collection(status=Collection.Status.EMPTY)
    track = make_track(collection=collection, status=Track.Status.DRAFT)

    step, edit = following(track), page_of(make_organizer(), reverse("tracks:edit_track", args=[track.slug]))

    assert step[:2] == (Kind.DO, "Import files")
    assert step.address == f"/imports/new/?collection={collection.pk}"
    assert 'Is it missing? <a href="/imports/new/">Import it</a> first.' in edit


def test_collection_is_asked_for_before_the_opening_and_named_after_it(client: Client) -> None:
    """It can be chosen until there is a pool. The remark about an opened track leads to the choice."""
    track, organizer = make_track(status=Track.Status.DRAFT, collection=None), make_organizer()
    Track.objects.update(skipped=["description", "guidelines", "deadlines", "leaks"])
    client.force_login(organizer)
    make_topic(track)
    make_assessor(track, "ann")
    make_team(track, make_user("mia"))
    home, text = track.get_absolute_url(), "The track has no collection: assessors will see no text"

    step, draft = following(track), client.get(home).content.decode()
    field = client.get(step.address).content.decode()
    asked = client.get(f"{home}open/").content.decode()
    client.post(f"{home}skip/", {"points": step.skip_keys})
    skipped, opening = following(track), client.get(f"{home}open/").content.decode()
    client.post(f"{home}skip/", {"points": "collection", "action": "resume"})
    track_services.open_for_runs(track=track)
    opened = client.get(home).content.decode()
    track.fetches.create(name="topics.tsv", sha256="0" * 64)
    with_run = client.get(home).content.decode()

    assert (step[:2], step.skip_keys) == ((Kind.DO, "Choose the collection"), "collection")
    assert 'name="collection"' in field
    assert skipped.text == "Open for runs"
    assert ["remark" in page for page in (asked, opening)] == [True, False]
    assert [text in page for page in (draft, opened, with_run)] == [False, True, True]
    assert f'<a href="{home}edit/?first=collection">{text}' in with_run
    assert re.search(r'<span>Set up</span>\s*<span class="n">1 to look at</span>', with_run)
    assert '<select name="collection"' in client.get(f"{home}edit/").content.decode()


def test_units_without_a_text_are_named_before_the_judging(scene: Scene, client: Client) -> None:
    """Wherever a batch is created or opened, and on the home, until a batch was judged."""
    track, text = scene.track, "Assessors will see no text: 9 of 9 units are not in a collection."
    Track.objects.update(skipped=["guidelines"])
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    client.force_login(scene.organizer)

    def page(address: str) -> str:
        return client.get(address).content.decode()

    home, new = track.get_absolute_url(), reverse("assessment:new_batch", args=[track.slug])
    plans = [f"{scene.pool.get_absolute_url()}{kind}/" for kind in ("", "training", "dual")]
    before = [page(address) for address in (home, new, scene.pool.get_absolute_url(), *plans[1:])]
    track.refresh_from_db()
    state = checklist(track).phases[0].state
    batch = scene.batch({scene.ada: list(scene.topics)})
    opened = [page(address) for address in (home, batch.get_absolute_url())]
    batch_services.close(batch=batch)
    closed = [page(address) for address in (home, batch.get_absolute_url())]

    assert [text in each for each in before] == [True] * 5
    assert "and build the pool again." in " ".join(before[1].split())
    assert state == "1 to look at"
    assert all(text in each for each in opened)
    assert "build the pool again" not in " ".join(opened[1].split())
    assert not any(text in each for each in closed)


def test_units_that_the_collection_lacks_are_counted_and_own_texts_are_not(scene: Scene) -> None:
    track, text = (
        scene.track,
        "Assessors will see no text of some units: 8 of 9 units are not in the collection",
    )
    Track.objects.update(collection=make_collection(), status=Track.Status.CLOSED)
    entry = scene.pool.entries.order_by("pk")[0]
    entry.document = make_document(Collection.objects.get(), entry.docno)
    entry.save()
    Pool.objects.update(sha256="")  # nothing is remembered

    lacking = texts(points(track)["Texts of the units"])
    scene.pool.entries.filter(document=None).update(passage="The answer itself.")

    assert lacking == [f"{text} {Collection.objects.get()}."]
    assert "Texts of the units" not in points(track)


@pytest.mark.parametrize(
    ("n_given", "state", "is_done"),
    [
        (0, "not clustered: visual ids are assigned to the formulas of runs only", False),
        (4, "4 of 6 have a visual id of the index", False),
        (6, "6 of 6 have a visual id of the index", True),
    ],
)
def test_checklist_counts_visual_ids_of_the_index(n_given: int, state: str, is_done: bool) -> None:
    counts = {"formulas": 6, "formulas with a visual id": n_given}
    track = make_track(protocol="arqmath-2021-task2", collection=make_collection(counts=counts))

    point = points(track)["Formulas"]

    assert (point.state, point.is_done) == (state, is_done)


def test_next_step_leads_through_a_campaign(scene: Scene) -> None:
    track = scene.track

    assert following(track).text == "Create and open the batch"  # the pool was built early
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    assert following(track).text == "Create and open the batch"
    batch = scene.batch({scene.ada: list(scene.topics)})
    assert following(track)[:2] == (Kind.WAIT, "Judging goes on: 0 of 9 units.")
    scene.judge(batch, scene.ada, *NINE)
    assert following(track)[:2] == (Kind.DO, f"Close “{batch.name}”")
    batch_services.close_finished(track=track)
    assert following(track).text == "Freeze and score"
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    assert following(track).text == "Score the runs"
    board = scene.leaderboard(qrels)
    assert following(track).text == "Release to everybody"
    of_machine = scene.qrels()
    machine = make_machine(track, scene.organizer)
    Qrels.objects.filter(pk=of_machine.pk).update(machine=machine, machine_name="judge 1")
    scene.leaderboard(of_machine)
    assert following(track).text == "Release to everybody"
    leaderboard_services.release(leaderboard=board, level="public", by=scene.organizer)
    announcing = following(track)
    assert announcing[:2] == (Kind.DO, "Announce the results")
    assert [each.skip for each in announcing.skips] == ["announcement", "archive"]
    assert checklist(track).phases[-1].state == "2 to do"
    make_announcement(track, scene.organizer)
    assert points(track)["Announcement of the results"].state == "published"
    assert following(track)[:2] == (
        Kind.DO,
        "Make an archive",
    )  # recommended, before the campaign is complete
    make_archive(track, scene.organizer)
    client = Client()
    client.force_login(scene.organizer)
    assert following(track)[:2] == (Kind.DO, "Add to downloads")
    client.post(following(track).address)
    assert following(track)[:2] == (Kind.DO, "Publish the archive")
    assert f'href="{following(track).address}"' in client.get(track.get_absolute_url()).content.decode()
    client.post(reverse("tracks:skip", args=[track.slug]), {"points": "publication"})
    assert following(track)[:2] == (Kind.DONE, "The campaign is complete.")
    home = client.get(track.get_absolute_url()).content.decode()
    assert 'href="/tracks/arq/clone/">Clone the track</a>' in home.replace(track.slug, "arq")
    assert not any(phase.n_left for phase in checklist(track).phases)


def test_newer_qrels_of_a_machine_are_remarked_without_those_of_people(scene: Scene) -> None:
    track, machine = scene.track, make_machine(scene.track, scene.organizer)
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)

    def of_machine() -> Qrels:
        qrels = scene.qrels()
        Qrels.objects.filter(pk=qrels.pk).update(machine=machine, machine_name="judge 1")
        return qrels

    def remarks() -> list[str]:
        return [problem.text for problem in points(track)["Leaderboard"].problems]

    first = of_machine()
    assert points(track)["Qrels"].state == "none yet"  # of people
    assert (
        points(track)["Leaderboard"].detail == "Qrels version 1 by machine judge 1 have no leaderboard yet."
    )
    scene.leaderboard(first)
    assert remarks() == []
    second = of_machine()
    assert remarks() == ["It was not scored against the newest qrels, version 2 by machine judge 1."]
    scene.leaderboard(second)
    scene.leaderboard(first)
    assert remarks() == []


def test_recommended_points_are_next_until_an_organizer_skips_them(client: Client) -> None:
    track, organizer = make_track(status=Track.Status.DRAFT, skipped=[]), make_organizer()
    client.force_login(organizer)
    make_topic(track)
    make_assessor(track, "ann")
    track.teams.create(name="T")
    home, address = track.get_absolute_url(), f"{track.get_absolute_url()}skip/"

    before, elsewhere = following(track), client.get(f"{home}topics/").content.decode()
    asked_first = client.get(home).content.decode()
    client.post(address, {"points": "leaks"})
    after, asked = following(track), client.get(home).content.decode()
    answer = client.post(address, {"points": after.skip_keys, "next": f"{home}topics/"}, follow=True)

    assert before[:2] == (Kind.DO, "Check for leaks")
    assert "Also recommended: Data, Description, Guidelines, Deadlines." in asked_first
    assert "Also recommended" not in elsewhere
    assert re.search(r'value="leaks">\s*Skip<', elsewhere)
    assert "Skip all" not in elsewhere
    assert re.search(r'value="data description guidelines deadlines">\s*Skip all 4<', asked)
    assert (after.text, after.skip_keys) == ("Export the collection", "data description guidelines deadlines")
    assert after.is_form
    assert "Teams cannot download the documents" not in asked  # which is the next step
    assert '<span class="small muted">4 to do</span>' in asked
    assert re.search(r'<span>Set up</span>\s*<span class="n">4 to do</span>', asked)
    assert answer.redirect_chain == [(f"{home}topics/", 302)]
    assert "Skipped: Data, Description, Guidelines, Deadlines." in answer.content.decode()
    assert following(track).text == "Open for runs"
    assert checklist(track).phases[0].state == "1 to look at"  # a team without members
    assert "Teams cannot download the documents" not in client.get(home).content.decode()
    assert "remark" not in client.get(f"{home}open/").content.decode()
    assert Event.objects.filter(action="checklist.skipped", track_id=track.pk, by=organizer).count() == 2


def test_opening_keeps_recommended_points_with_their_count_and_no_step_is_theirs(client: Client) -> None:
    pytest.importorskip("assay_extensions.building")
    track, organizer = make_track(status=Track.Status.DRAFT, skipped=["guidelines"]), make_organizer()
    client.force_login(organizer)
    make_topic(track)
    make_assessor(track, "ann")
    make_team(track, make_user("mia"))
    home = track.get_absolute_url()

    before = checklist(track).phases[0].state
    track_services.open_for_runs(track=track)
    step, opened = following(track), client.get(home).content.decode()
    state = checklist(track).phases[0].state
    client.post(f"{home}skip/", {"points": "deadlines"})
    track.refresh_from_db()

    assert (before, state) == ("4 to do", "4 to do")
    assert step[:2] == (Kind.WAIT, "Teams can submit runs.")
    assert step.detail.startswith("0 of 1 team has submitted. No deadline is set: set one, or close by hand.")
    assert f'href="{home}deadlines/">Set a deadline<' in opened
    assert 'aria-label="Skip: Deadlines"' in opened
    assert checklist(track).phases[0].state == "3 to do"


def test_skipped_point_is_asked_for_again_when_that_is_undone(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    client.force_login(make_organizer(track))
    make_topic(track)
    make_assessor(track, "ann")
    track.teams.create(name="T")
    address = f"{track.get_absolute_url()}skip/"

    home = client.get(track.get_absolute_url()).content.decode()
    client.post(address, {"points": "deadlines", "action": "resume"})
    wrong, none = client.post(address, {"points": "opening"}), client.post(address)

    assert re.search(r'value="deadlines"\s+aria-label="Undo: ask for Deadlines again">Undo<', home)
    assert following(track)[:2] == (Kind.DO, "Set dates")
    assert (wrong.status_code, none.status_code) == (409, 409)
    assert "“opening” cannot be skipped" in wrong.content.decode()
    client.force_login(make_user("visitor"))
    assert client.post(address, {"points": "deadlines"}).status_code == 403


def test_training_and_second_judgments_that_the_protocol_states_are_steps(scene: Scene) -> None:
    track = scene.track
    Track.objects.update(skipped=["guidelines"])
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)

    training = following(track)
    Track.objects.update(skipped=["guidelines", "training"])
    assert following(track).text == "Create and open the batch"
    main = scene.judged(*NINE)
    assert following(track).text == f"Close “{main}”"
    batch_services.close(batch=main)
    second = following(track)
    planned, skipped = (page_of(scene.organizer, each.address) for each in (second, training))
    freezing = page_of(scene.organizer, reverse("scoring:freeze", args=[track.slug]))
    dual = scene.batch({scene.bob: ["A.1"]}, kind=Batch.Kind.DUAL)
    scene.judge(dual, scene.bob, "high")
    batch_services.close(batch=dual)
    agreement = following(track)
    looked = page_of(scene.organizer, agreement.address)
    client = Client()
    client.force_login(scene.organizer)
    shown = re.search(r'name="next" value="([^"]*)">\s*<button [^>]*btn-primary"\s+name="points"', looked)
    stays = {"points": "agreement:done", "next": shown[1] if shown else ""}
    seen = client.post(f"{track.get_absolute_url()}skip/", stays, follow=True)

    assert seen.redirect_chain == [(agreement.address, 302)]
    assert "Marked as seen: Agreement." in seen.content.decode()
    assert agreement[:2] == (Kind.DO, "Look at the agreement")
    assert re.search(
        r">Next, on this page</span>\s*<b>Look at the agreement</b> Recommended. It shows how well", looked
    )
    assert ">Mark as seen</button>" in looked
    assert points(track)["Agreement"].state == "seen"
    assert (training.text, training.skip_keys) == ("Plan a training round", "training")
    assert (second.text, second.skip_keys) == ("Plan second judgments", "dual")
    assert "Plan second judgments" in page_of(scene.organizer, second.address)
    assert ">Create and open the batch</button>" in planned
    assert f'name="next" value="{track.get_absolute_url()}"' in planned  # not the page of the skipped step
    assert re.search(r'btn-primary" name="open"[^>]*>Create and open the training round<', skipped)
    assert "No unit was judged twice" in freezing
    assert following(track).text == "Freeze and score"


def test_training_and_second_judgments_ask_for_people_while_there_is_one_assessor(scene: Scene) -> None:
    track = scene.track
    Track.objects.update(skipped=["guidelines"])
    Assessor.objects.filter(track=track, user=scene.bob).delete()
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)

    training = following(track)
    Track.objects.update(skipped=["guidelines", "training"])
    batch_services.close(batch=scene.judged(*NINE))
    second = following(track)
    plans = [page_of(scene.organizer, f"/pools/{scene.pool.pk}/{name}/") for name in ("training", "dual")]

    needs = ("A training round needs", "Second judgments need")
    for step, key, need in zip((training, second), ("training", "dual"), needs, strict=True):
        assert (step.text, step.skips[0].skip) == ("Add people", key)
        assert step.detail == f"Recommended. {need} 2 assessors to compare, and the track has 1."
    assert [name for name, point in points(track).items() if point.is_next] == ["Second judgments"]
    assert "With 1 assessor there is nothing to compare." in plans[0]
    assert "Nobody but their assessors can judge these topics." in plans[1]


def test_training_round_is_discussed_before_the_main_judging(scene: Scene) -> None:
    track, client = scene.track, Client()
    Track.objects.update(skipped=["guidelines"])
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    batch = scene.batch({scene.ada: ["A.1"]}, kind=Batch.Kind.TRAINING)
    trained, judging = following(track), page_of(scene.organizer, track.get_absolute_url())
    scene.judge(batch, scene.ada, "high")
    batch_services.close(batch=batch)
    client.force_login(scene.organizer)

    step, home = following(track), page_of(scene.organizer, track.get_absolute_url())
    public = client.get(track.get_absolute_url(), {"view": "public"}).content.decode()
    client.post(reverse("assessment:share_discussion", args=[batch.pk]), {"discussion": "named"})

    assert step[:2] == (Kind.DO, "Discuss the training round")
    assert step.address == reverse("assessment:discussion", args=[batch.pk])
    assert "<h1>Discussion" in page_of(scene.organizer, step.address)
    for page in (judging, home, public):  # training is no judging of the track
        assert "closed for runs</span>" in page
        assert ">judged<" not in page
    assert '<span class="over">Training</span>' in judging
    assert trained.text.startswith("Training goes on: 0 of ")
    assert "The main judging has not begun." in home
    assert points(track)["Discussion"].is_done
    assert following(track).text == "Create and open the batch"


def test_button_of_the_step_is_marked_so_that_its_line_shows_no_second_one(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=scene.track)

    batches = page_of(scene.organizer, reverse("assessment:judging", args=[scene.track.slug]))
    dates = page_of(scene.organizer, reverse("tracks:deadlines", args=[scene.track.slug]))

    for page in (batches, dates):
        assert re.search(r'class="btn btn-sm btn-primary" [^>]*>Create and open the batch…<', page)
        assert page.count(">Create and open the batch…<") == 1
    assert batches.count("btn-primary") == 1
    assert ">Create a batch<" not in batches
    assert 'class="btn btn-primary">Set dates<' in dates  # a form keeps its filled button


@pytest.mark.parametrize(("seconds", "is_first"), [(80_000, True), (800_000, False)])
def test_track_that_closes_by_itself_can_be_closed_from_its_home(
    scene: Scene, seconds: int, is_first: bool
) -> None:
    make_deadline(scene.track, closes_at=seconds)
    Pool.objects.update(track=make_track("other"))
    scene.submit(scene.ours, "good", "10 é 9")

    step, home = following(scene.track), page_of(scene.organizer, scene.track.get_absolute_url())

    assert step.kind == Kind.WAIT
    assert re.fullmatch(
        r"1 of 2 teams has submitted\. Runs close in [\w ]+\. Then you build the pool\.", step.detail
    )
    style = "btn-plain" if is_first else "btn-link"
    assert f'btn-lg {style}" href="/tracks/arq/close/">Close for runs…<' in home
    assert '?about=opening">Announce the opening…<' in home


def test_baselines_are_no_runs_for_the_next_step(scene: Scene) -> None:
    """Before the deadline teams are waited for; afterwards the pool says that no team has a run."""
    make_deadline(scene.track, closes_at=800_000)
    Pool.objects.update(track=make_track("other"))
    scene.submit(scene.theirs, "tf-idf", "9 10", kind="baseline")

    opened = following(scene.track)
    track_services.close(track=scene.track)
    closed = following(scene.track)

    assert opened.text.startswith("Teams can submit runs until ")
    assert [words for words, _ in opened.meanwhile] == ["Announce the opening…"]
    assert closed.text == "Build pool"
    assert closed.detail.startswith("Runs are closed: 0 of 1 team submitted.")


def test_training_that_the_main_judging_has_overtaken_is_only_something_to_look_at(scene: Scene) -> None:
    batch_services.close(batch=scene.judged("high"))
    scene.batch({scene.ada: list(scene.topics)}, kind=Batch.Kind.TRAINING)

    step, training = following(scene.track), points(scene.track)["Training"]

    assert not step.text.startswith("Training goes on")
    assert training.is_optional
    assert any("is still open, but the main judging is closed." in each.text for each in training.problems)


def test_state_in_which_nobody_must_act_has_a_button_for_what_can_be_done(
    scene: Scene, client: Client
) -> None:
    """While runs come in: the announcement of the opening. While people judge: the live board and second judgments."""
    track, home = scene.track, scene.track.get_absolute_url()
    client.force_login(scene.organizer)
    Pool.objects.update(track=make_track("other"))
    make_deadline(track, closes_at=86_400)
    announce = f'btn-lg btn-plain" href="{home}announcements/new/?about=opening">Announce the opening…<'

    opened = client.get(home).content.decode()
    make_announcement(track, scene.organizer)
    announced = client.get(home).content.decode()
    scene.submit(scene.ours, "good", "10 é 9")
    Pool.objects.update(track=track)
    Track.objects.filter(pk=track.pk).update(skipped=["guidelines"])
    scene.judged("high")
    judging, board = (client.get(f"{home}{path}").content.decode() for path in ("", "board/"))

    assert [announce in page for page in (opened, announced)] == [True, False]
    assert f'btn-lg btn-link" href="{home}board/">Live board<' in judging
    assert f'btn-lg btn-plain" href="/pools/{scene.pool.pk}/dual/">Plan second judgments…<' in judging
    assert "The protocol asks for second judgments. You can plan them now" in judging
    assert '<div class="what">Judging goes on.' in judging  # the numbers are below, once
    assert f'btn-plain" href="{home}board/">Live board<' not in board


def test_page_where_the_next_step_leads_has_its_words_on_the_filled_button(scene: Scene) -> None:
    """Or in its heading, if the page has several buttons, or above a form that saves the whole track."""
    track = make_track("new", status=Track.Status.DRAFT)

    def look() -> None:
        step = following(track)
        page = page_of(scene.organizer, step.address)
        words = [" ".join(each.split()) for each in FILLED.findall(page)]
        assert "Save track" in words or any(step.text in each for each in words), (step.text, words)
        assert step.leads_to(resolve(step.address.partition("?")[0])), step.text

    look()
    make_topic(track)
    look()
    make_assessor(track, "ann")
    track.teams.create(name="T")
    for skipped in (
        ["leaks", "data", "guidelines", "description"],
        ["leaks", "data", "deadlines", "description"],
        ["leaks", "data", "deadlines", "guidelines"],
        ["data", "guidelines", "deadlines"],
    ):
        Track.objects.filter(pk=track.pk).update(skipped=skipped)
        look()
    track = scene.track
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    look()
    batch = batch_services.create(pool=scene.pool, name="B", kind=Batch.Kind.MAIN, by=scene.organizer)
    look()
    batch.delete()
    batch = scene.judged(*NINE)
    batch_services.close(batch=batch)
    look()
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    look()
    scene.leaderboard(qrels)
    look()


def test_lists_and_dates_have_a_filled_button_while_the_campaign_waits(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    scene.judged("high")
    assert following(scene.track).kind == Kind.WAIT

    pages = ["pooling:runs", "pooling:pools", "assessment:judging", "scoring:qrels_list", "tracks:deadlines"]
    shown = [page_of(scene.organizer, reverse(each, args=[scene.track.slug])) for each in pages]

    filled = [re.findall(r'btn btn-primary"[^>]*>([^<]*)<', each) for each in shown]
    # not "Freeze qrels": nobody is asked to freeze what is still being judged
    assert filled == [["Submit runs"], ["Build a pool"], ["Create a batch"], [], ["Set dates"]]


def test_no_filled_button_contradicts_the_next_step(scene: Scene, pytestconfig: pytest.Config) -> None:
    """The filled button of a page is that of the step, or submits a form in which something is entered (ADR 75).

    By day, the pages of three of six steps.
    """
    track, wrong = scene.track, list[str]()
    is_night = pytestconfig.getoption("--nightly")
    draft = make_track("second", status=Track.Status.DRAFT)
    make_topic(draft)
    wrong += contradictions(scene.organizer, draft)
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    wrong += contradictions(scene.organizer, track) if is_night else []
    batch = scene.judged("high")
    wrong += contradictions(scene.organizer, track)  # a wait
    batch_services.close(batch=batch)
    board = scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))
    wrong += contradictions(scene.organizer, track)
    leaderboard_services.release(leaderboard=board, level="public", by=scene.organizer)
    make_archive(track, scene.organizer)
    wrong += contradictions(scene.organizer, track) if is_night else []
    Track.objects.update(skipped=["announcement", "publication"])
    assert following(track).kind == Kind.DONE
    wrong += contradictions(scene.organizer, track) if is_night else []
    assert "\n".join(wrong) == ""


def contradictions(user: User, track: Track) -> list[str]:
    """The filled buttons that contradict the next step, on one page of each view that the pages of a track link."""
    client, step, wrong = Client(), following(track), []
    client.force_login(user)
    pages = {resolve(track.get_absolute_url()).view_name: track.get_absolute_url()}
    seen = {"publishing:archive_file"}
    while new := pages.keys() - seen:
        address = pages[min(new)]
        seen.add(min(new))
        response = client.get(address)
        if track not in (each.get("track") for each in response.context or ()):
            continue  # a page of the site, a file or a redirect
        page = html.fromstring(response.content.decode(), base_url=address)
        page.make_links_absolute()
        for link in page.xpath("//div[contains(@class, 'frame')]//a[not(@download)]/@href"):
            with suppress(Resolver404):
                pages.setdefault(resolve(urlsplit(link).path).view_name, link)
        is_home_or_question = page.xpath("//*[@id='next' or @id='act' or contains(@class, 'asked')]")
        if not is_home_or_question and not page.xpath("//section[@aria-label='Next step']"):
            wrong.append(f"{address}: no next step")
        if not is_home_or_question and not step.leads_to(response.resolver_match):
            # a step that leads nowhere leaves the page one button of its own
            wrong += [f"{address}: {each}" for each in [*filled_otherwise(page, step)][not step.address :]]
    assert len(pages) > 30
    return wrong


def filled_otherwise(page: Any, step: Next) -> Iterator[str]:
    for button in page.xpath("//main//*[contains(@class, 'btn-primary')]"):
        forms = [*button.iterancestors("form"), *page.xpath("//form[@id=$id]", id=button.get("form", ""))]
        form = next(iter(forms), None)
        entered = "self::select or self::textarea or self::input[not(@type='hidden')]"
        if form is not None and form.xpath(f".//*[{entered}]"):
            continue
        if not step.is_at(button.get("href") or (form.get("action") if form is not None else "")):
            yield button.text_content().strip()


def test_assessor_who_quits_leaves_topics_that_the_next_step_gives_away(scene: Scene) -> None:
    """The units of nobody stay in the denominator, so that nobody closes a batch that is not judged."""
    batch = scene.batch({scene.ada: ["A.1", "A.2"], scene.bob: ["A.10"]})
    scene.judge(batch, scene.ada, *NINE[:6])
    assessor_services.remove(track=scene.track, user=scene.bob, by=scene.organizer)

    step = following(scene.track)
    home, progress = (
        page_of(scene.organizer, each) for each in (scene.track.get_absolute_url(), batch.get_absolute_url())
    )

    assert step[:3] == (
        Kind.REPAIR,
        "Give 1 topic to assessors",
        "A.10 has nobody: 3 of 9 units would stay unjudged.",
    )
    assert step.address == f"/judge/batches/{batch.pk}/plan/?action=share"
    assert "all judged" not in home
    assert '<span class="over">Judged</span><span class="big">6</span>' in progress
    assert "Give 1 topic to assessors" in page_of(scene.organizer, step.address)


def test_batch_with_unjudged_units_is_closed_by_who_accepts_that(scene: Scene) -> None:
    client = Client()
    client.force_login(scene.organizer)
    batch = scene.batch({scene.ada: ["A.1", "A.2"], scene.bob: ["A.10"]})
    scene.judge(batch, scene.ada, "high", "low")
    address = f"/judge/batches/{batch.pk}/close/"

    open_page, question = (page_of(scene.organizer, each) for each in (batch.get_absolute_url(), address))
    refused = client.post(address)
    batch.refresh_from_db()
    assert (refused.status_code, batch.status) == (422, "open")
    client.post(address, {"remarks": "1"})
    home = page_of(scene.organizer, scene.track.get_absolute_url())

    assert f'href="{address}">Close batch</a>' in open_page
    assert f'href="/tracks/{scene.track.slug}/judging/imports/"' in open_page
    assert "7 of 9 units are unjudged" in question
    assert "ada 4, bob 3" in question
    batch.refresh_from_db()
    assert batch.status == "closed"
    assert points(scene.track)["Main judging"].is_done
    assert f"{batch.name} is closed with 22 % judged: 7 of 9 units have no judgment." in home
    assert re.search(r"needs a look:</span></span>\s*<a [^>]*>Main judging<", home)


def test_remark_that_somebody_accepts_stays_away_with_a_record(scene: Scene, client: Client) -> None:
    batch, home = scene.judged("high", "low"), scene.track.get_absolute_url()
    batch_services.close(batch=batch)
    client.force_login(scene.organizer)
    text = f"{batch.name} is closed with 22 % judged: 7 of 9 units have no judgment."
    button = re.compile(rf'name="points" value="(look-\w+)"\s+aria-label="Skip: {text}">Skip<')

    match = button.search(client.get(home).content.decode())
    assert match
    answer = client.post(f"{home}skip/", {"points": match[1]}, follow=True).content.decode()
    accepted = client.get(home).content.decode()
    event = Event.objects.get(action="checklist.accepted")
    client.post(f"{home}skip/", {"points": match[1], "action": "resume"})

    assert f"Skipped: {text[:-1]}. You can undo that" in answer
    assert not button.search(accepted)
    assert f"<span>Skipped: {text}</span>" in accepted
    assert re.search(r"done:</span></span>\s*<a [^>]*>Main judging<", accepted)
    assert (event.by, event.details) == (scene.organizer, {"points": [text]})
    assert button.search(client.get(home).content.decode())


def test_batch_closed_without_a_judgment_is_opened_again_or_skipped(scene: Scene, client: Client) -> None:
    """Next does not lead to the agreement of a batch of second judgments in which nobody judged anything."""
    track = scene.track
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    batch_services.close(batch=scene.judged(*NINE))
    dual = scene.batch({scene.bob: ["A.1"]}, kind=Batch.Kind.DUAL)
    batch_services.close(batch=dual)
    Track.objects.update(skipped=["guidelines"])
    client.force_login(scene.organizer)
    home = track.get_absolute_url()

    step, before = following(track), client.get(home).content.decode()
    page = client.get(dual.get_absolute_url()).content.decode()
    client.post(step.address)
    opened, again = following(track), client.get(home).content.decode()
    batch_services.close(batch=dual)
    client.post(f"{home}skip/", {"points": step.skip_keys})

    assert step[:2] == (Kind.DO, "Open batch again")
    assert "closed, and nobody judged anything in it" in step.detail
    assert re.search(r"needs a look:</span></span>\s*<span>Second judgments<", before)
    assert "Closed before anything was judged." in page
    assert "Tasks open" not in page
    assert opened[:2] == (Kind.WAIT, "Second judgments go on: 0 of 3 units.")
    for words in (
        '<div class="what">Second judgments go on.',
        '<span class="over">Second judgments</span><span class="big">0</span>',
    ):
        assert words in again
    assert "Work left" not in again, "nobody has judged yet, so that no speed is known"
    assert following(track).text == "Freeze and score"
    dual.topic_assignments.all().delete()
    dual.delete()
    second = scene.batch({scene.bob: ["A.1", "A.2", "A.10"]}, kind=Batch.Kind.DUAL)
    scene.judge(second, scene.bob, "high")
    batch_services.close(batch=second)
    client.post(f"{home}skip/", {"points": step.skip_keys, "action": "resume"})
    assert following(track)[:2] == (Kind.DO, "Open batch again")
    assert points(track)["Second judgments"].state == f"{second} is closed, and 1 of 9 units judged"


def test_several_open_batches_are_one_sentence_with_their_names_below(scene: Scene) -> None:
    main = scene.judged("high")
    dual = scene.batch({scene.bob: ["A.1"]}, kind=Batch.Kind.DUAL)

    step, home = following(scene.track), page_of(scene.organizer, scene.track.get_absolute_url())

    assert step[:2] == (Kind.WAIT, "Judging goes on: 1 of 12 units.")
    assert re.search(
        r'<progress [^>]*value="0.11"\s+aria-label="Judging"', home
    )  # 1 of 9 units of the main batch
    assert step.detail.startswith(f"By batch: {main} 1 of 9, {dual} 0 of 3. When all is judged, ")
    assert step.label == "Now"


def test_newer_leaderboard_that_is_not_released_comes_before_the_archive(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=scene.track)
    batch_services.close(batch=scene.judged(*NINE))
    scene.leaderboard(scene.qrels(), release="public")

    newer = scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))

    step = following(scene.track)
    assert step[:2] == (Kind.DO, "Release to everybody")
    assert step.address == f"{newer.get_absolute_url()}release/?level=public"
    assert "not the one against version 2" in step.detail
    make_archive(scene.track, scene.organizer)  # the organizer does not want to release it
    assert following(scene.track).text == "Add to downloads"


def test_draft_batch_next_to_another_one_is_no_step(scene: Scene) -> None:
    batch = scene.judged(*NINE)
    draft = batch_services.create(pool=scene.pool, name="Spare", kind=Batch.Kind.MAIN, by=scene.organizer)

    assert following(scene.track).text == f"Close “{batch.name}”"
    [problem] = points(scene.track)["Main judging"].problems
    assert problem[:3] == ("The batch Spare is a draft. Open it, or delete it.", draft.get_absolute_url(), "")


def test_finished_batches_are_closed_at_once_and_others_stay_open(scene: Scene) -> None:
    client = Client()
    client.force_login(scene.organizer)
    main = scene.judged(*NINE)
    training = scene.batch({scene.bob: ["A.1"]}, kind=Batch.Kind.TRAINING)
    other = scene.batch({scene.bob: ["A.2"]}, kind=Batch.Kind.DUAL)
    scene.judge(training, scene.bob, *NINE[:3])

    step = following(scene.track)
    response = client.post(step.address, follow=True)
    again = client.post(step.address)

    assert step[1:5] == ("Close 2 finished batches", "Everything in them is judged.", step.address, True)
    assert "are closed. All judgments are kept." in response.content.decode()
    states = dict(Batch.objects.values_list("pk", "status"))
    assert [states[batch.pk] for batch in (main, training, other)] == ["closed", "closed", "open"]
    assert again.status_code == 409
    assert "No open batch of ARQ is finished" in again.content.decode()


def test_late_run_that_is_on_no_leaderboard_is_named_until_the_runs_are_scored_again(scene: Scene) -> None:
    """On the checklist, the leaderboard and the page of the release."""
    track, client = scene.track, Client()
    client.force_login(scene.organizer)
    scene.submit(scene.ours, "good", "10 é 9")
    batch_services.close(batch=scene.judged(*NINE))
    board = scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))
    scene.submit(scene.theirs, "late", "9 10")
    track_services.close(track=track)

    step = following(track)
    shown = client.get(step.address).content.decode()
    release = client.get(f"{board.get_absolute_url()}release/?level=public").content.decode()
    client.post(f"/qrels/{board.qrels_id}/score/")

    assert step[:3] == (Kind.REPAIR, "Score again", "late is not on the leaderboard.")
    assert step.address == board.get_absolute_url()
    assert 'class="btn btn-primary">Score again' in shown
    assert "“late” was submitted after the scoring. Score the runs again." in release.replace("&quot;", '"')
    assert following(track).text.startswith("The runs are being scored against")


def test_withdrawn_run_on_a_hidden_leaderboard_asks_to_score_the_runs_again(scene: Scene) -> None:
    """In *Next*, on the leaderboard, and on the page of the release, which needs no reason for it."""
    client = Client()
    client.force_login(scene.organizer)
    scene.submit(scene.ours, "good", "10 é 9")
    run = scene.submit(scene.theirs, "gone", "9 10")
    track_services.close(track=scene.track)
    batch_services.close(batch=scene.judged(*NINE))
    board = scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))
    changes.withdraw_for_team(run=run, by=scene.organizer, reason="They asked for it.")

    step = following(scene.track)
    shown = client.get(step.address).content.decode()
    release = client.get(f"{board.get_absolute_url()}release/?level=public").content.decode()
    client.post(f"{board.get_absolute_url()}release/", {"level": "public"})

    sentence = "1 run was withdrawn or disqualified after the scoring"
    assert step[:3] == (Kind.REPAIR, "Score again", f"{sentence}.")
    assert step.address == board.get_absolute_url()
    assert "1 run was withdrawn or disqualified after these runs were" in shown
    assert shown.partition("<main")[2].count("btn-primary") == 1, "the release is not the main button"
    assert 'class="btn btn-primary">Score again' in shown
    assert (sentence in release, "Release to everybody anyway" in release) == (True, False)
    assert f'href="{board.get_absolute_url()}">Score again</a>' in release
    assert texts(points(scene.track)["Leaderboard"]) == [], "it was released as it is"


def test_pages_count_no_team_for_baselines(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "tf-idf", "9 10", kind="baseline")
    closing = page_of(scene.organizer, reverse("tracks:close_track", args=[scene.track.slug]))
    track_services.close(track=scene.track)
    board = scene.leaderboard(release="public")
    address = scene.track.get_absolute_url()

    home, runs, public, tracks, shown = (
        " ".join(re.sub("<[^>]*>", " ", page_of(user, page)).split())
        for user, page in (
            (scene.organizer, address),
            (scene.organizer, reverse("pooling:runs", args=[scene.track.slug])),
            (scene.stranger, address),
            (scene.stranger, reverse("home")),
            (scene.stranger, board.get_absolute_url()),
        )
    )

    assert "Runs 1 from 1 of 1 team, and 1 baseline" in home
    assert "Runs 1 without baselines and withdrawn ones Teams 1 0 without runs" in runs
    assert " 1 run and 1 baseline " in runs
    assert re.search(r"People Ours 1 run .*Theirs 1 baseline ", runs)
    assert "1 baseline and 1 run from 1 of 1 team" in closing
    assert "Teams 1 Runs 1" in public
    assert "1 team · 1 run" in tracks
    assert "1 baseline and 1 run of 1 team, " in shown
    checklist = points(scene.track)
    assert checklist["Runs"].state == "1 baseline and 1 run from 1 of 1 team"
    assert checklist["Teams"].state == "1 team"


def test_pool_of_a_late_run_asks_for_a_batch_and_then_for_new_qrels(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=scene.track)
    batch_services.close(batch=scene.judged(*NINE))
    board = scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))
    Pool.objects.create(
        track=scene.track,
        protocol=scene.pool.protocol,
        name="Top-up",
        seed=1,
        status="ready",
        tops_up=scene.pool,
        created_by=scene.organizer,
    )

    step = following(scene.track)

    assert step[:2] == (Kind.REPAIR, "Create and open the batch")
    assert step.detail == "The pool Top-up has no batch, so nobody judges its units."
    assert board.release == "hidden"


def test_pages_of_organizers_and_visitors_name_one_state_and_count_all_teams(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=scene.track)
    scene.batch({scene.ada: list(scene.topics)})

    home = page_of(scene.organizer, scene.track.get_absolute_url())
    public = page_of(scene.stranger, scene.track.get_absolute_url())

    assert all('<span class="chip gold">judging</span>' in page for page in (home, public))
    assert points(scene.track)["Runs"].state == "1 run from 1 of 2 teams"
    assert re.search(r"from 1 of 2 teams<", home)
    assert "1 to do" in home


def test_archive_from_before_the_newest_qrels_is_outdated(scene: Scene) -> None:
    make_archive(scene.track, scene.organizer)
    assert points(scene.track)["Archive"].is_done

    scene.qrels()

    point = points(scene.track)["Archive"]
    assert (point.state, point.is_done) == ("1 archive, outdated", False)
    assert texts(point) == ["Qrels or a leaderboard came after the newest archive. Make another one."]


def test_documents_that_teams_cannot_download_are_named() -> None:
    track = make_track(collection=make_collection(status=Collection.Status.READY), skipped=[])

    [problem] = points(track)["Data"].problems

    assert problem.text.startswith("Teams cannot download the documents")
    assert "Teams cannot download the documents" in page_of(make_organizer(track), track.get_absolute_url())


def test_track_closes_by_itself_or_by_hand_but_not_before_it_makes_sense(scene: Scene) -> None:
    """No "Close for runs" while people judge, as in the demo, nor before a deadline."""
    track = scene.track
    scene.submit(scene.ours, "good", "10 é 9")
    scene.batch({scene.ada: list(scene.topics)})
    assert following(track).text == "Judging goes on: 0 of 9 units."

    other = make_track("other", collection=None)
    make_topic(other)
    team = scene.ours
    make_assessor(other, "ann")
    type(team).objects.create(track=other, name="T")
    make_deadline(other, closes_at=86_400)
    assert following(other).text.startswith("Teams can submit runs until ")


def test_closing_is_recommended_after_the_judging_and_can_be_skipped(scene: Scene, client: Client) -> None:
    """Before the freeze and after it. The phase of the runs says it, and the release then names what is open."""
    client.force_login(scene.organizer)
    track, home = scene.track, scene.track.get_absolute_url()
    scene.submit(scene.ours, "good", "10 é 9")
    batch = scene.judged(*NINE)
    judging = points(track)["Close for runs"]
    batch_services.close(batch=batch)
    before = following(track)
    scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))

    step, runs = following(track), checklist(track).phases[1]
    client.post(f"{home}skip/", {"points": step.skip_keys})
    skipped, point = following(track), points(track)["Close for runs"]
    client.post(f"{home}skip/", {"points": "closing", "action": "resume"})
    again = following(track)
    make_deadline(track, closes_at=800_000)
    waiting = following(track)
    track_services.close(track=track)

    assert judging.is_optional
    assert before == step
    assert step.meanwhile == (), "the opening is announced before there is a pool"
    assert (step[:2], step.skip_keys) == ((Kind.DO, "Close for runs"), "closing")
    assert (runs.state, runs.is_done) == ("1 to do", False)
    assert skipped.text == "Release to everybody"
    assert "is open for runs" in skipped.detail
    assert (point.is_optional, point.state) == (True, "skipped")
    assert again.text == "Close for runs"
    assert waiting.text.startswith("Runs close by themselves on ")
    assert waiting.detail.startswith(
        "The leaderboard can be released when runs have closed. 1 of 2 teams has "
    )
    assert " Runs close in 9 days " in waiting.detail
    assert following(track).text == "Release to everybody"


def test_closing_offers_its_announcement_until_there_is_one(scene: Scene, client: Client) -> None:
    client.force_login(scene.organizer)
    Pool.objects.update(track=make_track("other"))
    scene.submit(scene.ours, "good", "10 é 9")

    closed = client.post(f"{scene.track.get_absolute_url()}close/", {"remarks": "1"}, follow=True)
    step = following(scene.track)

    [(words, address)] = step.meanwhile
    assert (step.text, words) == ("Build pool", "Announce the closing…")
    assert closed.content.decode().count(f'href="{address}"') == 1
    assert "Announce the closing" not in page_of(scene.organizer, step.address), "the page of the step itself"
    make_announcement(scene.track, scene.organizer)
    assert following(scene.track).meanwhile == ()


def test_page_of_another_recommended_point_shows_that_point_as_here(client: Client) -> None:
    """The step does not change under somebody when another one, such as an export, becomes the first."""
    track = make_track(status=Track.Status.DRAFT, skipped=["leaks", "description"])
    client.force_login(make_organizer())
    make_topic(track)
    make_assessor(track, "ann")
    track.teams.create(name="T")

    page = client.get(reverse("tracks:edit_guidelines", args=[track.slug])).content.decode()

    assert following(track).text == "Export the collection"
    line = page.partition('aria-label="Next step"')[2].partition("</section>")[0]
    assert re.search(
        r"Next, on this page</span>\s*<b>Write guidelines</b> Recommended. Assessors and teams", line
    )
    assert re.search(r'value="guidelines">\s*Skip<', line)


def test_page_of_two_recommended_points_names_the_one_that_was_clicked(client: Client) -> None:
    """Its field is the first, and skipping it skips no other. The form saves the whole track."""
    track = make_track(status=Track.Status.DRAFT, collection=None, skipped=["leaks", "guidelines"])
    client.force_login(make_organizer())
    make_topic(track)
    make_assessor(track, "ann")
    track.teams.create(name="T")
    edit = reverse("tracks:edit_track", args=[track.slug])

    home = client.get(track.get_absolute_url()).content.decode()
    for query, text, key in (
        ("", "Choose the collection", "collection"),
        ("?first=collection", "Choose the collection", "collection"),
        ("?first=description", "Describe the track", "description"),
    ):
        response = client.get(f"{edit}{query}")
        page = response.content.decode()

        line = page.partition('aria-label="Next step"')[2].partition("</section>")[0]
        assert re.search(rf"Next, on this page</span>\s*<b>{text}</b> Recommended. [A-Z]", line)
        assert re.search(rf'value="{key}">\s*Skip<', line)
        assert re.search(r'btn-primary">\s*Save track</button>', page)
        assert next(iter(response.context["form"].fields)) == (key if query else "name")
    assert following(track).address == f"{edit}?first=collection"
    assert "Skip “Choose the collection”" in home


def test_no_page_links_to_itself_as_the_next_step() -> None:
    track, client = make_track(), Client()
    make_topic(track)
    client.force_login(make_organizer())
    address = reverse("participation:add_people", args=[track.slug])

    there, elsewhere = (
        client.get(each).content.decode() for each in (address, reverse("tracks:topics", args=[track.slug]))
    )

    assert re.search(
        r'aria-label="Next step">\s*<p>\s*<span class="over">Next, on this page</span>\s*<b>Add people</b> Each topic',
        there,
    )
    assert f'href="{address}">Add people…</a>' in elsewhere


@pytest.mark.parametrize("n_judged", [2, 3])
def test_plan_moves_nothing_of_an_assessor_who_quit_after_the_last_unit(scene: Scene, n_judged: int) -> None:
    batch = scene.batch({scene.ada: ["A.1", "A.2"], scene.bob: ["A.10"]})
    scene.judge(batch, scene.bob, *NINE[:n_judged])
    assessor_services.remove(track=scene.track, user=scene.bob, by=scene.organizer)

    plan = page_of(scene.organizer, reverse("assessment:plan", args=[batch.pk]))

    assert "Somebody should not have a topic that they have" not in plan
    assert ("Without an assessor" in plan) == (n_judged == 2)


def test_checklist_names_what_is_wrong_with_the_page_that_solves_it(scene: Scene) -> None:
    track = scene.track
    run = scene.submit(scene.ours, "good", "10 é 9")
    failed = pool_services.request(track=track, name="late", seed=1, depth={}, by=scene.organizer)
    Pool.objects.filter(pk=failed.pk).update(status=Pool.Status.FAILED)

    shown = points(track)

    assert shown["Pool"].problems[0][:2] == (
        "The pool late failed. Its page states why.",
        failed.get_absolute_url(),
    )
    assert shown["Runs"].problems[-1].text.startswith("Without a run: ")
    track_services.close(track=track)
    assert texts(points(track)["Runs"]) == [], "nobody can mend it any more"
    assert run.tag in shown["Pool"].problems[1].text
    assert all(problem.address for problem in checklist(track).problems)


def test_judgments_after_the_freeze_are_named(scene: Scene) -> None:
    batch = scene.judged("high", "low")
    qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    assert points(scene.track)["Qrels"].problems == ()

    scene.judge(batch, scene.ada, "high")

    [problem] = points(scene.track)["Qrels"].problems
    assert problem.text.startswith("Judgments came after version 1.")
    assert not problem.action  # others follow while the batch is open
    batch_services.close(batch=batch)
    assert points(scene.track)["Qrels"].problems[0].action == "Freeze qrels"


def test_adjudication_asks_for_new_qrels_only_if_it_changes_a_grade(scene: Scene) -> None:
    batch_services.close(batch=scene.judged("high", "low"))
    qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    adjudication = scene.batch({scene.bob: ["A.1"]}, Batch.Kind.ADJUDICATION)

    scene.judge(adjudication, scene.bob, "high", "low")
    confirmed = points(scene.track)["Qrels"].problems
    scene.judge(adjudication, scene.bob, "medium")
    changed = points(scene.track)["Qrels"].problems

    assert (len(confirmed), len(changed)) == (0, 1)


def test_campaign_with_imported_qrels_is_not_complete_while_somebody_judges(
    scene: Scene, client: Client
) -> None:
    """The qrels replace the judging, but not what assessors have been asked to do. A refusal leads back."""
    track, address = scene.track, scene.track.get_absolute_url()
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    batch = scene.batch({scene.ada: list(scene.topics)})
    scene.leaderboard(release="public")

    announcing, home = following(track), page_of(scene.organizer, address)
    make_announcement(track, scene.organizer)
    assert following(track)[:2] == (Kind.WAIT, "Judging goes on: 0 of 9 units.")
    batch_services.close(batch=batch)
    assert announcing[:2] == (Kind.DO, "Announce the results")
    assert f'<a href="{batch.get_absolute_url()}">{batch} is still open: 0 of 9 judged.</a>' in home
    assert not points(track)["Main judging"].problems
    client.force_login(scene.organizer)
    refused = client.post(f"{address}open/", headers={"referer": f"http://testserver{address}"})
    elsewhere = client.post(f"{address}open/", headers={"referer": "https://evil.example.org/"})
    assert refused.status_code == elsewhere.status_code == 409
    assert "The track was not opened" in refused.content.decode()
    assert f'href="http://testserver{address}">Back to the page' in refused.content.decode()
    assert "evil" not in elsewhere.content.decode()


def test_topic_without_a_relevant_unit_is_named_before_qrels_are_frozen_and_scored(scene: Scene) -> None:
    client = Client()
    client.force_login(scene.organizer)
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=scene.track)
    batch_services.close(batch=scene.judged(*["high"] * 3, *["low"] * 3, *["not-relevant"] * 3))
    step = following(scene.track)

    page = client.get(step.address).content.decode()
    [without] = re.findall(r'name="without"\s+value="(2 [^"]*)">Leave these out<', page)
    fields = dict(re.findall(r'type="hidden" name="(digest)" value="(\w+)"', page))
    data = {"pool": scene.pool.pk, "score": "1", **fields}
    preview = client.post(
        step.address, {**data, "without": without, "left_out": "A.1 unclear"}
    ).content.decode()
    response = client.post(step.address, data)

    assert step.text == "Freeze and score"
    assert "1 topic without a unit of grade 1 or higher" in page
    assert "2 topics without a unit of grade 2 or higher" in page
    assert "Every run has 0 in measures that count units from grade 2 on.\nA.2, A.10<" in page
    assert [*re.findall(r"<h2[^>]*>(?:<svg.*?</svg>)?\s*([^<]*)</h2>", page)][:5] == [
        *(
            "What the version will contain",
            "Rules of the protocol",
            "Ready?",
            "Fixed from now on",
            "You can still change",
        )
    ]
    reason = "no unit of grade 2 or higher"
    assert f">\nA.1 unclear\nA.2 {reason}\nA.10 {reason}</textarea>" in preview
    board = scene.track.leaderboards.get()
    assert response["Location"] == board.get_absolute_url()


def test_two_queries_read_what_selectors_find_for_all_points(
    scene: Scene, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Two batches settle units of each other, and a run is missing from the released leaderboard."""
    scene.submit(scene.ours, "good", "10 é 9")
    first = scene.batch({scene.ada: list(scene.topics)})
    scene.judge(first, scene.ada, *NINE)
    batch_services.close(batch=first)
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    board = scene.leaderboard(qrels)
    leaderboard_services.release(leaderboard=board, level="public", by=scene.organizer, reason="Early")
    scene.submit(scene.theirs, "late", "9 10")
    scene.batch({scene.bob: ["A.1", "A.10"]})
    training = scene.batch({scene.ada: ["A.2"], scene.bob: ["A.2"]}, kind=Batch.Kind.TRAINING)
    scene.judge(training, scene.ada, *NINE[:1])
    track = Track.objects.select_related("protocol", "collection", "guidelines").get(pk=scene.track.pk)

    checklist(track)  # prepares the statement
    with django_assert_num_queries(2):  # the second one reads how fast people judge
        computed = checklist(track)

    expected = progress_of_each(Batch.objects.filter(status=Batch.Status.OPEN))
    assert {pk: _numbers_of(each) for pk, each in computed.campaign.once(progress_of).items()} == {
        pk: _numbers_of(each) for pk, each in expected.items()
    }
    shown = {point.label: point for phase in computed.phases for point in phase.points}
    assert [problem.text for problem in shown["Release"].problems] == hindrances(board)
    assert "1 batch is open, so grades can still change" in " ".join(hindrances(board))  # not the training
    assert missing_runs(board) == ["late"]
    assert "late is not on the leaderboard." in texts(shown["Leaderboard"])


def _numbers_of(progress: BatchProgress) -> tuple[object, ...]:
    shares = [(share.assignment.pk, share.judged, share.total) for share in progress.shares]
    return progress.judged, progress.total, progress.untaken, shares


@pytest.mark.parametrize("n", [1, 2])
def test_plan_of_the_statement_is_kept(n: int) -> None:
    """PostgreSQL plans the first five executions for their values; a plan for every list must not look slower."""
    tracks = [make_track(f"track-{number}") for number in range(n)]
    _prepared.clear()
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")

    for _ in range(7):
        next_steps(tracks)

    plans = "SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE '%%cardinality%%'"
    assert read_rows(plans, n=n) == [(2,)]
