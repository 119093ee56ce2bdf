"""`manage.py load_archive FILE`: make a track from an archive."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.management.base import BaseCommand, CommandError

from jobs.console import follow, progress_bar
from publishing.archives import services
from publishing.models import DATASET
from tracks.console import add_by, organizer_of, refusals
from tracks.protocols.selectors import protocols


class Command(BaseCommand):
    help = "Verify the archive of a track, and load it as a new, closed track. Nothing is loaded if a part is wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            help="an archive; or with --protocol a zip of a test collection, or ir_datasets:ID",
        )
        parser.add_argument(
            "--slug", default="", help="short name of the new track (default: as in the archive)"
        )
        parser.add_argument(
            "--protocol",
            default="",
            help="slug of a protocol: FILE is a test collection of BEIR or another tool",
        )
        add_by(parser)

    def handle(self, *args: object, file: str, slug: str, protocol: str, by: str, **options: Any) -> None:
        stored = protocols().filter(slug=protocol).first()
        if protocol and stored is None:
            raise CommandError(f"There is no protocol {protocol}.")
        with refusals():
            if file.startswith(DATASET):
                if stored is None:
                    raise CommandError(f"{file} needs --protocol.")
                dataset = file.removeprefix(DATASET)
                loaded = services.fetch(dataset=dataset, slug=slug, protocol=stored, by=organizer_of(by))
            else:
                with Path(file).open("rb") as opened:
                    upload = File(opened, name=Path(file).name)
                    loaded = services.load_upload(
                        upload=upload, slug=slug, protocol=stored, by=organizer_of(by)
                    )
        assert loaded.job is not None
        with progress_bar(loaded.job):
            follow(loaded.job)
        loaded.refresh_from_db()
        assert loaded.track is not None
        for finding in loaded.findings:
            self.stdout.write(f"right  {finding['part']}: {finding['content']}")
        self.stdout.write(f"{file}: loaded as the track {loaded.track.slug}")
