"""List the runs of your teams in a track of a site; for organizers, those of all teams."""

import argparse

from assay.cli.site import add_json, add_server, add_track, connect, print_json, print_table, track_of

EXAMPLE = "assay runs arqmath-2020"
COLUMNS = (
    "id",
    "team",
    "tag",
    "kind",
    "status",
    "is_late",
    "n_lines",
    "n_topics",
    "submitted_at",
    "file_name",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_track(parser)
    add_server(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    with connect(arguments) as server:
        track_of(server, arguments.track)
        runs = list(server.rows(f"tracks/{arguments.track}/runs/"))
    if arguments.json:
        print_json(runs)
        return 0
    rows = [
        dict(run, is_late="late" if run["is_late"] else "", submitted_at=run["submitted_at"][:19])
        for run in runs
    ]
    print_table(
        ("id", "team", "tag", "kind", "status", "late", "lines", "topics", "submitted (UTC)", "file"),
        ([row[name] for name in COLUMNS] for row in rows),
    )
    return 0
