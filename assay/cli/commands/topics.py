"""List the topics of a track of a site.

Columns: the code and the title, as plain text. With --codes, only the codes, as `assay check --topics` reads them. To
download the topic files as the organizers imported them, use `assay download TRACK topics`.
"""

import argparse
import re
from html import unescape

from assay.cli.main import add
from assay.cli.site import print_json, print_table, rows_of_track

EXAMPLE = "assay topics arqmath-2020 --codes > topics.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "track", "--server")
    parser.add_argument("--codes", action="store_true", help="print only the codes, one per line")
    add(parser, "--json")


def run(arguments: argparse.Namespace) -> int:
    topics = rows_of_track(arguments, "topics")
    if arguments.json:
        print_json(topics)
    elif arguments.codes:
        print("".join(f"{topic['code']}\n" for topic in topics), end="")  # noqa: T201
    else:
        titles = (re.sub(r"<[^<>]*>", "", topic["title"] or topic["latex"]) for topic in topics)  # HTML
        print_table(
            ("topic", "title"),
            ((topic["code"], unescape(title)) for topic, title in zip(topics, titles, strict=True)),
        )
    return 0
