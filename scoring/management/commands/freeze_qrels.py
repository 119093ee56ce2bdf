"""Freeze the judgments of a pool into a version of qrels, as the page *Freeze qrels* does."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from pooling.pools.selectors import pool_named
from scoring.leaderboards import services as leaderboard_services
from scoring.qrels import services
from scoring.qrels.selectors import qrels_tsv
from tracks.console import add_by, add_track, organizer_of, refusals, track_of
from web.pages import counted


class Command(BaseCommand):
    help = (
        "Freeze the judgments of people on a pool into a version of qrels. If the track has a leaderboard, scoring "
        "against the version is queued."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument("--pool", required=True, metavar="NAME", help="name of the pool")
        parser.add_argument("--name", default="", help="name of the version (default: none)")
        parser.add_argument(
            "--also",
            action="append",
            default=[],
            choices=["dual", "training"],
            help="kind of batches that counts for units without main judgment; repeat it for both",
        )
        parser.add_argument(
            "--leave-out",
            action="append",
            default=[],
            metavar="TOPIC=REASON",
            help="topic that does not become qrels, with the reason; repeat it for more",
        )
        add_by(parser)
        parser.add_argument("--output", type=Path, metavar="FILE", help="also write the qrels to FILE")

    def handle(self, *args: object, **options: Any) -> None:
        track, user = track_of(options["track"]), organizer_of(options["by"])
        pool = pool_named(track, options["pool"])
        if pool is None:
            raise CommandError(f"{track} has no pool named {options['pool']}.")
        with refusals():
            version = services.freeze_judgments(
                pool=pool,
                by=user,
                name=options["name"],
                also=sorted(set(options["also"])),
                left_out=dict(text.partition("=")[::2] for text in options["leave_out"]),
            )
            leaderboard_services.rescore(qrels=version, by=user)
            if options["output"]:
                options["output"].write_bytes(qrels_tsv(version))
        self.stdout.write(
            f"version {version.version}: {counted(version.n_judged, 'unit')} "
            f"of {counted(version.n_topics, 'topic')}, "
            f"sha256 {version.sha256}"
        )
