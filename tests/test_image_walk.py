"""A track of images for arguments, as Touché 2025, from its images to the public leaderboard in Chromium."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import LazySettings
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from accounts.models import User
from assessment.models import Judgment, Task
from jobs import services as jobs
from maintenance.campaign_walk import BATCH, Files, Organizer, create_track, import_collection
from tests.helpers.browser import assert_accessible, log_in
from tests.helpers.factories import make_organizer
from tests.helpers.walks import Walk
from tracks.models import Track
from tracks.protocols import services as protocol_services

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.nightly]

ARGUMENTS = {
    "1-1": ("Wind turbines harm birds, so they should be banned.", "wind turbines", "birds that are hurt"),
    "2-1": ("Bicycles make cities quiet, so streets should be theirs.", "bicycles", "a quiet street"),
}
SIZES = (
    (640, 420),
    (420, 640),
    (900, 300),
    (320, 320),
    (1200, 900),
    (300, 900),
)  # of the images of an argument
RUNS = {"harbor": (1, 2, 3, 4, 5), "meadow": (6, 5, 4, 3, 2)}  # images by rank, of each argument
KEYS = {"ada": "221100", "ben": "221000"}  # of the grades, by image; their mean is rounded up
IS_WHOLE = """image => {
  const [own, pane] = [image, image.closest(".pane")].map((element) => element.getBoundingClientRect());
  return own.bottom <= pane.bottom && own.right <= pane.right;
}"""
LEADERBOARD = re.compile(r"/leaderboards/\d+/$")


def docno_of(argument: str, n: int) -> str:
    return f"I{argument[0]}{n}"


def draw(path: Path, size: tuple[int, int], text: str) -> None:
    """An image with the name of its argument and a frame, by which one sees whether all of it is shown."""
    image = Image.new("RGB", size, "#dfe9f0")
    pen = ImageDraw.Draw(image)
    pen.rectangle((4, 4, size[0] - 5, size[1] - 5), outline="#1f6f78", width=6)
    pen.ellipse((size[0] // 4, size[1] // 4, size[0] // 2, size[1] // 2), fill="#c77d2e")
    pen.text((24, 24), text, fill="#222222", font_size=28)
    image.save(path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Documents that only show an image, the images, arguments with their aspects, and people."""
    documents, topics = tmp_path / "images.jsonl", tmp_path / "arguments.jsonl"
    rows, pictures = [], tmp_path / "images.zip"
    with ZipFile(pictures, "w") as archive:
        for argument, (_, first, second) in ARGUMENTS.items():
            for n, size in enumerate(SIZES, 1):
                docno = docno_of(argument, n)
                image = tmp_path / f"{docno}.png"
                draw(image, size, f"{first}, {n}")
                archive.write(image, image.name)
                caption = f"A picture of {first if n % 2 else second}"
                rows.append({"docno": docno, "body": f'<p><img src="{image.name}" alt="{caption}"></p>'})
    documents.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    topics.write_text(
        "".join(
            json.dumps({"code": code, "title": claim, "text": f"Aspects: {first}; {second}."}) + "\n"
            for code, (claim, first, second) in ARGUMENTS.items()
        )
    )
    people = [f"{name}; {name.lower()}@example.org; assessor" for name in ("Ada", "Ben")]
    people += [f"{tag.title()}; {tag}@example.org; contact; Team {tag.title()}" for tag in RUNS]
    return Files(documents, topics, "\n".join(people), len(people))


class ImageWalk(Walk):
    """The people of the track take turns at the browser."""

    def enter(self, username: str) -> None:
        log_in(self.page, self.site, User.objects.get(username=username))

    def submit(self, track: Track, tag: str, folder: Path) -> None:
        """Submit a run from the page of the track, as the contact of a team."""
        run = folder / f"{tag}.tsv"
        run.write_text(
            "".join(
                f"{argument}\t{docno_of(argument, n)}\t{rank}\t{tag}\n"
                for argument in ARGUMENTS
                for rank, n in enumerate(RUNS[tag], 1)
            )
        )
        self.enter(tag)
        self.page.goto(self.site + track.get_absolute_url())
        self.picture(f"home-of-{tag}")
        self.page.get_by_role("link", name="Submit runs").first.click()
        self.page.set_input_files("#id_file", run)
        expect(self.page.locator("#id_tag")).to_have_value(tag)
        self.picture(f"submit-{tag}")
        self.page.get_by_role("button", name="Submit", exact=True).click()
        self.page.wait_for_url("**/runs/*/")
        expect(self.page.get_by_role("heading", level=1)).to_have_text(tag)
        self.picture(f"run-of-{tag}")

    def judge(self, username: str) -> None:
        """Judge by keys from the desk to the end; each image is shown as a whole."""
        self.enter(username)
        self.open("assessment:mine")
        self.picture(f"desk-of-{username}")
        self.page.get_by_role("button", name="judging").first.click()
        n = 0
        while task := re.search(r"/tasks/(\d+)/", self.page.url):
            self.page.wait_for_selector("html[data-judging=ready]", state="attached")
            docno = Task.objects.values_list("entry__docno", flat=True).get(pk=task[1])
            image = self.page.locator("#document-panel .panel-body .post-image")
            expect(image).to_have_js_property("complete", True)
            assert image.evaluate("image => image.naturalWidth") == SIZES[int(docno[-1]) - 1][0]
            assert image.evaluate(IS_WHOLE)
            n += 1
            if username == "ada" and n <= 2:
                self.picture(f"judging-{docno}")
            before = self.page.url
            self.page.keyboard.press(KEYS[username][int(docno[-1]) - 1])
            self.page.keyboard.press("Enter")
            expect(self.page).not_to_have_url(before)


def test_walk_of_images_for_arguments(
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
    organizer = Organizer(new_page(), str(live_server))
    walk = ImageWalk(organizer, make_organizer("olga"))

    import_collection(organizer, "Images", files.documents, tmp_path / "images.zip")
    walk.work()
    walk.picture("import")
    organizer.follow("Create a track")
    create_track(organizer, files, "Arguments", "touche-2025-images", "Images")
    walk.picture("track")
    track = Track.objects.get()
    for tag in RUNS:
        walk.submit(track, tag, tmp_path)
    walk.enter("olga")
    walk.page.goto(walk.site + track.get_absolute_url())
    organizer.next("Close for runs")
    organizer.press("Close for runs")
    organizer.next("Build pool")
    walk.picture("new-pool")
    organizer.press("Build pool", re.compile(r"/pools/\d+/$"))
    walk.work()
    walk.picture("pool")
    organizer.next("Create and open the batch")
    walk.picture("new-batch")
    organizer.press("Create and open the batch", BATCH)
    for assessor in ("ada", "ben"):
        walk.judge(assessor)
    walk.enter("olga")
    walk.page.goto(walk.site + track.get_absolute_url())
    walk.picture("home-of-organizer")
    organizer.next("Close")
    walk.open("assessment:agreement", track.slug)
    walk.picture("agreement")
    walk.page.goto(walk.site + track.get_absolute_url())
    organizer.next("Freeze and score")
    walk.picture("freeze")
    organizer.press("Freeze and score", LEADERBOARD)
    walk.work()
    walk.picture("leaderboard")
    organizer.next("Release to everybody")
    walk.picture("release")
    organizer.press("Release to everybody", LEADERBOARD)
    visitor = new_page()
    visitor.goto(walk.page.url)

    assert Judgment.objects.count() == 2 * len(ARGUMENTS) * len(SIZES)
    expect(visitor.get_by_role("row", name=re.compile("harbor")).first).to_contain_text("1.0000")
    assert_accessible(visitor)
