"""A session in Chromium: the frame shows the page of the team, and the site closes it."""

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pooling.interaction import services
from pooling.teams import services as team_services
from tests.helpers.browser import log_in
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.pooling.runs.test_browser import check_page
from tracks.models import StoredProtocol

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class System(BaseHTTPRequestHandler):
    """The page of a team, with a script."""

    def do_GET(self) -> None:
        body = (
            f"<title>Owls</title><h1>Search {self.path}</h1><script>document.title = 'on'</script>".encode()
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

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


def test_the_site_closes_the_frame_when_the_time_is_over(
    live_server: Any, new_page: Callable[..., Page], system: str, folder: Path
) -> None:
    track = make_track("forum", protocol="bolt-ir-p3", collection=None)
    text = track.protocol.text.replace("seconds_per_topic = 120", "seconds_per_topic = 3")
    StoredProtocol.objects.filter(pk=track.protocol_id).update(text=text)
    track.refresh_from_db()
    make_topic(track, "T1")
    olive, ada = make_user("olive"), make_assessor(track, "ada")
    owls = team_services.create(track=track, name="Owls", members=[olive])
    services.nominate(team=owls, codes=["T1"], by=olive)
    services.set_address(team=owls, address=f"{system}/{{topic}}", by=olive, site=live_server.url)
    services.plan(team=owls, n=1, assessor=ada, by=make_organizer())
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
