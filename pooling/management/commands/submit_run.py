"""Submit a run for a team, with the same service as in the browser."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.selectors import user_named
from assay.errors import Refused
from assay.formats.declaration import STATEMENTS, Declaration, add_statements
from assay.formats.reports import Report
from participation.teams.selectors import team_named
from pooling.errors import RunRefused
from pooling.runs import services as run_services
from tracks.console import add_track, track_of


class Command(BaseCommand):
    help = "Submit a run for a team. The checks are those of the browser; a refused run changes nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("team", help="name of the team")
        parser.add_argument("file", type=Path, help="run file: plain, gz, xz, bz2 or zip")
        parser.add_argument("--by", required=True, metavar="USER", help="username of the submitter")
        add_statements(parser, required="kind")
        parser.add_argument(
            "--seconds",
            type=Path,
            metavar="FILE",
            help="file of topic and seconds, for a protocol that limits the time",
        )

    def handle(self, *args: object, **options: Any) -> None:
        track = track_of(options["track"])
        team, user = team_named(track, options["team"]), user_named(options["by"])
        if team is None or user is None:
            missing = f"team {options['team']}" if team is None else f"user {options['by']}"
            raise CommandError(f"There is no {missing}.")
        path: Path = options["file"]
        with ExitStack() as stack:
            try:
                seconds = stack.enter_context(options["seconds"].open("rb")) if options["seconds"] else None
                run = run_services.submit(
                    track=track,
                    team=team,
                    by=user,
                    file=stack.enter_context(path.open("rb")),
                    file_name=path.name,
                    declared=Declaration(**{name: options[name] for name in STATEMENTS}),
                    seconds=seconds,
                )
            except OSError as error:
                raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
            except RunRefused as refusal:
                raise CommandError("\n".join(refusal.lines)) from refusal
            except Refused as refusal:
                raise CommandError(refusal.message) from refusal
        report = Report.from_json(run.report)
        for warning in report.warnings:
            self.stderr.write(f"warning: {warning.message} ({warning.n:,})")
        self.stdout.write(f"{run.tag} is submitted for {team}: {report.size}.")
