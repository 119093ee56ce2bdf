"""Import judgments that were made elsewhere, as the page *Import judgments* does."""

import argparse
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from assessment.imports import services
from assessment.models import Batch, JudgmentImport, ProjectImport
from jobs.console import follow
from pooling.pools.selectors import pool_named
from tracks.console import add_by, add_track, organizer_of, track_of
from web.pages import counted


def wait(source: JudgmentImport | ProjectImport) -> None:
    """Run the job that checks or imports an upload, if there is one."""
    source.refresh_from_db()
    if source.job is not None:
        follow(source.job)
        source.refresh_from_db()


def word_and_meaning(text: str) -> tuple[str, str]:
    """`WORD=MEANING`; the word may contain equals signs."""
    word, equals, meaning = text.rpartition("=")
    if not equals or not word or not meaning:
        raise argparse.ArgumentTypeError(f"{text!r} is not WORD=MEANING, such as worker7=ada")
    return word, meaning


def add_meaning(parser: argparse.ArgumentParser, option: str, kind: Any, metavar: str, words: str) -> None:
    """Add an option that says what a word of an upload means."""
    words = f"{words}; repeatable"
    parser.add_argument(f"--{option}", action="append", type=kind, default=[], metavar=metavar, help=words)


class Command(BaseCommand):
    help = (
        "Import judgments from Turkle's results, from an export of Assay, or from any CSV with the columns topic, "
        "docno, assessor, and grade or choice: all of them, or none if a line is wrong."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("file", type=Path, help="the file; plain, gz, xz, bz2 or zip")
        add_by(parser)
        parser.add_argument("--pool", metavar="NAME", help="pool of all units (default: as the file says)")
        parser.add_argument("--batch", default="", help="batch of judgments for which the file names none")
        parser.add_argument(
            "--kind", choices=Batch.Kind.values, default="main", help="kind of that batch (default: main)"
        )
        add_meaning(
            parser, "column", word_and_meaning, "FIELD=COLUMN", "column of a field, such as topic=Input.qid"
        )
        add_meaning(parser, "assessor", word_and_meaning, "NAME=USER", "account of an assessor of the file")
        words = "key of the grade or non-answer that an answer means"
        add_meaning(parser, "answer", word_and_meaning, "ANSWER=CHOICE", words)
        parser.add_argument(
            "--check", action="store_true", help="say what would be imported, and import nothing"
        )

    def handle(self, *args: object, **options: Any) -> None:
        try:
            self._import(self._start(**options), is_check=options["check"])
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from None
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal

    def _start(self, **options: Any) -> JudgmentImport:
        track, user = track_of(options["track"]), organizer_of(options["by"])
        pool = pool_named(track, options["pool"] or "")
        if options["pool"] and pool is None:
            raise CommandError(f"{track} has no pool named {options['pool']}.")
        path: Path = options["file"]
        mapping = {
            "columns": dict(options["column"]),
            "assessors": dict(options["assessor"]),
            "answers": dict(options["answer"]),
        }
        with path.open("rb") as file:
            return services.start(
                track=track,
                upload=File(file, path.name),
                pool=pool,
                batch=options["batch"],
                kind=options["kind"],
                mapping=mapping,
                by=user,
            )

    def _import(self, source: JudgmentImport, *, is_check: bool) -> None:
        wait(source)
        report = source.report
        if not source.is_ready or is_check:
            services.discard(source=source)
        if report["n_complaints"]:
            lines = [f"line {line}: {message}" for line, message in report["complaints"]]
            more = report["n_complaints"] - len(lines)
            raise CommandError("\n".join([*lines, f"and {more:,} more"] if more > 0 else lines))
        if source.is_ready and not is_check:
            services.request_import(source=source)
            wait(source)
        verb = "would be imported" if is_check else "imported"
        self.stdout.write(
            f"{counted(report['new'], 'judgment')} {verb}, {report['equal']:,} were here already"
        )
