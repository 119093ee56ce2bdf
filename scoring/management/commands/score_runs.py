"""Score the runs of a track against a version of its qrels, with the same job as in the browser."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.cli.main import positive, seed
from jobs.console import follow
from scoring.leaderboards import services
from scoring.leaderboards.files import leaderboard_file
from scoring.qrels.selectors import qrels_of
from tracks.console import add_by, add_track, organizer_of, refusals, track_of
from web.pages import counted


class Command(BaseCommand):
    help = "Score the runs of a track against its newest qrels, or a version of them. Only organizers see the result."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument(
            "--version-of-qrels", type=positive, metavar="N", help="version (default: the newest)"
        )
        parser.add_argument(
            "--seed",
            type=seed,
            metavar="N",
            help="seed of intervals and tests (default: a random one, which is kept)",
        )
        add_by(parser)
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="also write the leaderboard to FILE, as TSV"
        )

    def handle(self, *args: object, **options: Any) -> None:
        track, user = track_of(options["track"]), organizer_of(options["by"])
        versions, number = qrels_of(user, track).order_by("-version"), options["version_of_qrels"]
        qrels = (versions if number is None else versions.filter(version=number)).first()
        if qrels is None:
            raise CommandError(
                f"{track} has no {'qrels' if number is None else f'version {number} of qrels'}."
            )
        with refusals():
            board = services.request(qrels=qrels, by=user, seed=options["seed"])
            assert board.job is not None
            follow(board.job)
            board.refresh_from_db()
            if options["output"]:
                options["output"].write_text(leaderboard_file(board, "tsv"), "utf-8", newline="\n")
        runs = counted(board.evaluations.count(), "run")
        self.stdout.write(f"leaderboard {board.pk}: {runs} against qrels {board.qrels}, seed {board.seed}")
