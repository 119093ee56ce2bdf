"""Open or close a track for runs, as the buttons of its overview do."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from tracks.console import add_track, refusals, track_of
from tracks.tracks import services


class Command(BaseCommand):
    help = "Let teams submit runs to a track, or accept no more runs."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("status", choices=["open", "closed"], help="whether runs are accepted")

    def handle(self, *args: object, **options: Any) -> None:
        change = services.open_for_runs if options["status"] == "open" else services.close
        with refusals():
            track = change(track=track_of(options["track"]))
        self.stdout.write(f"{track} is {track.get_status_display()}.")
