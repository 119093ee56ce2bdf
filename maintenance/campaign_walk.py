"""Walk through a campaign from an empty site to the release in Chromium, as its organizer, and count the clicks.

`python -m maintenance.campaign_walk` prints each click with its page. `tests/test_campaign_walk.py` runs the same walk,
and fails if it takes more clicks than it may. What teams, assessors and workers do meanwhile costs the organizer none.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from playwright.sync_api import Locator, Page, expect

TEST = "tests/test_campaign_walk.py"
BATCH = re.compile(r"/judge/batches/\d+/$")


class Click(NamedTuple):
    """A press of a button or link, a choice in a list, or a choice of files."""

    page: str
    name: str


class Others(Protocol):
    def work(self) -> None:
        """Do the jobs that wait."""

    def submit_runs(self) -> None:
        """Submit a run of each team."""

    def judge(self) -> None:
        """Judge everything in the open batches."""


@dataclass
class Organizer:
    """The organizer at a browser. Pages count once for each time that the heading changes; waiting is no click."""

    page: Page
    site: str
    clicks: list[Click] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    def look(self) -> None:
        """Load the page again, as somebody does who has waited."""
        self.page.wait_for_load_state()
        self.page.reload()

    def press(self, name: str, to: str | re.Pattern[str] = "**") -> None:
        """Press a button, and wait for the address to which it leads."""
        words = re.compile(rf"^\s*{re.escape(name)}\s*$")
        self._click(self.page.get_by_role("button", name=words), name)
        self.page.wait_for_url(to)

    def follow(self, name: str) -> None:
        self._click(self.page.get_by_role("link", name=name, exact=True), name)

    def next(self, name: str, button: str = "") -> None:
        """Take the next step of the campaign, which says what it does, or press another of its buttons."""
        step = self.page.locator(".next, .next-line")
        expect(step).to_contain_text(name, timeout=20_000)
        self._click(step.locator(".btn:visible", has_text=button), f"Next: {button or name}")

    def open_menu(self, name: str) -> None:
        self._click(self.page.locator(".menu > summary", has_text=name), name)

    def check(self, label: str) -> None:
        self._click(self.page.get_by_label(label), label)

    def choose(self, name: str, option: str) -> None:
        select = self.page.locator(f"select[name={name}]").first
        value = select.locator("option", has_text=option).first.get_attribute("value")
        self._note(f"{name}: {option}")
        select.select_option(value)

    def upload(self, name: str, *files: Path) -> None:
        self._note(f"{name}: {', '.join(file.name for file in files)}")
        self.page.locator(f"[type=file][name={name}]").set_input_files(files)

    def type(self, **fields: str) -> None:
        for name, text in fields.items():
            self.typed.append(name)
            self.page.locator(f"[name={name}]").fill(text)

    def _click(self, target: Locator, name: str) -> None:
        target.first.wait_for(timeout=20_000)
        self._note(name)
        target.first.click()
        self.page.wait_for_load_state()

    def _note(self, name: str) -> None:
        address = self.page.url.removeprefix(self.site)
        if not self.pages or self.pages[-1] != address:
            self.pages.append(address)
        self.clicks.append(Click(address, name))

    def report(self) -> str:
        lines = [f"{n:3}  {click.name:44} {click.page}" for n, click in enumerate(self.clicks, 1)]
        counts = f"{len(self.clicks)} clicks, {len(self.pages)} pages, {len(self.typed)} typed fields"
        return "\n".join([*lines, counts])


class Files(NamedTuple):
    """The files that the organizer uploads, and the list of people."""

    documents: Path
    topics: Path
    people: str
    n_people: int


def walk(organizer: Organizer, files: Files, others: Others) -> None:
    """Run the campaign: ARQMath 2020, Task 1, with a training round, second judgments and an adjudication."""
    set_up(organizer, files, others)
    others.submit_runs()
    organizer.look()
    organizer.next("Close for runs")
    organizer.press("Close for runs")
    organizer.next("Build pool")
    expect(organizer.page.locator("#estimate")).to_be_visible()
    organizer.press("Build pool", re.compile(r"/pools/\d+/$"))
    others.work()
    organizer.look()
    train(organizer, others)
    judge(organizer, others)
    organizer.next("Freeze and score")
    organizer.press("Freeze and score", re.compile(r"/leaderboards/\d+/$"))
    others.work()
    organizer.look()
    organizer.next("Release to everybody")
    organizer.press("Release to everybody", re.compile(r"/leaderboards/\d+/$"))
    expect(organizer.page.get_by_text("everybody").first).to_be_visible()


def set_up(organizer: Organizer, files: Files, others: Others) -> None:
    """The collection, the track with its topics and people, and its opening."""
    import_collection(organizer, "Posts", files.documents)
    others.work()
    organizer.follow("Tracks")
    organizer.follow("Create a track")
    create_track(organizer, files, "Answers 2020", "arqmath-2020-task1", "Posts")


def import_collection(organizer: Organizer, name: str, *documents: Path) -> None:
    """Import files into a new collection. A worker has to read them."""
    organizer.page.goto(f"{organizer.site}/")
    organizer.follow("Import a collection")
    organizer.type(slug=name.lower(), name=name)
    organizer.upload("upload", *documents)
    organizer.press("Import files", re.compile(r"/imports/\d+/$"))


def create_track(organizer: Organizer, files: Files, name: str, protocol: str, collection: str) -> None:
    """Create a track on its page, add its people, and open it for runs."""
    slug = name.lower().replace(" ", "-")
    organizer.type(name=name, slug=slug)
    organizer.choose("protocol", protocol)
    organizer.choose("collection", collection)
    organizer.upload("topics", files.topics)
    organizer.press("Create track")
    organizer.next("Add people")
    organizer.type(text=files.people)
    organizer.press("Check the list")
    organizer.press(f"Add {files.n_people} people, with {files.n_people} new accounts")
    organizer.next("Mark as sent", button="Mark as sent")
    organizer.follow("Home")
    organizer.press("Skip all 5")
    organizer.next("Open for runs")
    organizer.press("Open for runs", f"**/{slug}/")


def train(organizer: Organizer, others: Others) -> None:
    """A training round, and its discussion with an agreed grade."""
    organizer.next("Plan a training round")
    organizer.press("Create and open the training round", BATCH)
    others.judge()
    organizer.look()
    organizer.next("Close “Training round 1”")
    organizer.next("Discuss the training round")
    organizer.choose("discussion", "with names")
    expect(organizer.page.get_by_text("Saved who sees the discussion.")).to_be_visible()
    organizer.choose("grade", "High")
    expect(organizer.page.locator("select[name=grade]").first).to_have_value("3")


def judge(organizer: Organizer, others: Others) -> None:
    """The main judging, second judgments, and the adjudication of what differs."""
    organizer.look()
    organizer.next("Create and open the batch")
    organizer.press("Create and open the batch", BATCH)
    others.judge()
    organizer.look()
    organizer.next("Close “Batch 2”")
    organizer.next("Plan second judgments")
    organizer.press("Create and open the batch", BATCH)
    others.judge()
    organizer.look()
    organizer.next("Close “Second judgments”")
    organizer.next("Look at the agreement")
    organizer.follow("Make an adjudication batch…")
    organizer.check("Assessor 1")
    organizer.press("Create and open the batch", BATCH)
    others.judge()
    organizer.look()
    organizer.next("Close “Adjudication”")


def main() -> int:
    """Run the test, which prints the clicks."""
    import pytest  # noqa: PLC0415 - only the command needs it

    return pytest.main([TEST, "-q", "-s", "-n", "0", "--nightly"])


if __name__ == "__main__":
    sys.exit(main())
