"""List the runs of your teams in a track of a site; for organizers, those of all teams."""

import argparse

from assay.cli.main import add
from assay.cli.site import print_json, print_table, rows_of_track
from assay.formats.declaration import LISTED

EXAMPLE = "assay runs arqmath-2020"
COLUMNS = {"id": "id", **LISTED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "track", "--server", "--json")


def run(arguments: argparse.Namespace) -> int:
    runs = rows_of_track(arguments, "runs")
    if arguments.json:
        print_json(runs)
        return 0
    rows = [
        dict(listed, is_late="late" if listed["is_late"] else "", submitted_at=listed["submitted_at"][:19])
        for listed in runs
    ]
    print_table(list(COLUMNS.values()), ([row[name] for name in COLUMNS] for row in rows))
    return 0
