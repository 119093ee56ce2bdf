"""`manage.py archive_track TRACK FILE`: make the archive of a track."""

import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jobs.console import follow, progress_bar
from publishing.archives import services
from publishing.archives.forms import ArchiveForm
from publishing.models import ARCHIVE, Archive, forms, parts
from tracks.console import add_by, add_track, organizer_of, refusals, track_of


class Command(BaseCommand):
    help = "Make the archive of a track in one file. `assay archive verify FILE` checks it, `load_archive` loads it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("file", type=Path, help="the archive to write, such as campaign.zip")
        parser.add_argument(
            "--form",
            choices=dict(forms()),
            default=ARCHIVE,
            help="form of another tool (default: %(default)s)",
        )
        parser.add_argument("--names", action="store_true", help="with the usernames of the assessors")
        parser.add_argument("--comments", action="store_true", help="with the comments of the assessors")
        parser.add_argument(
            "--part", action="append", default=[], choices=dict(parts()), help="with files of this extension"
        )
        parser.add_argument(
            "--author", action="append", default=[], help="who made the collection, with an ORCID iD"
        )
        parser.add_argument("--license", default="", help="its identifier or address, such as CC-BY-4.0")
        parser.add_argument("--doi", default="", help="the DOI that is reserved for the archive")
        add_by(parser)

    def handle(self, *args: object, track: str, file: Path, by: str, **options: Any) -> None:
        if file.exists():
            raise CommandError(f"{file} exists already. Choose another name, or move it away.")
        with refusals():
            subject = track_of(track)
            # The content of an archive, checked as on the page
            data = {name: options[name] for name in ("form", "license", "doi")} | {
                "authors": "\n".join(options["author"])
            }
            form = ArchiveForm(
                data
                | {
                    "has_names": options["names"],
                    "has_comments": options["comments"],
                    "parts": options["part"],
                },
                instance=Archive(track=subject),
            )
            if not form.is_valid():
                raise CommandError(
                    " ".join(f"{name}: {error}" for name, errors in form.errors.items() for error in errors)
                )
            archive = services.request(track=subject, by=organizer_of(by), **form.cleaned_data)
        assert archive.job is not None
        with progress_bar(archive.job):
            follow(archive.job)
        archive.refresh_from_db()
        with archive.file.open("rb") as source, file.open("xb") as target:
            shutil.copyfileobj(source, target)
        self.stdout.write(f"{file}: {archive.size:,} bytes, SHA-256 {archive.sha256}")
