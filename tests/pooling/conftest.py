"""The scene of most tests of runs: a track with three topics and a collection, two teams, and users of all roles."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.core.cache import cache
from playwright.sync_api import Page

from accounts.models import User
from assay.formats.declaration import STATEMENTS
from jobs import services as jobs
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Run
from pooling.runs import services as run_services
from tests.helpers.browser import log_in
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.remembered import remembered
from tests.helpers.runs import TOPICS
from tracks.models import Track


@dataclass
class Scene:
    """`ours` and `theirs` are teams of one member each. The stranger is in no team."""

    track: Track
    ours: Team
    theirs: Team
    member: User
    other: User
    organizer: User
    assessor: User
    stranger: User
    answers: list[str]

    @property
    def folder(self) -> Path:
        """The folder of this test's files."""
        return Path(settings.MEDIA_ROOT)

    def files(self) -> list[Path]:
        """All stored files."""
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def submit(self, path: Path, **options: Any) -> Run:
        """Submit a file for our team as its member."""
        declared = run_services.Declaration(
            **({"kind": "primary"} | {k: options.pop(k) for k in list(options) if k in STATEMENTS})
        )
        options = {"track": self.track, "team": self.ours, "by": self.member} | options
        with path.open("rb") as file:
            return run_services.submit(file=file, file_name=path.name, declared=declared, **options)


@remembered
def build_scene() -> Scene:
    track = make_track("arq", name="ARQ")
    for code in TOPICS:
        make_topic(track, code)
    assert track.collection is not None
    question = make_document(track.collection, "1")
    answers = [make_answer(question, str(docno)).docno for docno in range(101, 141)]
    member, other = make_user("ada"), make_user("bob")
    ours = team_services.create(track=track, name="Ours", members=[member])
    theirs = team_services.create(track=track, name="Theirs", members=[other])
    return Scene(
        track=track,
        ours=ours,
        theirs=theirs,
        member=member,
        other=other,
        organizer=make_organizer("olga"),
        assessor=make_assessor(track, "jane"),
        stranger=make_user("sam"),
        answers=answers,
    )


@pytest.fixture
def folder(tmp_path: Path, settings: LazySettings) -> Path:
    """The folder of this test's files."""
    path = tmp_path / "files"
    settings.MEDIA_ROOT = path
    return path


@pytest.fixture
def scene(db: None, folder: Path) -> Scene:
    return build_scene()


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests run their jobs themselves, without a worker. No request counts towards the limits of the next test."""
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    cache.clear()


@pytest.fixture
def enter(live_server: Any, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Logs a user in and returns their page."""
    settled = {"base_url": live_server.url, "reduced_motion": "reduce"}  # no color changes during a check

    def open_page(user: User, **options: Any) -> Page:
        page = new_page(**settled, **options)
        log_in(page, live_server.url, user)
        return page

    return open_page
