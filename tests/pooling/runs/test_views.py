"""The pages of runs and pools: who sees which runs, what a refused upload shows, and that hostile text is escaped."""

import http.client
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from jobs import services as jobs
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Pool, Run
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from pooling.runs.forms import RunForm, bytes_of
from tests.helpers.factories import make_deadline, make_track, make_user
from tests.helpers.runs import BROKEN, GOOD, run_bytes
from tests.pooling.conftest import Scene
from tracks.models import StoredProtocol, Track

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{7*7}}"


@pytest.fixture
def run(scene: Scene) -> Run:
    return run_services.submit(
        track=scene.track,
        team=scene.ours,
        by=scene.member,
        file=io.BytesIO(GOOD),
        file_name="run.tsv",
        declared=run_services.Declaration(kind="primary"),
    )


@pytest.fixture
def pool(scene: Scene, run: Run) -> Pool:
    pool = pool_services.request(
        track=scene.track, name="Pool 1", seed=7, depth={"primary": 2}, by=scene.organizer
    )
    assert pool.job is not None
    jobs.run(pool.job.pk)
    pool.refresh_from_db()
    return pool


@pytest.fixture
def as_() -> Callable[[Any], Client]:
    """Returns the browser of a user; None is a visitor."""

    def browser(user: Any) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    return browser


def upload(client: Client, scene: Scene, data: bytes, *, name: str = "run.tsv", **fields: Any) -> Any:
    form = {
        "team": scene.ours.pk,
        "kind": "primary",
        "tag": "",
        "made": "automatic",
        "uses": "both",
        "description": "",
        "action": "submit",
        "file": SimpleUploadedFile(name, data),
    } | fields
    headers = {"HX-Request": "true"} if fields.pop("htmx", False) else {}
    form.pop("htmx", None)
    return client.post(reverse("pooling:submit", args=[scene.track.slug]), form, headers=headers)


def team_address(scene: Scene) -> str:
    return reverse("pooling:team_runs", args=[scene.track.slug, scene.ours.pk])


# ---- who sees which runs; tests/test_access.py covers who may open each page

LOGIN, OK, NONE, FORBIDDEN = 302, 200, 404, 403


@pytest.mark.parametrize("name", ["withdraw", "new_pool", "submit"])
def test_nobody_changes_runs_and_pools_of_others(name: str, scene: Scene, run: Run, as_: Any) -> None:
    address = reverse(f"pooling:{name}", args=[run.pk if name == "withdraw" else scene.track.slug])

    for person in (scene.assessor, scene.stranger, None):
        assert as_(person).post(address).status_code in {NONE, FORBIDDEN, LOGIN}

    run.refresh_from_db()
    assert run.status == "submitted"
    assert not Pool.objects.exists()
    if name == "submit":
        refused = [as_(person).get(address).content.decode() for person in (scene.stranger, scene.assessor)]
        join = f'href="{reverse("participation:ask_to_join", args=[scene.track.slug])}">Take part<'
        assert [join in page for page in refused] == [True, False]


def test_team_sees_only_its_own_runs(scene: Scene, run: Run, as_: Any) -> None:
    run_services.submit(
        track=scene.track,
        team=scene.theirs,
        by=scene.other,
        file=io.BytesIO(run_bytes(tag="secret-run")),
        file_name="run.tsv",
        declared=run_services.Declaration(kind="primary"),
    )
    address = reverse("pooling:runs", args=[scene.track.slug])

    ours, every = (
        as_(person).get(address, follow=True).content.decode() for person in (scene.member, scene.organizer)
    )

    assert "run-1" in ours
    assert "secret-run" not in ours
    assert "secret-run" in every


def test_runs_of_all_teams_are_listed_by_team_and_place(scene: Scene, as_: Any) -> None:
    for person, team, tag in (
        (scene.other, scene.theirs, "a"),
        (scene.member, scene.ours, "z-first"),
        (scene.member, scene.ours, "b-second"),
    ):
        file, kind = io.BytesIO(run_bytes(tag=tag)), run_services.Declaration(kind="primary")
        run_services.submit(
            track=scene.track, team=team, by=person, file=file, file_name="run.tsv", declared=kind
        )

    page = as_(scene.organizer).get(reverse("pooling:runs", args=[scene.track.slug])).content.decode()

    assert re.findall(r'class="clamp" href="[^"]*" title="([^"]*)"', page) == ["z-first", "b-second", "a"]
    assert "sorted by team and place" in page


