"""Look at forty pages of the demo on three screens, light and dark: `python -m maintenance.gallery`.

On each screen, a page must not scroll sideways, break no rule of axe, and have one heading of the first level and at
most one filled button. It prints the faults, and how far the first screen is filled: the share of cells of 24 px with
something in them, for the left, middle and right third. With `--output`, it keeps the pictures.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from maintenance.screenshots import demo_site, log_in
from server import browser

SCREENS = ((1280, 800), (1920, 1080), (390, 844))
SCHEMES = ("light", "dark")
CELL = 24
LEAST_RIGHT = {1280: 18, 1920: 10}  # percent of the right third, on average
AXE = """async () => {
  const {violations} = await axe.run({resultTypes: ["violations"], preload: false});
  return violations.map(({id, nodes}) => `${id}: ${nodes[0].html.slice(0, 160)}`);
}"""
COUNTS = """() => ({
  excess: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  headings: document.querySelectorAll("h1").length,
  filled: [...document.querySelectorAll("main .btn-primary")].filter(
    (button) => button.checkVisibility() && getComputedStyle(button).color === "rgb(255, 255, 255)",
  ).length,  // not that of the line, which is plain if the page has another
})"""


class Shown(NamedTuple):
    """A page as a person sees it: at a path, or at the first of its links that a selector finds."""

    name: str
    person: str
    path: str
    link: str = ""


PAGES = (
    Shown("landing", "", "/"),
    Shown("login", "", "/login/"),
    Shown("error", "", "/nowhere/"),
    Shown("all-tracks", "", "/tracks/"),
    Shown("track-of-visitor", "", "/tracks/demo-2026/"),
    Shown("leaderboard-of-visitor", "", "/tracks/demo-2025/leaderboards/"),
    Shown("downloads-of-visitor", "", "/tracks/demo-2025/downloads/"),
    Shown("protocol", "", "/protocols/arqmath-2021-task1/"),
    Shown("home-of-participant", "pat", "/tracks/demo-2026/"),
    Shown("runs-of-team", "pat", "/tracks/demo-2026/runs/"),
    Shown("submit", "pat", "/tracks/demo-2026/runs/submit/"),
    Shown("run", "pat", "/tracks/demo-2026/runs/", "main a[href^='/runs/']"),
    Shown("desk", "emmy", "/judge/"),
    Shown("guidelines", "emmy", "/tracks/demo-2026/guidelines/"),
    Shown("own-statistics", "emmy", "/judge/statistics/"),
    Shown("tracks", "organizer", "/"),
    Shown("home", "organizer", "/tracks/demo-2026/"),
    Shown("topics", "organizer", "/tracks/demo-2026/topics/"),
    Shown("topic", "organizer", "/tracks/demo-2026/topics/A.201/"),
    Shown("data", "organizer", "/tracks/demo-2026/downloads/"),
    Shown("people", "organizer", "/tracks/demo-2026/people/"),
    Shown("dates", "organizer", "/tracks/demo-2026/deadlines/"),
    Shown("settings", "organizer", "/tracks/demo-2026/edit/"),
    Shown("audit-log", "organizer", "/tracks/demo-2026/audit-log/"),
    Shown("new-track", "organizer", "/tracks/new/"),
    Shown("runs", "organizer", "/tracks/demo-2026/runs/"),
    Shown("baselines", "organizer", "/tracks/demo-2026/baselines/"),
    Shown("new-pool", "organizer", "/tracks/demo-2026/pools/new/"),
    Shown("preview", "organizer", "/tracks/demo-2026/pools/preview/"),
    Shown("pool", "organizer", "/tracks/demo-2026/pools/", "main a[href^='/pools/']"),
    Shown("judging", "organizer", "/tracks/demo-2026/judging/"),
    Shown("batch", "organizer", "/tracks/demo-2026/judging/", "main table a[href^='/judge/batches/']"),
    Shown("board", "organizer", "/tracks/demo-2026/board/"),
    Shown("agreement", "organizer", "/tracks/demo-2025/agreement/"),
    Shown("qrels", "organizer", "/tracks/demo-2025/qrels/", "main a[href^='/qrels/']"),
    Shown("freeze", "organizer", "/tracks/demo-2026/qrels/freeze/"),
    Shown("no-leaderboard", "organizer", "/tracks/demo-2026/leaderboards/"),
    Shown(
        "leaderboard", "organizer", "/tracks/demo-2025/leaderboards/", "main table a[href^='/leaderboards/']"
    ),
    Shown("archives", "organizer", "/tracks/demo-2025/archives/"),
    Shown("collection", "organizer", "/collections/", "main table a[href^='/collections/']"),
)


def filled(picture: bytes) -> list[float]:
    """The percentage of cells with something in them in the thirds of a first screen, without its head and foot."""
    pixels = np.asarray(Image.open(BytesIO(picture)).convert("L"), dtype=np.int16)
    height, width = pixels.shape
    shares = []
    for third in range(3):
        left, right = third * width // 3, (third + 1) * width // 3 - CELL
        contrasts = [
            np.ptp(pixels[y : y + CELL, x : x + CELL])
            for y in range(60, height - 90, CELL)
            for x in range(left, right, CELL)
        ]
        shares.append(100 * float(np.mean(np.array(contrasts) > 60)))
    return shares


def faults_of(page: Page) -> Iterator[str]:
    """Find what is wrong with an open page on the screen that it has."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    counts = page.evaluate(COUNTS)
    if counts["excess"] > 0:
        yield f"{counts['excess']} px too wide"
    if counts["headings"] != 1:
        yield f"{counts['headings']} headings of the first level"
    if counts["filled"] > 1:
        yield f"{counts['filled']} filled buttons"
    yield from page.evaluate(AXE)


