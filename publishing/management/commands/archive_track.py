"""`manage.py archive_track TRACK FILE`: make the archive of a track."""

import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jobs.console import follow, progress_bar
from publishing.archives import services
from publishing.models import ARCHIVE
from publishing.models.archives import forms
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
        add_by(parser)

    def handle(
        self,
        *args: Any,
        track: str,
        file: Path,
        form: str,
        names: bool,
        comments: bool,
        by: str,
        **options: Any,
    ) -> None:
        if file.exists():
            raise CommandError(f"{file} exists already. Choose another name, or move it away.")
        with refusals():
            archive = services.request(
                track=track_of(track), by=organizer_of(by), form=form, has_names=names, has_comments=comments
            )
        assert archive.job is not None
        with progress_bar(archive.job):
            follow(archive.job)
        archive.refresh_from_db()
        with archive.file.open("rb") as source, file.open("xb") as target:
            shutil.copyfileobj(source, target)
        self.stdout.write(f"{file}: {archive.size:,} bytes, SHA-256 {archive.sha256}")