def test_withdrawn_run_stays_in_the_history_of_its_team(scene: Scene, run: Run, as_: Any) -> None:
    run_services.withdraw(run=run, by=scene.member)
    address = reverse("pooling:run", args=[run.pk])

    assert "Withdrawn" in as_(scene.member).get(address).content.decode()
    assert as_(scene.other).get(address).status_code == NONE
    assert "run-1" in as_(scene.member).get(team_address(scene)).content.decode()


def test_draft_track_is_hidden_from_its_teams(scene: Scene, run: Run, as_: Any) -> None:
    Track.objects.filter(pk=scene.track.pk).update(status=Track.Status.DRAFT)

    for name, argument in (("runs", scene.track.slug), ("run", run.pk), ("run_file", run.pk)):
        assert as_(scene.member).get(reverse(f"pooling:{name}", args=[argument])).status_code == NONE


def test_user_without_a_team_reads_what_to_do(scene: Scene, as_: Any) -> None:
    page = as_(scene.stranger).get(reverse("pooling:runs", args=[scene.track.slug])).content.decode()

    assert "You are not in a team of this track" in page
    assert "Request to join" in page


# ---- uploads


def test_broken_uploads_get_a_report_and_store_nothing(scene: Scene, as_: Any) -> None:
    """One file for each error; the reader's tests have all of them."""
    client, one_of_each = as_(scene.member), {broken.code: broken for broken in BROKEN.values()}

    pages = {
        code: upload(client, scene, broken.make(), name=broken.file_name)
        for code, broken in one_of_each.items()
    }
    empty = upload(client, scene, b"")

    for code, page in pages.items():
        assert page.status_code == 200, code
        assert "was not accepted" in page.content.decode(), code
        assert "Accepted: " in page.content.decode(), code
    assert "The submitted file is empty" in empty.content.decode()
    assert not Run.objects.exists()
    assert scene.files() == []


