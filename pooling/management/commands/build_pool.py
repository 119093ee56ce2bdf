"""Build a pool with the same job as in the browser."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.selectors import organizer_named
from assay.cli.options import add_depth, add_order, add_runs_per_team, add_seed
from assay.errors import Refused
from jobs.console import follow
from pooling.models import Pool
from pooling.pools import services as pool_services
from pooling.pools.selectors import pool_named
from tracks.tracks.selectors import track_named


class Command(BaseCommand):
    help = (
        "Build a pool of the submitted runs of a track, at the depths of the protocol or those that you give."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("track", help="slug of the track")
        parser.add_argument(
            "--name", required=True, help="name of the pool; no other pool of the track may have it"
        )
        parser.add_argument("--by", required=True, metavar="USER", help="username of the organizer")
        add_seed(parser, is_required=True)
        add_depth(parser)
        add_order(parser, Pool.Order.values)
        add_runs_per_team(parser, "in the order that the team chose")
        parser.add_argument(
            "--top-up", metavar="NAME", help="earlier pool of the track: leave out the units that it contains"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        track, user = track_named(options["track"]), organizer_named(options["by"])
        if track is None or user is None:
            missing = f"track {options['track']}" if track is None else f"organizer {options['by']}"
            raise CommandError(f"There is no {missing}.")
        earlier = pool_named(track, options["top_up"] or "")
        if options["top_up"] and earlier is None:
            raise CommandError(f"{track} has no pool named {options['top_up']}.")
        try:
            pool = pool_services.request(
                track=track,
                name=options["name"],
                seed=options["seed"],
                depth=dict(options["depth"]),
                by=user,
                order=options["order"] or "",
                tops_up=earlier,
                max_runs_per_team=options["runs_per_team"],
            )
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        self._finish(pool)

    def _finish(self, pool: Pool) -> None:
        assert pool.job is not None
        follow(pool.job)
        pool.refresh_from_db()
        self.stdout.write(f"{pool.name}: {pool.statistics['n']:,} units, sha256 {pool.sha256}")
