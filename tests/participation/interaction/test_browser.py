"""A session in Chromium: the frame shows the page of the team, and the site closes it."""

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from participation.interaction import services
from participation.teams import services as team_services
from tests.helpers.browser import log_in
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.pooling.runs.test_browser import check_page
from tracks.models import StoredProtocol

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


HOSTILE = """<title>Owls</title><h1>Search</h1><a id=file href="/file" download>x</a><script>
for (const attack of [
  () => open("/pop"), () => (top.location = "/gone"), () => file.click(), () => alert(1), () => print(),
  () => top.document.title, () => parent.postMessage("over", "*"),
  () => new BroadcastChannel("/sessions/1/").postMessage("over"), () => document.body.requestFullscreen(),
])
  try { attack() } catch {}
document.querySelector("h1").textContent = "Tried"
</script>"""


class System(BaseHTTPRequestHandler):
    """The page of a team, with a script. `/hostile` tries to leave its frame, and `/away` redirects to another host."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        body = f"<title>Owls</title><h1>Search {self.path}</h1><script>document.title = 'on'</script>"
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("Content-Type", "text/html")
        if self.path == "/away":
            self.send_header("Location", f"http://localhost:{self.server.server_port}/landed")  # type: ignore[attr-defined]
        self.end_headers()
        self.wfile.write((HOSTILE if self.path == "/hostile" else body).encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def system() -> Iterator[str]:
    """The address of a server with the page of a team."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), System)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def hold(address: str, site: str, *, seconds: int) -> User:
    """The assessor with a planned session on the page of a team."""
    track = make_track("forum", protocol="bolt-ir-p3", collection=None)
    text = track.protocol.text.replace("seconds_per_topic = 120", f"seconds_per_topic = {seconds}")
    StoredProtocol.objects.filter(pk=track.protocol_id).update(text=text)
    track.refresh_from_db()
    make_topic(track, "T1")
    olive, ada = make_user("olive"), make_assessor(track, "ada")
    owls = team_services.create(track=track, name="Owls", members=[olive])
    services.nominate(team=owls, codes=["T1"], by=olive)
    services.set_address(team=owls, address=address, by=olive, site=site)
    services.plan(team=owls, n=1, assessor=ada, by=make_organizer())
    return ada


def test_the_site_closes_the_frame_when_the_time_is_over(
    live_server: Any, new_page: Callable[..., Page], system: str, folder: Path
) -> None:
    ada = hold(f"{system}/{{topic}}", live_server.url, seconds=3)
    page = new_page(base_url=live_server.url)
    log_in(page, live_server.url, ada)
    page.goto("/tracks/forum/interaction/")
    check_page(page)
    page.click("text=T1")
    check_page(page)

    page.click("text=Start the session")

    frame = page.frame_locator("#frame")
    expect(frame.locator("h1")).to_have_text("Search /T1")
    expect(page.locator("#clock")).to_contain_text("of 3 seconds left")
    expect(page.locator("main")).to_contain_text("The session is over. It took 3.0 seconds.")
    expect(page.locator("iframe")).to_have_count(0)
    check_page(page)


def test_a_hostile_page_stays_in_its_frame_and_ends_in_all_tabs(
    live_server: Any, new_page: Callable[..., Page], system: str, folder: Path, complaints: list[str]
) -> None:
    ada = hold(f"{system}/hostile", live_server.url, seconds=120)
    page = new_page(base_url=live_server.url)
    events: list[object] = []
    for kind in ("popup", "download", "dialog"):
        page.on(kind, lambda event: events.append(event))  # type: ignore[call-overload]  # noqa: PLW0108
    log_in(page, live_server.url, ada)
    page.goto("/tracks/forum/interaction/")
    page.click("text=T1")
    page.click("text=Start the session")
    address = page.url
    expect(page.frame_locator("#frame").locator("h1")).to_have_text("Tried")
    for seen in (
        page.get_by_role("button", name="End the session"),
        page.locator("#clock"),
        page.get_by_text("Title of"),
    ):
        expect(seen.first).to_be_in_viewport()
    other = page.context.new_page()
    other.goto(address)
    expect(other.frame_locator("#frame").locator("h1")).to_have_text("Tried")
    other.frames[1].evaluate("() => { location = '/away' }")  # redirects to another host

    page.click("text=End the session")

    expect(other.locator("main")).to_contain_text("The session is over.")
    expect(other.locator("iframe")).to_have_count(0)
    assert (events, page.url, len(page.context.pages)) == ([], address, 2)
    assert (System.seen.count("/away"), "/landed" in System.seen) == (1, False)
    refused = "\n".join(complaints)
    for reason in ("allow-popups", "allow-modals", "allow-top-navigation", "fullscreen", "frame-src"):
        assert reason in refused
    complaints.clear()  # all of them are of the hostile page
    page.close()  # with the handler of dialogs