@pytest.mark.django_db(transaction=True)
def test_200_megabytes_of_one_line_get_a_report_through_a_real_server(
    scene: Scene, live_server: Any, as_: Any
) -> None:
    client = as_(scene.member)
    address = reverse("pooling:submit", args=[scene.track.slug])
    client.get(address)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    fields = {
        "team": scene.ours.pk,
        "kind": "primary",
        "made": "automatic",
        "uses": "both",
        "action": "submit",
    }
    fields["csrfmiddlewaretoken"] = client.cookies["csrftoken"].value
    parts = [f'--cut\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
    head = "".join(parts) + '--cut\r\nContent-Disposition: form-data; name="file"; filename="run.tsv"\r\n\r\n'
    tail = b"\r\n--cut--\r\n"
    megabyte = b"x" * (1 << 20)
    connection = http.client.HTTPConnection(live_server.thread.host, live_server.thread.port, timeout=60)

    connection.putrequest("POST", address)
    connection.putheader("Cookie", cookies)
    connection.putheader("Content-Type", "multipart/form-data; boundary=cut")
    connection.putheader("Content-Length", str(len(head) + 200 * len(megabyte) + len(tail)))
    connection.endheaders(head.encode())
    for _ in range(200):
        connection.send(megabyte)
    connection.send(tail)
    response = connection.getresponse()
    page = response.read().decode()
    connection.close()

    assert response.status == 200
    assert "the line has more than 4,096 bytes" in page
    assert not Run.objects.exists()
    assert scene.files() == []


def test_submission_page_links_the_page_with_the_command(scene: Scene, as_: Any) -> None:
    page = as_(scene.member).get(reverse("pooling:submit", args=[scene.track.slug])).content.decode()

    assert f'<a href="{reverse("pooling:programs", args=[scene.track.slug])}">For programs</a>' in page


def test_refused_upload_keeps_the_entered_fields(scene: Scene, as_: Any) -> None:
    response = upload(
        as_(scene.member), scene, b"no run", description="my long words", tag="mine", kind="alternate"
    )

    page, empty = (
        each.content.decode() for each in (response, as_(scene.member).get(response.request["PATH_INFO"]))
    )
    assert "my long words" in page
    assert '<details class="run-description" open>' in page
    assert '<details class="run-description">' in empty
    assert 'value="mine"' in page
    assert '<option value="alternate" selected' in page


def test_run_beyond_the_disk_limit_of_its_team_is_refused_with_limit_and_use(
    scene: Scene, run: Run, as_: Any, settings: Any
) -> None:
    settings.TEAM_MAX_BYTES = run.n_bytes + 100
    run_services.withdraw(run=run, by=scene.member)  # its files stay, so it counts

    page = upload(as_(scene.member), scene, GOOD).content.decode()
    theirs = upload(as_(scene.other), scene, GOOD, team=scene.theirs.pk, tag="theirs")
    Team.objects.filter(pk=scene.ours.pk).update(max_megabytes=1)
    ours = upload(as_(scene.member), scene, GOOD)

    assert run.n_bytes == sum(len(path.read_bytes()) for path in scene.files()) / 3
    assert "may use 3 kB on the disk. Its runs use 3 kB, and this one needs 3 kB." in page
    assert (theirs.status_code, ours.status_code) == (302, 302)


def test_unknown_topics_of_an_upload_are_named_with_those_of_the_track(scene: Scene, as_: Any) -> None:
    topics = sorted(scene.track.topics.values_list("code", flat=True))
    run = re.sub(rb"^\S+", b"Z.9", GOOD)

    page = upload(as_(scene.member), scene, run).content.decode()

    assert "unknown topic “Z.9”" in page
    assert f"The topics of the track ({len(topics)}), such as {', '.join(topics[:3])}." in page
    assert not Run.objects.exists()


def test_htmx_gets_only_the_report(scene: Scene, as_: Any) -> None:
    page = upload(as_(scene.member), scene, b"no run", htmx=True).content.decode()

    assert "expected 5 or 6 columns, got 2" in page
    assert "<html" not in page


def test_good_upload_leads_to_its_page(scene: Scene, as_: Any) -> None:
    response = upload(as_(scene.member), scene, GOOD)

    run = Run.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/runs/{run.pk}/")


def test_good_upload_by_htmx_leads_to_its_page(scene: Scene, as_: Any) -> None:
    response = upload(as_(scene.member), scene, GOOD, htmx=True)

    assert response["HX-Redirect"] == f"/runs/{Run.objects.get().pk}/"


def test_check_only_stores_nothing(scene: Scene, as_: Any) -> None:
    page = upload(as_(scene.member), scene, GOOD, action="check").content.decode()

    assert "can be submitted" in page
    assert not Run.objects.exists()


@pytest.mark.parametrize("action", ["check", "submit"])
def test_taken_tag_is_named_with_the_errors_of_the_file_and_not_its_owner(
    scene: Scene, run: Run, as_: Any, action: str
) -> None:
    bad = BROKEN["score NaN"].make()
    options: dict[str, Any] = {"action": action, "tag": "run-1"}

    theirs = upload(as_(scene.other), scene, bad, team=scene.theirs.pk, **options).content.decode()
    ours = upload(as_(scene.member), scene, bad, **options).content.decode()
    good = upload(as_(scene.member), scene, run_bytes(n=3), **options).content.decode()

    assert "The track already has a run with the tag run-1; choose another tag." in theirs
    assert "NaN" in theirs
    assert "Ours" not in theirs
    assert "Replace run-1" not in theirs
    verdict = {"check": "would not be accepted", "submit": "was not accepted"}[action]
    for page in (ours, theirs, good):
        assert verdict in page
        assert page.count('role="alert"') == 1
    for page in (ours, good):
        assert "Your team (Ours) already has a run with the tag run-1, submitted 20" in page
        assert "Replace run-1 with this file" in page
    assert "NaN" in ours
    assert Run.objects.count() == 1


def test_row_after_a_team_that_is_not_ours_asks_for_one(scene: Scene, as_: Any) -> None:
    second = {
        "kind": "primary",
        "made": "automatic",
        "uses": "both",
        "file": SimpleUploadedFile("2", run_bytes()),
    }
    more = {"row": ["2"]} | {f"2-{name}": value for name, value in second.items()}

    answer = upload(as_(scene.member), scene, run_bytes(tag="b"), team=scene.theirs.pk, **more)

    assert answer.status_code < 500
    assert "Choose the team." in answer.content.decode()
    assert not Run.objects.exists()


def test_offered_replacement_stores_the_run_in_the_place_of_the_earlier_one(
    scene: Scene, run: Run, as_: Any
) -> None:
    client, file = as_(scene.member), run_bytes(n=3, tag="run-1")
    more = {"row": ["2"], "2-kind": "primary", "2-file": SimpleUploadedFile("2", run_bytes(tag="c"))}

    page = client.get(run.get_absolute_url()).content.decode()
    form = client.get(reverse("pooling:submit", args=["arq"]), {"replaces": "run-1"}).content.decode()
    upload(client, scene, file, action="replace-1-run-1", **more)

    run.refresh_from_db()
    new = Run.objects.get(status="submitted")
    assert (run.status, run.withdrawn_by, new.tag) == ("withdrawn", scene.member, "run-1")
    assert new.priority == run.priority
    [event] = Event.objects.filter(action="run.withdrawn")
    assert event.details == {"team": "Ours", "replaced_by": "run-1"}
    assert "&amp;replaces=run-1" in page
    assert '<option value="run-1" selected>run-1 (Ours)</option>' in form


def test_run_is_replaced_or_nothing_changes(scene: Scene, run: Run, as_: Any) -> None:
    """The limits are those after the replacement."""
    protocol = StoredProtocol.objects.get(pk=scene.track.protocol_id)
    text = protocol.text.replace("depth = 50\n", "depth = 50\nmax_per_team = 1\n")
    StoredProtocol.objects.filter(pk=protocol.pk).update(text=text, digest="f" * 64)
    client, other = as_(scene.member), run_bytes(n=3, tag="other")

    beyond = upload(client, scene, other).content.decode()
    unknown = upload(client, scene, other, replaces="nothing").content.decode()
    bad = upload(client, scene, BROKEN["score NaN"].make(), replaces="run-1").content.decode()
    theirs = upload(as_(scene.other), scene, other, team=scene.theirs.pk, action="replace-1-run-1")
    run.refresh_from_db()
    is_kept = run.is_submitted
    accepted = upload(client, scene, other, replaces="run-1")
    make_deadline(scene.track, closes_at=-60)
    scene.track.refresh_from_db()
    late = upload(client, scene, GOOD, replaces="other").content.decode()

    assert "Ours already has 1 primary run, and ARQ accepts no more. Withdraw it first." in beyond
    assert "Replaces: Choose one of the list" in unknown
    assert "NaN" in bad
    assert "already has 1 primary run" not in bad
    assert "Theirs has no submitted run “run-1” to replace." in theirs.content.decode()
    assert is_kept
    assert accepted.status_code == 302
    run.refresh_from_db()
    assert (run.status, Run.objects.get(status="submitted").tag) == ("withdrawn", "other")
    assert "does not accept runs" in late


@pytest.mark.parametrize("action", ["check", "submit"])
def test_repeated_file_is_refused_with_the_first_run(scene: Scene, run: Run, as_: Any, action: str) -> None:
    page = upload(as_(scene.member), scene, GOOD, action=action, tag="other").content.decode()

    assert "Your team already submitted this file as run-1" in page
    assert Run.objects.count() == 1


def test_repaired_file_is_offered_and_downloaded(scene: Scene, as_: Any) -> None:
    data = GOOD.replace(b"\n", b"\r\n")

    page = upload(as_(scene.member), scene, data, action="check").content.decode()
    response = upload(as_(scene.member), scene, data, action="repair")

    assert "Download the repaired file" in page
    assert "attachment" in response["Content-Disposition"]
    assert response.content.startswith(b"A.1\t101\t1\t9.875\trun-1\n")
    assert not Run.objects.exists()


def test_unrepairable_file_is_reported(scene: Scene, as_: Any) -> None:
    page = upload(as_(scene.member), scene, BROKEN["score NaN"].make(), action="repair").content.decode()

    assert "Nothing in this file can be repaired safely." in page


def several() -> dict[str, Any]:
    """Further rows of a submission: a bad file, a good one, and a row without a file."""
    rows: dict[str, Any] = {"row": ["2", "3", "4"], "4-kind": "primary"}
    for row, data in (("2", BROKEN["score NaN"].make()), ("3", run_bytes(tag="c"))):
        fields = {
            "kind": "alternate",
            "made": "manual",
            "uses": "math",
            "description": f"How {row} was made.",
        }
        rows |= {f"{row}-{name}": value for name, value in fields.items()}
        rows[f"{row}-file"] = SimpleUploadedFile(f"{row}.tsv", data)
    return rows


def test_each_of_several_files_has_its_own_answer(scene: Scene, as_: Any) -> None:
    client = as_(scene.member)

    page = upload(client, scene, GOOD, htmx=True, **several()).content.decode()
    again = upload(client, scene, GOOD, htmx=True, **several()).content.decode()

    assert page.count("was accepted</strong>") == 2
    assert "2.tsv was not accepted" in page
    assert {run.tag: (run.kind, run.is_manual, run.uses, run.description) for run in Run.objects.all()} == {
        "run-1": ("primary", False, "both", ""),
        "c": ("alternate", True, "math", "How 3 was made."),
    }
    assert again.count("already submitted this file") == 2


def test_each_row_of_an_organizer_has_its_team(scene: Scene, as_: Any) -> None:
    client = as_(scene.organizer)

    refused = upload(client, scene, GOOD, htmx=True, **several()).content.decode()
    accepted = upload(client, scene, GOOD, htmx=True, **several(), **{"3-team": scene.theirs.pk})

    assert "3.tsv was not accepted" in refused
    assert "Team: Make a choice." in refused
    assert 'data-field="id_3-team" data-message="Make a choice."' in refused
    assert "3.tsv was accepted" in accepted.content.decode()
    assert {run.tag: run.team for run in Run.objects.all()} == {"run-1": scene.ours, "c": scene.theirs}
    page = client.get(Run.objects.get(tag="c").get_absolute_url()).content.decode()
    assert f"{reverse('pooling:submit', args=[scene.track.slug])}?team={scene.theirs.pk}" in page
    assert "Submit another run" in page


def test_team_of_others_cannot_be_chosen(scene: Scene, as_: Any) -> None:
    page = upload(as_(scene.member), scene, GOOD, team=scene.theirs.pk).content.decode()

    assert "Choose one of the list" in page
    assert not Run.objects.exists()


def test_only_organizers_can_choose_a_baseline(scene: Scene, as_: Any) -> None:
    address = reverse("pooling:submit", args=[scene.track.slug])

    assert "baseline" not in as_(scene.member).get(address).content.decode()
    assert "baseline" in as_(scene.organizer).get(address).content.decode()


def test_closed_track_accepts_no_upload(scene: Scene, as_: Any) -> None:
    Track.objects.filter(pk=scene.track.pk).update(status=Track.Status.CLOSED)

    page = upload(as_(scene.member), scene, GOOD).content.decode()

    assert "does not accept runs: the track is closed" in page
    assert not Run.objects.exists()


def test_large_upload_is_a_file_on_disk(scene: Scene) -> None:
    large = TemporaryUploadedFile("run.tsv", "text/plain", 3 << 20, None)
    form = RunForm({}, {"file": large}, track=scene.track, user=scene.member)

    assert bytes_of(form.files["file"]) is large.file
    large.close()


def test_csrf_token_is_required(scene: Scene) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(scene.member)

    assert upload(client, scene, GOOD).status_code == FORBIDDEN
    assert not Run.objects.exists()


# ---- pages of runs


def test_downloaded_run_has_the_original_bytes(scene: Scene, as_: Any) -> None:
    data = b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n")
    upload(as_(scene.member), scene, data)

    response = as_(scene.member).get(reverse("pooling:run_file", args=[Run.objects.get().pk]))

    assert b"".join(response.streaming_content) == data
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == 'attachment; filename="run.tsv"'


def test_run_whose_file_is_lost_is_no_server_error(scene: Scene, run: Run, as_: Any) -> None:
    run.original.delete(save=False)
    client = as_(scene.member)
    client.raise_request_exception = False

    response = client.get(reverse("pooling:run_file", args=[run.pk]))

    assert (response.status_code, response["Retry-After"]) == (503, "30")
    assert "The storage does not answer, or a file is missing in it." in response.text


def test_withdrawal_asks_for_confirmation(scene: Scene, run: Run, as_: Any) -> None:
    client = as_(scene.member)
    address = reverse("pooling:withdraw", args=[run.pk])

    confirmation = client.get(address)
    run.refresh_from_db()
    assert (confirmation.status_code, run.status) == (OK, "submitted")
    client.post(address)

    run.refresh_from_db()
    assert run.status == "withdrawn"


@pytest.mark.parametrize("by_deadline", [False, True])
def test_withdrawal_after_the_close_is_a_conflict(
    scene: Scene, run: Run, as_: Any, *, by_deadline: bool
) -> None:
    Track.objects.filter(pk=scene.track.pk).update(
        status=Track.Status.CLOSED, is_closed_by_deadline=by_deadline
    )

    address = reverse("pooling:withdraw", args=[run.pk])
    question = as_(scene.member).get(address).content.decode()
    response = as_(scene.member).post(address)

    assert "Not possible" in question
    assert 'form="act"' not in question
    assert response.status_code == 409
    for page in (question, response.content.decode()):
        assert "Runs of ARQ can no longer be withdrawn: the track is closed." in page


def test_organizer_of_a_track_without_teams_creates_one_first(scene: Scene, as_: Any) -> None:
    track = make_track("new")

    response = as_(scene.organizer).get(reverse("pooling:submit", args=[track.slug]), follow=True)

    assert "Create a team below first: each run is the run of a team." in response.content.decode()
    assert response.redirect_chain[-1][0] == reverse("participation:people", args=[track.slug])


def test_submission_page_of_a_closed_track_has_no_form(scene: Scene, as_: Any) -> None:
    address = reverse("pooling:submit", args=[scene.track.slug])
    opened = as_(scene.member).get(address).content.decode()
    Track.objects.filter(pk=scene.track.pk).update(status=Track.Status.CLOSED)

    closed = as_(scene.member).get(address).content.decode()

    assert [page.count('id="run-form"') for page in (opened, closed)] == [1, 0]
    assert "You cannot submit runs now: the track is closed." in closed
    assert "Format of a run" in closed


def test_member_of_one_team_does_not_choose_it(scene: Scene, as_: Any) -> None:
    page = as_(scene.member).get(reverse("pooling:submit", args=[scene.track.slug])).content.decode()

    assert f'<input type="hidden" name="team" value="{scene.ours.pk}"' in page
    assert f"<strong>{scene.ours}</strong>" in page


def test_run_page_shows_its_warnings(scene: Scene, as_: Any) -> None:
    client = as_(scene.member)
    upload(client, scene, GOOD.replace(b"\n", b"\r\n"))

    page = client.get(f"/runs/{Run.objects.get().pk}/").content.decode()

    assert re.search(r'class="message warning"[^§]*is submitted for Ours, with 1 warning', page)
    assert "lines end with CR LF" in page


def test_runs_page_takes_few_queries(scene: Scene, as_: Any, django_assert_max_num_queries: Any) -> None:
    for i in range(6):
        run_services.submit(
            track=scene.track,
            team=scene.ours,
            by=scene.member,
            file=io.BytesIO(run_bytes(tag=f"run-{i}")),
            file_name="run.tsv",
            declared=run_services.Declaration(kind="primary"),
        )
    client = as_(scene.organizer)

    with django_assert_max_num_queries(11):
        client.get(reverse("pooling:runs", args=[scene.track.slug]))


def test_many_runs_are_listed_page_by_page_and_searched(
    scene: Scene, as_: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.pages.ROWS_ON_PAGE", 1)
    for tag in ("first", "second"):
        upload(as_(scene.member), scene, run_bytes(tag=tag), name=f"{tag}.tsv")
    address = reverse("pooling:runs", args=[scene.track.slug])

    def tags(query: str) -> list[str]:
        text = as_(scene.organizer).get(address + query).content.decode()
        return re.findall(r'class="run-name">\s*<a [^>]*>(\w+)<', text)

    first, second = tags("?page=all")
    page = as_(scene.organizer).get(address).content.decode()
    assert (tags(""), tags("?page=2")) == ([first], [second])
    assert 'href="?page=all">All 2 runs</a>' in page
    assert tags(f"?q={second.upper()}") == [second]
    assert "No run fits." in as_(scene.organizer).get(address + "?q=third").content.decode()


# ---- pages of pools


def test_pool_is_requested_in_the_browser(scene: Scene, run: Run, as_: Any) -> None:
    form = {"name": "Mine", "seed": "11", "depth_primary": "3", "depth_alternate": "0", "order": "random"}

    response = as_(scene.organizer).post(reverse("pooling:new_pool", args=[scene.track.slug]), form)

    pool = Pool.objects.get()
    assert response["Location"] == f"/pools/{pool.pk}/"
    assert (pool.seed, pool.depth, pool.status) == (11, {"primary": 3, "alternate": 0}, "building")


def test_run_after_the_pool_is_scored_but_not_pooled_and_its_team_reads_that(
    scene: Scene, run: Run, as_: Any
) -> None:
    client = as_(scene.member)
    places = [reverse("pooling:submit", args=[scene.track.slug]), team_address(scene)]
    places.append(scene.track.get_absolute_url())
    note = f"The pool was built on {timezone.now():%Y-%m-%d}. {{}} is scored but not pooled."

    before = [client.get(place).content.decode() for place in places]
    pool = pool_services.request(
        track=scene.track, name="Pool 1", seed=7, depth={"primary": 2}, by=scene.organizer
    )
    jobs.run(pool.job.pk)
    after = [client.get(place).content.decode() for place in places]
    upload(client, scene, GOOD.replace(b"run-1", b"late"), kind="alternate")
    late = Run.objects.exclude(pk=run.pk).get()
    api = [client.get(f"/api/v1/runs/{each.pk}/").json() for each in (run, late)]

    assert not [page for page in before if "not pooled" in page]
    assert not [page for page in after if note.format("A run submitted now") not in page]
    assert note.format("This run") in client.get(late.get_absolute_url()).content.decode()
    assert [each["pool_note"] for each in api] == ["", note.format("This run")]


def test_pool_form_shows_the_reason_of_a_refusal(scene: Scene, as_: Any) -> None:
    form = {"name": "Mine", "seed": "11", "depth_primary": "3", "depth_alternate": "0", "order": "random"}

    page = (
        as_(scene.organizer).post(reverse("pooling:new_pool", args=[scene.track.slug]), form).content.decode()
    )

    assert "has no runs to pool" in page
    assert 'value="11"' in page


def test_downloads_of_a_pool_have_its_entries_contributions_and_record(
    scene: Scene, pool: Pool, as_: Any
) -> None:
    client = as_(scene.organizer)

    tsv = client.get(f"/pools/{pool.pk}/pool.tsv").content
    contributions = client.get(f"/pools/{pool.pk}/contributions.tsv").getvalue()
    record = json.loads(client.get(f"/pools/{pool.pk}/record.json").content)

    assert sorted(line.split(b"\t")[1] for line in tsv.splitlines()) == [b"101"] * 3 + [b"102"] * 3
    assert contributions.splitlines()[0] == b"A.1\t101\tOurs\trun-1\t1"
    assert (record["seed"], record["sha256"], record["n"]) == (7, pool.sha256, 6)
    assert record["runs"][0]["sha256"] == Run.objects.get().sha256


def test_pool_page_shows_sizes_overlap_and_contributions(scene: Scene, pool: Pool, as_: Any) -> None:
    page = as_(scene.organizer).get(f"/pools/{pool.pk}/").content.decode()

    for text in (
        "Size by topic",
        "Overlap between runs",
        "Contributions of teams",
        pool.sha256,
        f"plot-pool-{pool.pk}",
    ):
        assert text in page


def test_unfinished_pool_has_no_files(scene: Scene, run: Run, as_: Any) -> None:
    waiting = pool_services.request(track=scene.track, name="P", seed=1, depth={}, by=scene.organizer)

    assert as_(scene.organizer).get(f"/pools/{waiting.pk}/").status_code == OK
    assert as_(scene.organizer).get(f"/pools/{waiting.pk}/pool.tsv").status_code == NONE


def test_empty_pages_explain_what_to_do(scene: Scene, as_: Any) -> None:
    runs = as_(scene.organizer).get(reverse("pooling:runs", args=[scene.track.slug])).content.decode()
    pools = as_(scene.organizer).get(reverse("pooling:pools", args=[scene.track.slug])).content.decode()

    assert "<h2>No runs yet</h2>" in runs
    assert "No pools yet" in pools


# ---- hostile text


def test_hostile_text_is_escaped_on_every_page(scene: Scene, as_: Any) -> None:
    team = team_services.create(track=scene.track, name=HOSTILE[:90], members=[scene.member])
    hostile_tag = HOSTILE.replace(" ", "/")[:90]
    run = run_services.submit(
        track=scene.track,
        team=team,
        by=scene.member,
        file=io.BytesIO(run_bytes(tag=hostile_tag).replace(b"\n", b"\r\n")),
        file_name=f"{HOSTILE}.tsv",
        declared=run_services.Declaration(kind="primary", description=HOSTILE),
    )
    pool = pool_services.request(track=scene.track, name=HOSTILE, seed=7, depth={}, by=scene.organizer)
    assert pool.job is not None
    client = as_(scene.organizer)
    addresses = [
        reverse("pooling:runs", args=[scene.track.slug]),
        reverse("pooling:submit", args=[scene.track.slug]),
        reverse("pooling:new_pool", args=[scene.track.slug]),
        reverse("pooling:pools", args=[scene.track.slug]),
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/withdraw/",
        f"/pools/{pool.pk}/",
        "/admin/pooling/run/",
        f"/admin/pooling/run/{run.pk}/change/",
        f"/admin/participation/team/{team.pk}/change/",
        "/admin/pooling/pool/",
    ]

    pages = [client.get(address).content.decode() for address in addresses]
    jobs.run(pool.job.pk)
    pages.append(client.get(f"/pools/{pool.pk}/").content.decode())
    pages.append(upload(client, scene, f"A.1 {HOSTILE}\n".encode()).content.decode())
    pages.append(upload(client, scene, run_bytes(), tag=hostile_tag, name=f"{HOSTILE}.tsv").content.decode())

    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page


def test_hostile_lines_are_shown_escaped(scene: Scene, as_: Any) -> None:
    page = upload(as_(scene.member), scene, b"A.1 <script>alert(1)</script>\n").content.decode()

    assert "A.1 &lt;script&gt;alert(1)&lt;/script&gt;" in page


# ---- the admin


def test_add_run_in_the_admin_leads_to_the_page_that_submits_runs(scene: Scene, as_: Any) -> None:
    response = as_(scene.organizer).get("/admin/pooling/run/add/")

    assert response.headers["Location"] == reverse("pooling:submit", args=[scene.track.slug])


def test_runs_are_not_edited_or_deleted_in_the_admin(scene: Scene, run: Run, as_: Any) -> None:
    client = as_(scene.organizer)

    assert client.post(f"/admin/pooling/run/{run.pk}/change/", {"tag": "x"}).status_code == FORBIDDEN
    assert client.post(f"/admin/pooling/run/{run.pk}/delete/", {"post": "yes"}).status_code == FORBIDDEN
    run.refresh_from_db()
    assert run.tag == "run-1"


def test_team_is_created_in_the_admin(scene: Scene, as_: Any) -> None:
    form = {"track": scene.track.pk, "name": "New", "members": [scene.stranger.pk]}

    response = as_(scene.organizer).post("/admin/participation/team/add/", form)

    assert response.status_code == 302
    assert list(scene.track.teams.get(name="New").members.all()) == [scene.stranger]


def test_admin_keeps_assessors_out_of_teams(scene: Scene, as_: Any) -> None:
    form = {"track": scene.track.pk, "name": "New", "members": [scene.assessor.pk]}

    page = as_(scene.organizer).post("/admin/participation/team/add/", form).content.decode()
    change = as_(scene.organizer).post(
        f"/admin/participation/team/{scene.ours.pk}/change/", {"name": "Ours", "members": [scene.assessor.pk]}
    )

    assert "jane is an assessor of ARQ" in page
    assert "jane is an assessor of ARQ" in change.content.decode()
    assert not scene.track.teams.filter(name="New").exists()


def test_team_is_renamed_and_changed_in_the_admin(scene: Scene, as_: Any) -> None:
    person = make_user("eve")

    response = as_(scene.organizer).post(
        f"/admin/participation/team/{scene.ours.pk}/change/",
        {"name": "Renamed", "members": [scene.member.pk, person.pk]},
    )

    scene.ours.refresh_from_db()
    assert response.status_code == 302
    assert (scene.ours.name, scene.ours.members.count()) == ("Renamed", 2)


def test_admin_lists_take_few_queries(
    scene: Scene, run: Run, pool: Pool, as_: Any, django_assert_max_num_queries: Any
) -> None:
    client = as_(scene.organizer)

    for name in ("pooling/run", "participation/team", "pooling/pool"):
        with django_assert_max_num_queries(12):
            assert client.get(f"/admin/{name}/").status_code == OK
