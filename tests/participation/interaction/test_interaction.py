"""The interaction of BOLT: nominations, sessions with a clock, logs, data and the run that follows."""

import io
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.mail import letters
from accounts.models import Event, Letter, User
from assay.errors import Refused
from participation.interaction import services
from participation.models import Nomination, Team
from participation.teams import services as team_services
from pooling.errors import SubmissionRefused
from pooling.interaction import progress_of
from pooling.models import Run
from pooling.runs import services as run_services
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.form_runs import bolt_run
from tests.helpers.letters import deliver_at_once
from tracks.assessors import services as assessor_services
from tracks.checklist.selectors import checklist
from tracks.models import Track

pytestmark = pytest.mark.django_db
PAGE = "https://owls.example.org/search?topic={topic}"


@dataclass
class Scene:
    """A track of BOLT with four topics, two teams, and two assessors."""

    track: Track
    owls: Team
    olive: User
    eve: User
    ada: User
    emmy: User
    olga: User

    def post(self, user: User, name: str, *args: Any, **fields: Any) -> Any:
        client = Client()
        client.force_login(user)
        return client.post(reverse(f"participation:{name}", args=args), fields)

    def get(self, user: User, name: str, *args: Any) -> Any:
        client = Client()
        client.force_login(user)
        return client.get(reverse(f"participation:{name}", args=args))

    def planned(self, *codes: str, n: int = 1) -> Nomination:
        """The first of `n` sessions that Ada shall hold."""
        services.nominate(team=self.owls, codes=codes or ("T2", "T1"), by=self.olive)
        services.set_address(team=self.owls, address=PAGE, by=self.olive, site="https://assay.example.org")
        services.plan(team=self.owls, n=n, assessor=self.ada, by=self.olga)
        return self.owls.nominations.get(place=1)

    def submit(self, kind: str) -> Run:
        return run_services.submit(
            track=self.track,
            team=self.owls,
            by=self.olive,
            file=io.BytesIO(bolt_run('run="evaluation"', f'run="{kind}"')),
            file_name="run.xml",
            declared=run_services.Declaration(kind=kind),
        )


@pytest.fixture
def scene(folder: Path) -> Scene:
    track = make_track("forum", protocol="bolt-ir-p3", collection=None)
    for code in ("T1", "T2", "T3", "T4"):
        make_topic(track, code)
    olive, eve = make_user("olive"), make_user("eve")
    owls = team_services.create(track=track, name="Owls", members=[olive])
    team_services.create(track=track, name="Hawks", members=[eve])
    ada, emmy = make_assessor(track, "ada"), make_assessor(track, "emmy")
    return Scene(track, owls, olive, eve, ada, emmy, make_organizer("olga"))


def test_a_team_ranks_its_topics_and_only_the_team_and_organizers_see_them(scene: Scene) -> None:
    answer = scene.post(scene.olive, "nominate", scene.owls.pk, topics="T3, T1\nT4")

    assert answer.url == reverse("participation:interaction", args=["forum"])
    assert list(scene.owls.nominations.values_list("place", "topic__code")) == [
        (1, "T3"),
        (2, "T1"),
        (3, "T4"),
    ]
    for person in (scene.olive, scene.olga):
        assert "Nominations of Owls" in scene.get(person, "interaction", "forum").content.decode()
    assert "Owls" not in scene.get(scene.eve, "interaction", "forum").content.decode()
    assert scene.get(scene.ada, "interaction", "forum").status_code == 404
    assert scene.post(scene.eve, "nominate", scene.owls.pk, topics="T1").status_code == 404


@pytest.mark.parametrize(
    ("topics", "reason"),
    [
        ("T1 T9", "does not have the topics T9."),
        ("T1 T2 T1", "Name each topic once; repeated: T1."),
        ("", "Topics: Fill in this field."),
    ],
)
def test_wrong_nominations_are_refused(scene: Scene, topics: str, reason: str) -> None:
    assert reason in scene.post(scene.olive, "nominate", scene.owls.pk, topics=topics).content.decode()
    assert not Nomination.objects.exists()


