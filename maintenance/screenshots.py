"""Take the pictures of the documentation from the demo campaign: `make screenshots`.

Starts the site with an empty folder of its own, waits for the demo, and opens each page of `PICTURES` as the person
who would. Pictures go to docs/images, light and dark. Nothing else runs in that folder, so the pictures do not depend
on your data.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from server import browser

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PASSWORD = "assay-demo"  # noqa: S105 - of the demo on an embedded database
START_SECONDS = 300
SCHEMES: dict[Literal["light", "dark"], str] = {"light": "", "dark": "-dark"}
COLORS = 256  # as many as a small PNG has
DESKTOP, WIDE, PHONE = (1180, 760), (1280, 860), (390, 780)


class Picture(NamedTuple):
    """A page as a person sees it, or a visitor if `person` is empty. `prepare` acts on it before."""

    name: str
    person: str
    path: str
    prepare: Callable[[Page], None] | None = None
    size: tuple[int, int] = DESKTOP


def judge(page: Page) -> None:
    """Open the next task of the assessor and wait for its formulas."""
    page.locator("main form button.btn-primary").first.click()
    expect(page.locator(".katex").first).to_be_visible()


def check_broken_run(page: Page) -> None:
    """Check a run like one of the demo in which three lines are broken, and wait for the report."""
    text = (ROOT / "demo" / "runs" / "2026" / "abacus-text.tsv").read_text()
    lines = text.replace("abacus-text", "abacus-words").splitlines(keepends=True)
    lines[16] = lines[16].replace("\t", " ", 1).rsplit("\t", 1)[0] + "\n"
    lines[40] = lines[39]
    lines[58] = "A.999" + lines[58][lines[58].index("\t") :]
    run = {"name": "abacus-words.tsv", "mimeType": "text/plain", "buffer": "".join(lines).encode()}
    page.get_by_label("File").set_input_files(run)  # type: ignore[arg-type]
    page.get_by_role("button", name="Check", exact=False).first.click()
    report = page.locator("#submission")
    expect(report).to_contain_text("line 17")
    report.evaluate("element => element.scrollIntoView()")


def start_protocol(page: Page) -> None:
    """Start a draft from the first protocol and open its section of judging."""
    page.get_by_role("button", name="Start from it").first.click()
    page.locator("#sections").get_by_role("link", name="Judging", exact=False).first.click()
    page.wait_for_load_state("networkidle")


def first_link(page: Page) -> None:
    """Follow the first link of the page's table or cards."""
    page.locator("main table a, main .panel a").first.click()
    page.wait_for_load_state("networkidle")


PICTURES = (
    Picture("landing", "", "/"),
    Picture("participant", "pat", "/tracks/demo-2026/"),
    Picture("track", "organizer", "/tracks/demo-2026/"),
    Picture("pool", "organizer", "/tracks/demo-2026/pools/", first_link),
    Picture("preview", "organizer", "/tracks/demo-2026/pools/preview/"),
    Picture("batch", "organizer", "/tracks/demo-2026/judging/", first_link),
    Picture("submit", "pat", "/tracks/demo-2026/runs/submit/", check_broken_run),
    Picture("judging", "emmy", "/judge/", judge, size=(1280, 740)),
    Picture("judging-phone", "emmy", "/judge/", judge, size=PHONE),
    Picture("comparison", "organizer", "/comparison/?track=demo-2025&track=demo-2026#table-complexity"),
    Picture("paper-tables", "organizer", "/tracks/demo-2025/tables/?digits=3#table-results"),
    Picture("protocol-editor", "organizer", "/protocol/new/", start_protocol, size=WIDE),
    Picture("leaderboard", "", "/tracks/demo-2025/leaderboards/", size=WIDE),
)


@contextmanager
def demo_site() -> Iterator[str]:
    """The address of a site with the demo campaign, in a temporary folder; stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="assay-screenshots-") as folder:
        log = Path(folder) / "run.log"
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment |= {"ASSAY_VAR": f"{folder}/var", "PYTHONPATH": str(ROOT)}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "server.run"], cwd=ROOT, env=environment, stdout=output, stderr=output
            )
        try:
            yield _address(process, log)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if match := re.search(r"Assay runs at (\S+)", log.read_text(errors="replace")):
            return match[1].rstrip("/")
        time.sleep(0.2)
    raise SystemExit(f"The site did not start:\n{log.read_text(errors='replace')}")


def log_in(page: Page, site: str, person: str) -> None:
    """Log a person of the demo in."""
    page.goto(f"{site}/login/")
    page.get_by_label("User name").fill(person)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()


def save(png: bytes, path: Path) -> None:
    """Save a picture with few colors, which takes a third of the bytes and looks the same."""
    image = Image.open(BytesIO(png)).convert("RGB")
    image.quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def take(chromium: Browser, site: str, picture: Picture, folder: Path) -> None:
    """Open a page as its person and save its pictures, light and dark."""
    width, height = picture.size
    context = chromium.new_context(
        viewport={"width": width, "height": height},
        has_touch=picture.size == PHONE,
        is_mobile=picture.size == PHONE,
        reduced_motion="reduce",
        device_scale_factor=1,
    )
    page = context.new_page()
    if picture.person:
        log_in(page, site, picture.person)
    page.goto(site + picture.path)
    if picture.prepare:
        picture.prepare(page)
    for scheme, suffix in SCHEMES.items():
        page.emulate_media(color_scheme=scheme)
        page.wait_for_load_state("networkidle")
        save(page.screenshot(), folder / f"{picture.name}{suffix}.png")
    context.close()


def main() -> int:
    """Take the pictures and return the exit status."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these pictures (default: all)")
    parser.add_argument("--site", help="a site that runs already with the demo (default: start one)")
    parser.add_argument(
        "--output", type=Path, default=IMAGES, help="folder of the pictures (default: docs/images)"
    )
    options = parser.parse_args()
    path = browser.find()
    if path is None:
        raise SystemExit("There is no Chromium; `make test` installs one.")
    options.output.mkdir(parents=True, exist_ok=True)
    running = nullcontext(options.site.rstrip("/")) if options.site else demo_site()
    with running as site, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        for picture in PICTURES:
            if not options.names or picture.name in options.names:
                take(chromium, site, picture, options.output)
                sys.stdout.write(f"{options.output / picture.name}.png\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
