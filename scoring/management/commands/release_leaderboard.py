"""Set who may see a leaderboard, as the page *Release* does."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.cli.main import positive
from scoring.leaderboards import services
from scoring.models import Leaderboard
from scoring.selectors import leaderboards_for
from tracks.console import add_by, add_track, organizer_of, refusals, track_of


class Command(BaseCommand):
    help = "Set who may see a leaderboard, its qrels and its scores. hidden withdraws a release."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("level", choices=Leaderboard.Release.values, help="who may see it")
        parser.add_argument(
            "--leaderboard", type=positive, metavar="N", help="its number (default: the newest)"
        )
        parser.add_argument(
            "--reason", default="", help="needed if a check of the release fails; the audit log keeps it"
        )
        add_by(parser)

    def handle(self, *args: object, **options: Any) -> None:
        track, user = track_of(options["track"]), organizer_of(options["by"])
        boards = leaderboards_for(user).filter(track=track).order_by("-pk")
        number = options["leaderboard"]
        board = (boards if number is None else boards.filter(pk=number)).first()
        if board is None:
            raise CommandError(f"{track} has no leaderboard{'' if number is None else f' {number}'}.")
        with refusals():
            board = services.release(
                leaderboard=board, level=options["level"], by=user, reason=options["reason"]
            )
        self.stdout.write(f"leaderboard {board.pk}: {board.get_release_display()}")