def test_nominations_stay_once_sessions_are_planned_or_runs_are_closed(scene: Scene) -> None:
    scene.planned()

    with pytest.raises(Refused, match="planned or held"):
        services.nominate(team=scene.owls, codes=["T3"], by=scene.olive)
    Track.objects.update(status=Track.Status.CLOSED)
    with pytest.raises(Refused, match="nominated while runs are accepted"):
        services.nominate(team=scene.owls, codes=["T3"], by=scene.olive)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://owls.example.org/", "not encrypted"),
        ("https://assay.example.org/tracks/", "another host than this site"),
        ("https://ASSAY.example.org.:8443/", "another host than this site"),
        ("https://user:x@owls.example.org/", "is not accepted"),
        ("https://*;script-src *", "is not accepted"),
        ("javascript:alert(1)", "not encrypted"),
    ],
)
def test_a_page_must_be_on_another_encrypted_host(scene: Scene, address: str, reason: str) -> None:
    site = "https://assay.example.org"

    with pytest.raises(Refused, match=reason):
        services.set_address(team=scene.owls, address=address, by=scene.olive, site=site)


def test_the_page_has_as_many_queries_for_many_teams(scene: Scene) -> None:
    client = Client()
    client.force_login(scene.olga)
    client.get(reverse("participation:interaction", args=["forum"]))  # fills caches
    counts = []
    for n in range(2):
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("participation:interaction", args=["forum"]))
        counts.append(len(queries))
        for name in ("A", "B", "C"):
            team = team_services.create(track=scene.track, name=f"{name}{n}", members=[])
            services.nominate(team=team, codes=["T1", "T2"], by=scene.olga)

    assert counts[0] == counts[1]


def test_organizers_plan_the_preferred_topics_first(scene: Scene) -> None:
    services.nominate(team=scene.owls, codes=["T3", "T1", "T2"], by=scene.olive)

    refused = scene.post(scene.olive, "plan_sessions", scene.owls.pk, assessor=scene.ada.pk, n=2)
    scene.post(scene.olga, "plan_sessions", scene.owls.pk, assessor=scene.ada.pk, n=2)

    assert refused.status_code == 403
    planned = scene.owls.nominations.filter(assessor=scene.ada).order_by("place")
    assert [each.topic.code for each in planned] == ["T3", "T1"]
    assert Event.objects.filter(action="sessions.planned").count() == 1


def _desk(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse("assessment:mine")).content.decode()


def test_organizers_take_back_a_session_that_was_not_started(scene: Scene) -> None:
    first = scene.planned("T3", "T1", n=2)
    second = scene.owls.nominations.get(place=2)
    services.start(nomination=first, by=scene.ada)

    assert "1 session of the interaction" in _desk(scene.ada)
    forbidden = scene.post(scene.ada, "take_back_session", second.pk)
    too_late = scene.post(scene.olga, "take_back_session", first.pk)
    scene.post(scene.olga, "take_back_session", second.pk)
    scene.post(scene.olga, "plan_sessions", scene.owls.pk, assessor=scene.emmy.pk, n=5)

    assert forbidden.status_code == 403
    assert "that of Owls on T3 is running." in too_late.content.decode()
    held_by = scene.owls.nominations.order_by("place").values_list("assessor__username", flat=True)
    assert list(held_by) == ["ada", "emmy"]
    assert "of the interaction" not in _desk(scene.ada)
    assert Event.objects.get(action="session.taken-back").details == {"assessor": "ada", "topic": "T1"}


def test_sessions_of_a_removed_assessor_are_taken_back_or_stay(scene: Scene) -> None:
    first = scene.planned("T3", "T1", n=2)
    services.start(nomination=first, by=scene.ada)
    services.end(nomination=first, by=scene.ada)
    hawks = scene.track.teams.get(name="Hawks")
    services.nominate(team=hawks, codes=["T1"], by=scene.eve)
    services.plan(team=hawks, n=1, assessor=scene.emmy, by=scene.olga)

    for user in (scene.ada, scene.emmy):
        assessor_services.remove(track=scene.track, user=user, by=scene.olga)

    sessions = Nomination.objects.order_by("team__name", "place").values_list(
        "team__name", "assessor__username"
    )
    assert list(sessions) == [("Hawks", None), ("Owls", "ada"), ("Owls", None)]
    assert list(scene.track.assessors.values_list("user__username", flat=True)) == ["ada"]


