"""A campaign from an empty site to the release takes few clicks: the walk of `maintenance.campaign_walk`."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from playwright.sync_api import Page

from accounts.models import User
from assessment.judging import services as task_services
from assessment.models import Batch
from jobs import services as jobs
from jobs.models import Job
from maintenance.campaign_walk import Files, Organizer, walk
from participation.models import Team
from pooling.runs import services as run_services
from scoring.models import Leaderboard
from tests.helpers.browser import log_in
from tests.helpers.factories import make_organizer
from tests.helpers.judging import judge
from tracks.models import Track
from tracks.protocols import services as protocol_services

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.nightly]

MOST_CLICKS, MOST_TYPED = 44, 7  # 42 and 5 when this was set
N_TEAMS, N_ASSESSORS, N_DOCUMENTS = 8, 4, 12
TOPICS = [f"A.{n}" for n in range(1, 13)]


class Others:
    """Teams, assessors and workers, who use services. Only the first assessor finds everything highly relevant."""

    def __init__(self, organizer: User) -> None:
        self.organizer = organizer

    def work(self) -> None:
        for job in Job.objects.filter(state=Job.State.QUEUED).order_by("pk"):
            jobs.run(job.pk)
            job.refresh_from_db()
            assert job.state == Job.State.DONE, job.error

    def submit_runs(self) -> None:
        track = Track.objects.get()
        for shift, team in enumerate(Team.objects.order_by("pk")):
            tag = f"run-{shift}"
            docnos = [str((shift + place) % N_DOCUMENTS + 1) for place in range(3)]
            lines = [
                f"{code}\t{docno}\t{rank}\t{10 - rank}\t{tag}\n"
                for code in TOPICS
                for rank, docno in enumerate(docnos, 1)
            ]
            run_services.submit(
                track=track,
                team=team,
                by=self.organizer,
                file=BytesIO("".join(lines).encode()),
                file_name=f"{tag}.tsv",
                declared=run_services.Declaration(kind="primary"),
            )

    def judge(self) -> None:
        for batch in Batch.objects.filter(status=Batch.Status.OPEN):
            for assessor in User.objects.filter(topic_assignments__batch=batch).distinct():
                choice = "high" if assessor.username == "assessor-1" else "low"
                while task := task_services.accept_next(batch=batch, assessor=assessor):
                    judge(task, choice, seconds=5)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    documents, topics = tmp_path / "documents.jsonl", tmp_path / "topics.jsonl"
    rows = [{"docno": "1000", "title": "How?", "text": "A question.", "kind": "question", "thread": "1000"}]
    rows += [
        {"docno": str(n), "text": f"Answer {n}.", "kind": "answer", "thread": "1000"}
        for n in range(1, N_DOCUMENTS + 1)
    ]
    documents.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    topics.write_text(
        "".join(json.dumps({"code": code, "title": f"Question {code}"}) + "\n" for code in TOPICS)
    )
    people = [f"Assessor {n}; assessor-{n}@example.org; assessor" for n in range(1, N_ASSESSORS + 1)]
    people += [f"Contact {n}; contact-{n}@example.org; contact; Team {n}" for n in range(1, N_TEAMS + 1)]
    return Files(documents, topics, "\n".join(people), len(people))


def test_campaign_from_zero_takes_few_clicks(
    files: Files,
    live_server: object,
    new_page: Callable[..., Page],
    settings: LazySettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    protocol_services.load_shipped()
    user = make_organizer("olga")
    organizer = Organizer(new_page(), str(live_server))
    log_in(organizer.page, organizer.site, user)

    try:
        walk(organizer, files, Others(user))
    finally:
        print(organizer.report())  # noqa: T201 - the list that the command shows

    assert Leaderboard.objects.get().release == "public"
    assert len(organizer.clicks) <= MOST_CLICKS
    assert len(organizer.typed) <= MOST_TYPED
