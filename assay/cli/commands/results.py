"""Show the newest leaderboard of a track of a site that is released to you.

One row for each run, with the mean of each measure, its 95 % interval, and its tier: runs that share a letter do not
differ significantly. The rows are sorted by the main measure, which is the first, with the best run on top. With
--by-topic, the values of each topic, of the runs that you may open.

Exit status: 0 success, 1 nothing is released to you, 2 an option is wrong, 3 you are not logged in, 4 the site cannot
be reached.
"""

import argparse

from assay.cli.main import add, positive
from assay.cli.site import connect, print_json, print_table, track_of
from assay.client.server import ServerError

EXAMPLE = "assay results arqmath-2020"
CELLS = ("text", "low", "high", "tier")  # of a score


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "track", "--server")
    parser.add_argument(
        "--leaderboard", type=positive, metavar="N", help="number of a leaderboard (default: the newest)"
    )
    parser.add_argument("--by-topic", action="store_true", help="print the values of each topic")
    add(parser, "--json")


def run(arguments: argparse.Namespace) -> int:
    with connect(arguments) as server:
        track_of(server, arguments.track)
        number = arguments.leaderboard
        if not number:
            boards = server.rows(f"tracks/{arguments.track}/leaderboards/")
            ready = next((board for board in boards if board["status"] == "ready"), None)
            if ready is None:
                raise ServerError(f"no leaderboard of {arguments.track} is released to you", status=409)
            number = ready["id"]
        board = server.get(f"leaderboards/{number}/")
        content = board
        if arguments.by_topic:
            content = list(server.rows(f"leaderboards/{board['id']}/evaluations/"))
    if arguments.json:
        print_json(content)
    elif arguments.by_topic:
        values = (
            (row["tag"], topic, measure, f"{of_topic[measure]:.4f}")
            for row in content
            for topic, of_topic in row["topics"].items()
            for measure in board["measures"]
            if measure in of_topic
        )
        print_table(("run", "topic", "measure", "value"), values)
    else:
        header = ["team", "run", "kind"]
        for measure in board["measures"]:
            header += [measure, f"{measure} low", f"{measure} high", f"{measure} tier"]
        rows = (
            [
                row["team"],
                row["tag"],
                row["kind"],
                *(score[name] for score in row["scores"] for name in CELLS),
            ]
            for row in sorted(board["runs"], key=lambda row: -row["scores"][0]["value"])
        )
        print_table(header, rows)
    return 0