def test_a_session_shows_the_page_of_the_team_only_while_it_runs(scene: Scene) -> None:
    session = scene.planned()
    before = scene.get(scene.ada, "session", session.pk)
    scene.post(scene.ada, "start_session", session.pk)
    during = scene.get(scene.ada, "session", session.pk)
    organizer = scene.get(scene.olga, "session", session.pk)
    scene.post(scene.ada, "end_session", session.pk)
    after = scene.get(scene.ada, "session", session.pk)

    policy = during.headers["Content-Security-Policy"]
    assert "frame-src https://owls.example.org;" in f"{policy};"
    assert 'src="https://owls.example.org/search?topic=T2"' in during.content.decode()
    assert 'sandbox="allow-scripts allow-forms allow-same-origin"' in during.content.decode()
    for page in (before, organizer, after):
        assert "<iframe" not in page.content.decode()
        assert "frame-src" not in page.headers["Content-Security-Policy"]
    session.refresh_from_db()
    assert session.ended_at is not None
    again = scene.post(scene.ada, "start_session", session.pk)
    assert (again.status_code, "Each topic has one session." in again.content.decode()) == (409, True)


def test_an_assessor_practices_once_before_the_first_session_with_a_system(scene: Scene) -> None:
    session = scene.planned("T2", "T1", n=2)
    second = scene.owls.nominations.get(place=2)

    assert scene.post(scene.emmy, "practice_session", session.pk).status_code == 404
    scene.post(scene.ada, "practice_session", session.pk)
    during = scene.get(scene.ada, "session", session.pk)
    scene.post(scene.ada, "end_session", session.pk)
    after = scene.get(scene.ada, "session", session.pk)
    again = scene.post(scene.ada, "practice_session", second.pk)

    assert 'src="https://owls.example.org/search?topic=practice"' in during.content.decode()
    assert "frame-src https://owls.example.org;" in f"{during.headers['Content-Security-Policy']};"
    assert "of 120 seconds left" in during.content.decode()
    assert "<iframe" not in after.content.decode()
    assert "Start the session" in after.content.decode()
    assert "Practice first" not in after.content.decode()
    assert (again.status_code, "You practice once" in again.content.decode()) == (409, True)
    scene.post(scene.ada, "start_session", session.pk)
    assert "search?topic=T2" in scene.get(scene.ada, "session", session.pk).content.decode()


def test_sessions_start_in_their_window(scene: Scene) -> None:
    services.nominate(team=scene.owls, codes=["T2"], by=scene.olive)
    services.set_address(team=scene.owls, address=PAGE, by=scene.olive, site="https://assay.example.org")
    form: dict[str, Any] = {"assessor": scene.ada.pk, "n": 1, "opens_at": "2031-05-01T10:00"}

    wrong = scene.post(scene.olga, "plan_sessions", scene.owls.pk, **form, closes_at="2031-05-01T09:00")
    scene.post(scene.olga, "plan_sessions", scene.owls.pk, **form, closes_at="2031-05-01T12:00")
    session = scene.owls.nominations.get()
    early = scene.post(scene.ada, "start_session", session.pk)

    assert "would end before they can start" in wrong.content.decode()
    assert early.status_code == 409
    window = "This session can start from 2031-05-01 10:00 UTC until 2031-05-01 12:00 UTC."
    assert window in early.content.decode()
    assert "2031-05-01 10:00 UTC" in scene.get(scene.olive, "interaction", "forum").content.decode()
    (row,) = api(scene.olga).get("/api/v1/tracks/forum/sessions/").json()["results"]
    assert (row["opens_at"], row["closes_at"]) == ("2031-05-01T10:00:00Z", "2031-05-01T12:00:00Z")
    Nomination.objects.update(opens_at=timezone.now() - timedelta(hours=1))
    assert scene.post(scene.ada, "start_session", session.pk).status_code == 302


def test_only_the_assessor_of_a_session_holds_it(scene: Scene) -> None:
    session = scene.planned()

    assert scene.get(scene.emmy, "session", session.pk).status_code == 404
    assert scene.get(scene.olive, "session", session.pk).status_code == 404
    assert scene.post(scene.olga, "start_session", session.pk).status_code == 409
    assert "Your sessions" in scene.get(scene.ada, "interaction", "forum").content.decode()


def test_an_assessor_holds_one_session_at_a_time(scene: Scene) -> None:
    first = scene.planned(n=2)
    second = scene.owls.nominations.get(place=2)
    services.start(nomination=first, by=scene.ada)

    with pytest.raises(Refused, match="Another session of yours runs"):
        services.start(nomination=second, by=scene.ada)
    Nomination.objects.filter(pk=first.pk).update(started_at=_earlier(first, 200))
    services.start(nomination=second, by=scene.ada)

    first.refresh_from_db()
    assert first.started_at is not None
    assert first.ended_at == first.started_at + timedelta(seconds=120)


def _earlier(session: Nomination, seconds: int) -> Any:
    session.refresh_from_db()
    assert session.started_at is not None
    return session.started_at - timedelta(seconds=seconds)


