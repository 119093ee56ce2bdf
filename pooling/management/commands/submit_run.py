"""Submit a run for a team, with the same service as in the browser."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.selectors import user_named
from assay.errors import Refused
from pooling.models import Run, Team
from pooling.runs import services as run_services
from pooling.runs.errors import RunRefused
from pooling.runs.services import Declaration
from pooling.teams.selectors import team_named
from tracks.models import Track
from tracks.tracks.selectors import track_named


class Command(BaseCommand):
    help = "Submit a run for a team. The checks are those of the browser; a refused run changes nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("track", help="slug of the track")
        parser.add_argument("team", help="name of the team")
        parser.add_argument("file", type=Path, help="run file: plain, gz, xz or zip")
        parser.add_argument("--by", required=True, metavar="USER", help="username of the submitter")
        parser.add_argument(
            "--kind", required=True, help="kind of run that the protocol allows, such as primary"
        )
        parser.add_argument("--tag", default="", help="tag of the run (default: the tag in the file)")
        parser.add_argument(
            "--pooled-as",
            default="",
            help="kind as which it is pooled, if the protocol pools its kind as another (default: the protocol's)",
        )
        parser.add_argument(
            "--manual", action="store_true", help="a person changed queries, results or their order"
        )
        parser.add_argument(
            "--uses",
            default="",
            help="what the run uses, in a word of the protocol such as text (default: what is usual in it)",
        )
        parser.add_argument("--description", default="", help="description of the system, for the organizers")
        parser.add_argument(
            "--seconds",
            type=Path,
            metavar="FILE",
            help="file of topic and seconds, for a protocol that limits the time",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        track = track_named(options["track"])
        if track is None:
            raise CommandError(f"There is no track {options['track']}.")
        team, user = team_named(track, options["team"]), user_named(options["by"])
        if team is None or user is None:
            missing = f"team {options['team']}" if team is None else f"user {options['by']}"
            raise CommandError(f"There is no {missing}.")
        run = self._submit(track, team, user, options)
        for warning in run.report["warnings"]:
            self.stderr.write(f"warning: {warning['message']} ({warning['n']:,})")
        self.stdout.write(f"{run.tag} is submitted for {team}: {run.n_lines:,} lines, {run.n_topics} topics.")

    def _submit(self, track: Track, team: Team, user: User, options: dict[str, Any]) -> Run:
        with ExitStack() as stack:
            try:
                seconds = stack.enter_context(options["seconds"].open("rb")) if options["seconds"] else None
            except OSError as error:
                raise CommandError(f"{options['seconds']} cannot be read: {error.strerror}.") from error
            return self._call_service(track, team, user, options, seconds)

    def _call_service(
        self, track: Track, team: Team, user: User, options: dict[str, Any], seconds: BinaryIO | None
    ) -> Run:
        declared = Declaration(
            seconds=seconds,
            kind=options["kind"],
            tag=options["tag"],
            pooled_as=options["pooled_as"],
            is_manual=options["manual"],
            uses=options["uses"],
            description=options["description"],
        )
        path: Path = options["file"]
        try:
            with path.open("rb") as file:
                return run_services.submit(
                    track=track, team=team, by=user, file=file, file_name=path.name, declared=declared
                )
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except RunRefused as refusal:
            errors = refusal.checked.report.errors
            raise CommandError(
                "\n".join(f"{error} Accepted: {error.accepted}" for error in errors)
            ) from refusal
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
