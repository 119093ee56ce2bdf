"""Add the nuggets of a file to the lists of a track, as the page *Nuggets* does."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from assessment.nuggets import services
from tracks.console import add_by, add_track, organizer_of, refusals, track_of
from web.pages import counted


class Command(BaseCommand):
    help = (
        "Import nuggets from a file of nuggetizer, a nugget bank of AutoJudge or RAGTIME, or rubrics: all of them, or "
        "none if a nugget is refused. Nuggets that a list has already are skipped. --freeze freezes each list that "
        "changed."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("file", type=Path, help="the file: JSON or lines of JSON")
        add_by(parser)
        parser.add_argument("--freeze", action="store_true", help="freeze each list that changed")

    def handle(self, *args: object, **options: Any) -> None:
        track, user = track_of(options["track"]), organizer_of(options["by"])
        file: Path = options["file"]
        with refusals():
            n = services.import_lists(
                track=track,
                data=file.read_bytes(),
                name=file.name,
                by=user,
                freezes=options["freeze"],
            )
        self.stdout.write(f"{counted(n, 'new nugget')} imported")