def test_the_site_ends_a_session_after_the_seconds_of_the_protocol(scene: Scene) -> None:
    session = scene.planned()
    services.start(nomination=session, by=scene.ada)
    Nomination.objects.filter(pk=session.pk).update(started_at=_earlier(session, 3000))

    page = scene.get(scene.ada, "session", session.pk)
    scene.post(scene.ada, "end_session", session.pk)

    assert "It took 120.0 seconds." in page.content.decode()
    assert "<iframe" not in page.content.decode()
    (row, _) = api(scene.olga).get("/api/v1/tracks/forum/sessions/").json()["results"]
    assert (row["topic"], row["status"], row["seconds"]) == ("T2", "held", 120.0)


def upload(text: bytes, name: str = "log.txt") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text)


def test_a_time_log_takes_the_place_of_sessions(scene: Scene) -> None:
    scene.planned("T2", "T1", "T3")  # T2 is Ada's

    def send(text: bytes) -> str:
        answer = scene.post(scene.olive, "log_sessions", scene.owls.pk, file=upload(text))
        return str(answer.content.decode())

    assert "line 2: topic “T3” took 120.5 seconds" in send(b"T1 5\nT3 120.5\n")
    assert "line 1: “-5” is not a number of seconds" in send(b"T1 -5\n")
    assert "line 2: the topic already has a line" in send(b"T1 5\nT1 6\n")
    assert "did not nominate the topics T4" in send(b"T4 5\n")
    assert "The topics T2 have sessions on this site" in send(b"T2 5\n")
    send(b"T1 87.5\nT3 120\n")

    seconds = scene.owls.nominations.order_by("place").values_list("logged_seconds", flat=True)
    assert list(seconds) == [None, 87.5, 120.0]
    assert "the team, by its log" in scene.get(scene.olga, "interaction", "forum").content.decode()


def test_the_run_and_the_data_follow_the_interaction(scene: Scene) -> None:
    services.nominate(team=scene.owls, codes=["T1"], by=scene.olive)

    with pytest.raises(SubmissionRefused, match="Owls had no session yet"):
        scene.submit("post-interaction")
    too_early = scene.post(scene.olive, "interaction_data", scene.owls.pk, file=upload(b"{}", "data.json"))
    services.log(team=scene.owls, file=io.BytesIO(b"T1 60\n"), by=scene.olive)
    Nomination.objects.create(team=scene.owls, topic=scene.track.topics.get(code="T4"), place=2)
    services.log(team=scene.owls, file=io.BytesIO(b"T4 30\n"), by=scene.olive)
    with pytest.raises(
        SubmissionRefused, match="The run omits T4: a run of the kind post-interaction has every"
    ):
        scene.submit("post-interaction")
    Nomination.objects.filter(place=2).delete()
    run = scene.submit("post-interaction")
    scene.post(scene.olive, "interaction_data", scene.owls.pk, file=upload(b"{}", "data.json"))
    scene.post(scene.olive, "interaction_data", scene.owls.pk, file=upload(b"[1]", "more.json"))

    assert run.kind == "post-interaction"
    assert "the data follow the sessions" in too_early.content.decode()
    sent = scene.get(scene.olga, "interaction_file", scene.owls.pk)
    assert b"".join(sent.streaming_content) == b"[1]"
    assert 'filename="more.json"' in sent.headers["Content-Disposition"]
    assert scene.get(scene.eve, "interaction_file", scene.owls.pk).status_code == 404


