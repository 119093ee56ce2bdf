"""Show the newest leaderboard of a track of a site that is released to you.

One row for each run, with the mean of each measure, its 95 % interval, and its tier: runs that share a letter do not
differ significantly. With --by-topic, the values of each topic, of the runs that you may open.

Exit status: 0 success, 1 nothing is released to you, 2 an option is wrong, 3 you are not logged in, 4 the site cannot
be reached.
"""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from assay.cli.options import positive
from assay.cli.site import add_json, add_server, add_track, connect, fail, print_json, print_table, track_of

if TYPE_CHECKING:
    from assay.client.server import Server

EXAMPLE = "assay results arqmath-2020"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_track(parser)
    add_server(parser)
    parser.add_argument(
        "--leaderboard", type=positive, metavar="N", help="number of a leaderboard (default: the newest)"
    )
    parser.add_argument("--by-topic", action="store_true", help="print the values of each topic")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    with connect(arguments) as server:
        track_of(server, arguments.track)
        board = server.get(f"leaderboards/{_number(server, arguments)}/")
        content = (
            list(server.rows(f"leaderboards/{board['id']}/evaluations/")) if arguments.by_topic else board
        )
    if arguments.json:
        print_json(content)
    elif arguments.by_topic:
        print_table(("run", "topic", "measure", "value"), _values(content, board["measures"]))
    else:
        _print_means(board)
    return 0


def _number(server: "Server", arguments: argparse.Namespace) -> int:
    if arguments.leaderboard:
        return int(arguments.leaderboard)
    boards = server.rows(f"tracks/{arguments.track}/leaderboards/")
    ready = next((board for board in boards if board["status"] == "ready"), None)
    if ready is None:
        fail(f"no leaderboard of {arguments.track} is released to you")
    return int(ready["id"])


def _print_means(board: Any) -> None:
    header = ["team", "run", "kind"]
    for measure in board["measures"]:
        header += [measure, f"{measure} low", f"{measure} high", f"{measure} tier"]
    rows = (
        [row["team"], row["tag"], row["kind"], *(score[name] for score in row["scores"] for name in CELLS)]
        for row in board["runs"]
    )
    print_table(header, rows)


CELLS = ("text", "low", "high", "tier")


def _values(evaluations: list[Any], measures: list[str]) -> Iterator[tuple[object, ...]]:
    for row in evaluations:
        for topic, values in row["topics"].items():
            for measure in measures:
                if measure in values:
                    yield row["tag"], topic, measure, f"{values[measure]:.4f}"
