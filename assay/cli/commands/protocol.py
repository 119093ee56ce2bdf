"""List the protocols that ship with Assay, show one in words or as TOML, or check a protocol file of your own.

Exit status: 0 success, 2 a protocol does not exist or has errors.
"""

import argparse
from pathlib import Path

from assay.cli.main import print_error
from assay.cli.options import Parser
from assay.errors import InputError
from assay.protocols.description import facts
from assay.protocols.loader import load_protocol, shipped_slugs, shipped_text

EXAMPLE = "assay protocol show arqmath-2020-task1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action", parser_class=Parser)
    actions.add_parser(
        "list",
        help="print the slug and the title of each shipped protocol",
        example="assay protocol list",
    )
    show = actions.add_parser("show", help="describe a protocol in words", example=EXAMPLE)
    show.add_argument("protocol", metavar="P", help="slug of a shipped protocol, or path of a .toml file")
    show.add_argument("--toml", action="store_true", help="print the TOML file itself")
    check = actions.add_parser(
        "check",
        help="check protocol files and name what is wrong",
        example="assay protocol check protocol.toml",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="a .toml file")


def run(arguments: argparse.Namespace) -> int:
    return {"list": _list, "show": _show, "check": _check}[arguments.action](arguments)


def _list(_: argparse.Namespace) -> int:
    width = max(map(len, shipped_slugs()))
    for slug in shipped_slugs():
        print(f"{slug:<{width}}  {load_protocol(slug).title}")  # noqa: T201
    return 0


def _show(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol)
    if arguments.toml:
        is_shipped = arguments.protocol in shipped_slugs()
        text = shipped_text(arguments.protocol) if is_shipped else Path(arguments.protocol).read_text()
        print(text, end="")  # noqa: T201
        return 0
    print(f"{protocol.title}\n")  # noqa: T201
    for name, text in facts(protocol):
        print(f"{name}: {text}")  # noqa: T201
    return 0


def _check(arguments: argparse.Namespace) -> int:
    status = 0
    for file in arguments.files:
        try:
            protocol = load_protocol(file)
        except (InputError, OSError) as error:
            print_error("assay protocol check", error)
            status = 2
        else:
            print(f"{file}: no errors ({protocol.title})")  # noqa: T201
    return status