def test_checklist_leads_through_the_interaction(scene: Scene) -> None:
    def points() -> dict[str, tuple[str, bool, bool]]:
        listed = [point for phase in checklist(scene.track).phases for point in phase.points]
        return {point.label: (point.state, point.is_done, bool(point.problems)) for point in listed}

    assert points()["Nominations"] == ("none yet", False, False)
    services.nominate(team=scene.owls, codes=["T2", "T1"], by=scene.olive)
    services.plan(team=scene.owls, n=1, assessor=scene.ada, by=scene.olga)
    assert points()["Nominations"] == ("2 topics of 1 team", True, False)
    assert points()["Sessions"] == ("0 held, 1 planned", False, True)  # the team has no page yet
    assert points()["Data of the sessions"] == ("after the sessions", False, False)
    Nomination.objects.filter(place=1).update(assessor=None, logged_seconds=20)
    assert points()["Sessions"] == ("1 held, 0 planned", True, False)
    assert points()["Data of the sessions"] == ("0 of 1 team with sessions", False, True)
    services.store_data(team=scene.owls, file=io.BytesIO(b"[]"), file_name="a.json", by=scene.olive)
    scene.submit("post-interaction")
    assert points()["Data of the sessions"] == ("1 of 1 team with sessions", True, False)
    assert points()["Runs after the interaction"] == ("1 of 1 team with sessions", True, False)
    client = Client()
    client.force_login(scene.olga)
    assert "Runs after the interaction" in client.get(scene.track.get_absolute_url()).content.decode()
    with CaptureQueriesContext(connection) as few:
        progress_of(scene.track)
    for number in range(5):
        team_services.create(track=scene.track, name=f"Mice {number}", members=[])
        team = Team.objects.get(name=f"Mice {number}")
        Nomination.objects.create(team=team, topic=scene.track.topics.get(code="T3"), place=1)
    with CaptureQueriesContext(connection) as many:
        progress_of(scene.track)
    assert len(few) == len(many)


def test_members_who_chose_e_mails_get_one_for_planned_sessions_and_one_after_the_last(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.filter(pk=scene.olive.pk).update(email="olive@example.org", is_mailed_about_runs=True)
    deliver_at_once(settings, monkeypatch)

    def due() -> list[str]:
        mail.outbox.clear()
        Letter.objects.exclude(due_at=None).update(due_at=timezone.now())
        letters.send_due()
        return [letter.body.partition("\n")[0] for letter in mail.outbox]

    session = scene.planned("T2", "T1", n=2)
    assert [letter.subject for letter in mail.outbox] == ["Assay: Owls: sessions of the interaction"]
    assert "at most 120 seconds for each topic.\n\nTopics: T2, T1\n" in mail.outbox[0].body

    services.start(nomination=session, by=scene.ada)
    services.end(nomination=session, by=scene.ada)
    assert due() == []  # T1 is still planned
    last = services.start(nomination=scene.owls.nominations.get(place=2), by=scene.ada)
    Nomination.objects.filter(pk=session.pk).update(started_at=_earlier(session, 900))
    Nomination.objects.filter(pk=last.pk).update(started_at=_earlier(last, 300))  # nobody ends it
    assert due() == ["All planned sessions with the system of Owls in forum are over."]


def test_a_track_without_interaction_has_no_such_page(scene: Scene) -> None:
    track = make_track("plain")

    assert scene.get(scene.olga, "interaction", track.slug).status_code == 404
    assert "Interaction" not in Client().get(track.get_absolute_url()).content.decode()


def test_sessions_are_prepared_through_the_api(scene: Scene) -> None:
    olive, olga, team = api(scene.olive), api(scene.olga), scene.owls.pk

    def ask(client: Client, method: str, name: str, argument: int, **data: Any) -> Any:
        return call(client, method, name, argument, data=data)

    ask(olive, "PUT", "nominations", team, topics=["T2", "T1"])
    unknown = ask(olive, "PUT", "nominations", team, topics=["T9"])
    page = ask(olive, "PUT", "system", team, address=PAGE)
    forbidden = ask(olive, "POST", "plan_sessions", team, assessor="ada", n=1)
    nobody = ask(olga, "POST", "plan_sessions", team, assessor="zoe", n=1)
    planned = ask(olga, "POST", "plan_sessions", team, assessor="ada", n=1)
    file = SimpleUploadedFile("log.txt", b"T1 60\n")
    logged = olive.post(reverse("api:log_sessions", args=[team]), {"file": file})

    assert (page.status_code, page.json()) == (200, {"address": PAGE})
    assert (unknown.status_code, forbidden.status_code, nobody.status_code) == (409, 403, 400)
    assert [(row["topic"], row["status"]) for row in planned.json()["results"]] == [
        ("T2", "planned"),
        ("T1", "nominated"),
    ]
    assert [row["seconds"] for row in logged.json()["results"]] == [None, 60]
    ask(olga, "POST", "take_back_session", planned.json()["results"][0]["id"])
    assert (
        olga.get(reverse("api:sessions", args=[scene.track.slug])).json()["results"][0]["status"]
        == "nominated"
    )
    assert call(olive, "GET", "session_data", team).status_code == 404
    file = SimpleUploadedFile("data.zip", b"logs")
    assert olive.post(reverse("api:session_data", args=[team]), {"file": file}).status_code == 204
    assert b"".join(call(olive, "GET", "session_data", team).streaming_content) == b"logs"
