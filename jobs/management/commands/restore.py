"""`manage.py restore FILE`: replace the database and the files by those of a backup."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from jobs.backups import services
from jobs.console import ProgressBar


class Command(BaseCommand):
    help = (
        "Restore a backup, and migrate it to this version. Stop web, worker and beat first. The archive is checked "
        "completely before anything changes; until the last moment the old data stay as they are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="an archive of `manage.py backup`")
        parser.add_argument(
            "--replace", action="store_true", help="remove the data and files that the database contains"
        )

    def handle(self, *args: Any, file: Path, replace: bool, **options: Any) -> None:
        try:
            with ProgressBar() as progress:
                manifest = services.restore(path=file, replace=replace, progress=progress)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        for name in manifest.missing:
            self.stderr.write(f"warning: a row names the file {name}, which the backup does not contain")
        self.stdout.write(f"{file}, made on {manifest.created_at}: {manifest} restored.")
