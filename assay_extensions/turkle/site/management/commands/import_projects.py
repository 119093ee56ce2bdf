"""Import projects of Turkle as tracks, as the page *Import projects* does."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from assay_extensions.turkle.site import services
from assessment.management.commands.import_judgments import add_meaning, wait, word_and_meaning
from assessment.models import ProjectImport
from tracks.console import add_by, organizer_of
from web.pages import counted


def folder_and_words(text: str) -> tuple[str, str]:
    """`FOLDER=WORDS`, or the words alone: of single files."""
    folder, _, words = text.rpartition("=")
    return folder, words


class Command(BaseCommand):
    help = (
        "Import projects of Turkle as tracks, with their rows, people and judgments: all of them, or none if a line is "
        "wrong. Takes the files of one project, or zip files with a folder for each."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "files", type=Path, nargs="+", metavar="FILE", help="template, batches and results; or zip files"
        )
        add_by(parser)
        track = "of the track of a folder, or of the only project"
        add_meaning(parser, "title", folder_and_words, "[FOLDER=]TITLE", f"name {track}")
        add_meaning(parser, "slug", folder_and_words, "[FOLDER=]SLUG", f"short name {track}")
        words = "account of a worker, which is made if it is not there"
        add_meaning(parser, "account", word_and_meaning, "WORKER=USER", words)
        parser.add_argument("--check", action="store_true", help="say what would be made, and import nothing")

    def handle(self, *args: object, **options: Any) -> None:
        user = organizer_of(options["by"])
        mapping = {f"{kind}s": dict(options[kind]) for kind in ("title", "slug", "account")}
        try:
            with ExitStack() as files:
                opened = [(files.enter_context(path.open("rb")), path.name) for path in options["files"]]
                uploads = [File(file, name) for file, name in opened]
                source = services.start(uploads=uploads, mapping=mapping, by=user)
            self._import(source, is_check=options["check"])
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from None
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal

    def _import(self, source: ProjectImport, *, is_check: bool) -> None:
        wait(source)
        report, is_ready = source.report, source.is_ready
        if not is_ready or is_check:
            services.discard(source=source)
        if report["problems"]:
            raise CommandError("\n".join(report["problems"]))
        if not is_check:
            services.request_import(source=source)
            wait(source)
        verb = "would be made" if is_check else "made"
        for project in report["projects"]:
            self.stdout.write(
                f"track {project['slug']} {verb}: {counted(project['rows'], 'row')}, "
                f"{counted(project['judgments'], 'judgment')}"
            )
