"""`manage.py backup FILE`: save the database and the files in one archive."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from jobs.backups import services
from jobs.console import ProgressBar


class Command(BaseCommand):
    help = (
        "Save the database and the uploaded files, as they are at one moment, in one archive. The site may be in use. "
        "The archive contains passwords' hashes and unreleased judgments; only its owner may read it. With "
        "BACKUP_RECIPIENT, it is encrypted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", help="the archive to write, such as assay-2026-11-22.zip, or s3://BUCKET/NAME"
        )

    def handle(self, *args: object, file: str, **options: Any) -> None:
        try:
            with ProgressBar() as progress:
                manifest = services.back_up(place=file, progress=progress)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        for name in manifest.missing:
            self.stderr.write(f"warning: a row names the file {name}, which does not exist")
        self.stdout.write(f"{file}: {manifest} saved.")
