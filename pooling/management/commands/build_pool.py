"""Build a pool with the same job as in the browser."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.cli.main import add, add_seed
from jobs.console import follow
from pooling.models import Pool
from pooling.pools import services as pool_services
from pooling.pools.selectors import pool_named
from tracks.console import add_by, add_track, organizer_of, refusals, track_of


class Command(BaseCommand):
    help = (
        "Build a pool of the submitted runs of a track, at the depths of the protocol or those that you give."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_track(parser)
        parser.add_argument(
            "--name", required=True, help="name of the pool; no other pool of the track may have it"
        )
        add_by(parser)
        add_seed(parser, is_required=True)
        add(parser, "--depth")
        add(parser, "--order", choices=sorted(Pool.Order.values))
        add(parser, "--runs-per-team", words="in the order that the team chose")
        parser.add_argument(
            "--top-up", metavar="NAME", help="earlier pool of the track: leave out the units that it contains"
        )

    def handle(self, *args: object, **options: Any) -> None:
        track, user = track_of(options["track"]), organizer_of(options["by"])
        earlier = pool_named(track, options["top_up"] or "")
        if options["top_up"] and earlier is None:
            raise CommandError(f"{track} has no pool named {options['top_up']}.")
        with refusals():
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
        assert pool.job is not None
        follow(pool.job)
        pool.refresh_from_db()
        self.stdout.write(f"{pool.name}: {pool.statistics['n']:,} units, sha256 {pool.sha256}")
