"""Write all judgments of a track to a file, as the page *Export judgments* does."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assessment.judgments.exports import FORMS, TURKLE, VOTE_FORMS, lines_of
from assessment.judgments.selectors import ABOUT, judgments_of_track
from tracks.assessors.selectors import code_names
from tracks.console import add_track, track_of

STDOUT = "-"


class Command(BaseCommand):
    help = (
        "Export all judgments of a track, with those that were replaced. Assessors have code names such as A17. "
        "Comments can name people; --no-comments leaves them out."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("file", help="file to write, which must not exist; - for standard output")
        parser.add_argument(
            "--format",
            choices=[*FORMS, TURKLE, *VOTE_FORMS],
            default="csv",
            help="default: csv; the last three are the preferences of pairs, as other programs read them",
        )
        parser.add_argument("--usernames", action="store_true", help="usernames instead of code names")
        parser.add_argument("--no-comments", action="store_true", help="leave comments empty")

        parser.add_argument("--machines", action="store_true", help="also the judgments of machines")
        parser.add_argument(
            "--about", choices=list(ABOUT), default="", help="of generated answers: only these"
        )

    def handle(self, *args: object, **options: Any) -> None:
        track, path = track_of(options["track"]), options["file"]
        if options["format"] in VOTE_FORMS and not track.protocol.parsed.judged.has_votes:
            raise CommandError(
                f"{track} judges no pairs, so it has no preferences; use {' or '.join(FORMS)}."
            )
        lines = lines_of(
            judgments_of_track(track, has_machines=options["machines"], about=options["about"]),
            options["format"],
            names=None if options["usernames"] else code_names(track),
            has_comments=not options["no_comments"],
        )
        try:
            with (
                nullcontext(sys.stdout)
                if path == STDOUT
                else Path(path).open("x", encoding="utf-8", newline="") as file
            ):
                file.writelines(lines)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
