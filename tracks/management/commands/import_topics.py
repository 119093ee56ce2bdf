"""Import a topic file, or labels for topics, into a track from the command line."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from tracks.console import add_track, track_of
from tracks.rows.services import import_rows
from tracks.topics.services import import_labels, import_topics


class Command(BaseCommand):
    help = (
        "Import topics into a draft track, from ARQMath's XML or from lines of JSON. With --labels, import labels "
        "for its topics, from CSV or JSON; with --rows, the rows that the form of the protocol shows, from CSV or TSV."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("file", type=Path, help="topics: XML or lines of JSON; labels: CSV or JSON")
        parser.add_argument(
            "--replace", action="store_true", help="remove topics that are missing from the file"
        )
        other = parser.add_mutually_exclusive_group()
        other.add_argument("--labels", action="store_true", help="the file contains labels, not topics")
        other.add_argument("--rows", action="store_true", help="the file contains rows, not topics")

    def handle(self, *args: object, **options: Any) -> None:
        file: Path = options["file"]
        try:
            source: dict[str, Any] = {
                "track": track_of(options["track"]),
                "data": file.read_bytes(),
                "name": file.name,
            }
            if options["labels"]:
                report: object = import_labels(**source)
            elif options["rows"]:
                report = import_rows(**source)
            else:
                report = import_topics(**source, replace=options["replace"])
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write(str(report))
