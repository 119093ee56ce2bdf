"""`manage.py archive_track TRACK FILE`: make the archive of a track."""

import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from archives import services
from assay.errors import Refused
from jobs.console import follow, progress_bar
from tracks.models import Track


class Command(BaseCommand):
    help = "Make the archive of a track in one file. `assay archive verify FILE` checks it, `load_archive` loads it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("track", help="short name of the track")
        parser.add_argument("file", type=Path, help="the archive to write, such as campaign.zip")
        parser.add_argument("--names", action="store_true", help="with the usernames of the assessors")
        parser.add_argument("--comments", action="store_true", help="with the comments of the assessors")
        parser.add_argument(
            "--by", required=True, metavar="USERNAME", help="the organizer who makes the archive"
        )

    def handle(
        self, *args: Any, track: str, file: Path, names: bool, comments: bool, by: str, **options: Any
    ) -> None:
        if file.exists():
            raise CommandError(f"{file} exists already. Choose another name, or move it away.")
        try:
            archive = services.request(
                track=Track.objects.get(slug=track),
                by=User.objects.get(username=by),
                has_names=names,
                has_comments=comments,
            )
        except Track.DoesNotExist:
            raise CommandError(f"There is no track {track}.") from None
        except User.DoesNotExist:
            raise CommandError(f"There is no user {by}.") from None
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        assert archive.job is not None
        with progress_bar(archive.job):
            follow(archive.job)
        archive.refresh_from_db()
        with archive.file.open("rb") as source, file.open("xb") as target:
            shutil.copyfileobj(source, target)
        self.stdout.write(f"{file}: {archive.size:,} bytes, SHA-256 {archive.sha256}")
