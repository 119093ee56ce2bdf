"""`manage.py load_archive FILE`: make a track from an archive."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from archives import services
from assay.errors import Refused
from jobs.console import follow, progress_bar


class Command(BaseCommand):
    help = "Verify the archive of a track, and load it as a new, closed track. Nothing is loaded if a part is wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="an archive that Assay made")
        parser.add_argument(
            "--slug", default="", help="short name of the new track (default: as in the archive)"
        )
        parser.add_argument(
            "--by", required=True, metavar="USERNAME", help="the organizer who loads the archive"
        )

    def handle(self, *args: Any, file: Path, slug: str, by: str, **options: Any) -> None:
        try:
            with file.open("rb") as opened:
                user = User.objects.get(username=by)
                loaded = services.load_upload(upload=File(opened, name=file.name), slug=slug, by=user)
        except User.DoesNotExist:
            raise CommandError(f"There is no user {by}.") from None
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror or error}") from error
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        assert loaded.job is not None
        with progress_bar(loaded.job):
            follow(loaded.job)
        loaded.refresh_from_db()
        assert loaded.track is not None
        for finding in loaded.findings:
            self.stdout.write(f"right  {finding['part']}: {finding['content']}")
        self.stdout.write(f"{file}: loaded as the track {loaded.track.slug}")
