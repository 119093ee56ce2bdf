"""List the protocols that ship with Assay, show one in words or as TOML, or check a protocol file of your own.

Exit status: 0 success, 2 a protocol does not exist or has errors.
"""

import argparse
import sys

from assay.protocols.description import facts
from assay.protocols.loader import ProtocolError, load_protocol, shipped_slugs, shipped_text

EXAMPLE = "assay protocol show arqmath-2021-task1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `assay protocol`."""
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action")
    actions.add_parser("list", help="print the slug and the title of each shipped protocol")
    show = actions.add_parser("show", help="print what a protocol says")
    show.add_argument("protocol", metavar="P", help="slug of a shipped protocol, or path of a .toml file")
    show.add_argument(
        "--toml", action="store_true", help="print the TOML of a shipped protocol instead of words"
    )
    check = actions.add_parser("check", help="check protocol files and name every error")
    check.add_argument("files", nargs="+", metavar="FILE", help="a .toml file")


def run(arguments: argparse.Namespace) -> int:
    """Run an action; 2 if a protocol cannot be used."""
    actions = {"list": _list, "show": _show, "check": _check}
    try:
        return actions[arguments.action](arguments)
    except (ProtocolError, OSError) as error:
        print(f"assay protocol: {error}", file=sys.stderr)  # noqa: T201
        return 2


def _list(_: argparse.Namespace) -> int:
    width = max(map(len, shipped_slugs()))
    for slug in shipped_slugs():
        print(f"{slug:<{width}}  {load_protocol(slug).title}")  # noqa: T201
    return 0


def _show(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol)
    if arguments.toml and arguments.protocol in shipped_slugs():
        print(shipped_text(arguments.protocol), end="")  # noqa: T201
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
        except (ProtocolError, OSError) as error:
            print(f"{error}", file=sys.stderr)  # noqa: T201
            status = 2
        else:
            print(f"{file}: no errors ({protocol.title})")  # noqa: T201
    return status
