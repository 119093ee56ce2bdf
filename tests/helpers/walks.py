"""Walks through a campaign in Chromium: clicks of its organizer, and pictures of the pages.

Pictures of each page go to the folder that `WALK_PICTURES` names, at two widths, light and dark.
"""

import os
from pathlib import Path

from django.urls import reverse

from accounts.models import User
from jobs import services as jobs
from jobs.models import Job
from maintenance.campaign_walk import Organizer
from maintenance.screenshots import save
from tests.helpers.browser import assert_accessible, log_in

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")


class Walk:
    """The organizer at a browser, whose page other people borrow; workers use services."""

    def __init__(self, organizer: Organizer, user: User) -> None:
        self.organizer, self.user, self.n_pictures = organizer, user, 0
        self.page, self.site = organizer.page, organizer.site
        log_in(self.page, self.site, user)

    def open(self, name: str, *arguments: object) -> None:
        self.page.goto(self.site + reverse(name, args=arguments))

    def work(self) -> None:
        for job in Job.objects.filter(state=Job.State.QUEUED).order_by("pk"):
            jobs.run(job.pk)
            job.refresh_from_db()
            assert job.state == Job.State.DONE, job.error
        self.organizer.look()

    def picture(self, name: str) -> None:
        """No violation of accessibility; and pictures, if somebody wants them."""
        assert_accessible(self.page)
        folder = os.environ.get("WALK_PICTURES")
        if folder is None:
            return
        self.n_pictures += 1
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 800})
            for scheme in SCHEMES:
                self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                path = Path(folder, f"{self.n_pictures:02}-{name}-{width}-{scheme}.png")
                save(self.page.screenshot(full_page=True), path)
        self.page.set_viewport_size({"width": 1280, "height": 800})
        self.page.emulate_media(color_scheme="light")
