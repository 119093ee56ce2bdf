"""List the topics of a track of a site.

Columns: the code and the title, as plain text. With --codes, only the codes, as `assay check --topics` reads them. To
download the topic files as the organizers imported them, use `assay download TRACK topics`.
"""

import argparse
import re
from html import unescape

from assay.cli.site import add_json, add_server, add_track, connect, print_json, print_table, track_of

EXAMPLE = "assay topics arqmath-2020 --codes > topics.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_track(parser)
    add_server(parser)
    parser.add_argument("--codes", action="store_true", help="print only the codes, one per line")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    with connect(arguments) as server:
        track_of(server, arguments.track)
        topics = list(server.rows(f"tracks/{arguments.track}/topics/"))
    if arguments.json:
        print_json(topics)
    elif arguments.codes:
        print("".join(f"{topic['code']}\n" for topic in topics), end="")  # noqa: T201
    else:
        print_table(
            ("topic", "title"),
            ((topic["code"], _plain(topic["title"] or topic["latex"])) for topic in topics),
        )
    return 0


def _plain(html: str) -> str:
    """The text of sanitized HTML, for a terminal."""
    return unescape(re.sub(r"<[^<>]*>", "", html))
