"""`manage.py restore FILE`: replace the database and the files by those of a backup, or only try that out."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from jobs.backups import schedule, services
from jobs.backups.drill import drill as run_drill
from jobs.console import ProgressBar


class Command(BaseCommand):
    help = (
        "Restore a backup, and migrate it to this version. Stop web, worker and beat first. The archive is checked "
        "completely before anything changes; until the last moment the old data stay as they are. With --drill, "
        "restore it into a database and folder of its own, compare both with the archive, and remove them again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            nargs="?",
            help="a backup: a file, or s3://BUCKET/NAME; for a drill, by default the newest scheduled one",
        )
        parser.add_argument(
            "--replace", action="store_true", help="remove the data and files that the database contains"
        )
        parser.add_argument(
            "--drill", action="store_true", help="only test the backup; the site may stay in use"
        )

        parser.add_argument(
            "--identity",
            type=Path,
            metavar="FILE",
            help="the key of an encrypted backup, as age-keygen writes it",
        )

    def handle(
        self,
        *args: object,
        file: str | None,
        replace: bool,
        drill: bool,
        identity: Path | None,
        **options: Any,
    ) -> None:
        if file is None and not drill:
            raise CommandError("Name the file of a backup.")
        if drill and replace:
            raise CommandError("A drill replaces nothing: leave out --replace.")
        try:
            if drill:
                file = file or schedule.newest(settings.BACKUP_DIR)
                passed = run_drill(place=file, identity=identity)
                self.stdout.write(
                    f"{file}, made on {passed.manifest.created_at}: {passed.manifest} restored in "
                    f"{passed.seconds:.0f} seconds, and they are those of the archive. The copy was removed."
                )
            elif file:
                with ProgressBar() as progress:
                    manifest = services.restore(
                        place=file, replace=replace, progress=progress, identity=identity
                    )
                for name in manifest.missing:
                    self.stderr.write(
                        f"warning: a row names the file {name}, which the backup does not contain"
                    )
                self.stdout.write(f"{file}, made on {manifest.created_at}: {manifest} restored.")
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
