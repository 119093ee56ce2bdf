"""Write the latest frozen nuggets of a track to a file, as the page *Nuggets* does."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.nuggets.files import write_nuggets
from assay.nuggets.formats import FORMS
from assessment.nuggets.selectors import frozen_lists
from tracks.console import add_track, refusals, track_of
from web.pages import counted


class Command(BaseCommand):
    help = "Export the latest frozen list of nuggets of each topic, for another program."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("file", type=Path, help="file to write, which must not exist")
        parser.add_argument("--format", choices=list(FORMS), default="nuggetizer", help="default: nuggetizer")

    def handle(self, *args: object, **options: Any) -> None:
        track = track_of(options["track"])
        lists = frozen_lists(track)
        if not lists:
            raise CommandError(f"{track} has no frozen nuggets.")
        with refusals(), options["file"].open("xb") as file:
            file.write(write_nuggets(lists, options["format"]))
        self.stdout.write(
            f"{counted(sum(len(nugget_list.nuggets) for nugget_list in lists), 'nugget')} written"
        )