def look(
    chromium: Browser, site: str, folder: Path, chosen: list[Shown]
) -> tuple[list[str], dict[int, list[list[float]]]]:
    """Open the chosen pages on all screens, and return their faults and how far each first screen is filled."""
    faults: list[str] = []
    shares: dict[int, list[list[float]]] = {width: [] for width, _ in SCREENS}
    for person in sorted({shown.person for shown in chosen}):
        page = chromium.new_context(reduced_motion="reduce", bypass_csp=True).new_page()
        if person:
            log_in(page, site, person)
        for shown in (shown for shown in chosen if shown.person == person):
            page.goto(site + shown.path)
            if shown.link:
                page.goto(site + str(page.locator(shown.link).first.get_attribute("href")))
            for width, height in SCREENS:
                for scheme in SCHEMES:
                    page.set_viewport_size({"width": width, "height": height})
                    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                    page.wait_for_timeout(450)  # until the colors of buttons have changed
                    picture = page.screenshot(path=folder / f"{shown.name}-{width}-{scheme}.png")
                    shares[width].append(filled(picture))
                    faults += [f"{shown.name}, {width} px, {scheme}: {fault}" for fault in faults_of(page)]
        page.context.close()
    return faults, shares


def main() -> int:
    """Print the faults and the figures, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m maintenance.gallery", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these pages (default: all)")
    parser.add_argument("--site", help="a site that runs already with the demo (default: start one)")
    parser.add_argument("--output", type=Path, help="folder of the pictures (default: they are not kept)")
    options = parser.parse_args()
    path = browser.find()
    if path is None:
        raise SystemExit("There is no Chromium; `make test` installs one.")
    chosen = [shown for shown in PAGES if not options.names or shown.name in options.names]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.output or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        running = nullcontext(options.site.rstrip("/")) if options.site else demo_site()
        with running as site, sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
            faults, shares = look(chromium, site, folder, chosen)
    for width, rows in shares.items():
        thirds = [round(fmean(third)) for third in zip(*rows, strict=True)]
        sys.stdout.write(f"{width} px: {thirds[0]}/{thirds[1]}/{thirds[2]} % of the thirds are filled\n")
        if thirds[2] < LEAST_RIGHT.get(width, 0):
            faults.append(f"the right third at {width} px is less than {LEAST_RIGHT[width]} % filled")
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    sys.stdout.write(f"{len(chosen)} pages, {len(faults)} faults\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
