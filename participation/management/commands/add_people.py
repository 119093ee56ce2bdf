"""Add people to a track from a list, as the page *Add people from a list* does."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from participation.people import services
from participation.people.pasted import read
from participation.people.services import Sender
from tracks.console import add_by, add_track, organizer_of, refusals, track_of
from web.pages import counted


class Command(BaseCommand):
    help = (
        "Add people to a track: accounts, teams, assessors and invitations, all or nothing. Each line of the list is "
        "name; e-mail; role; team. New accounts get no e-mail: give them a link with login_link."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("file", type=Path, help="list of people, as on the page")
        add_by(parser)

    def handle(self, *args: object, **options: Any) -> None:
        track, user = track_of(options["track"]), organizer_of(options["by"])
        with refusals():
            people = read(options["file"].read_text("utf-8"))
            done = services.add(track=track, people=people, sender=Sender(user))
        self.stdout.write(
            f"{counted(len(done.steps), 'person,people')}: {counted(done.n_new_accounts, 'new account')}, "
            f"{counted(len(done.new_teams), 'new team')}."
        )
