"""Scoring on files alone: `python -m scoring evaluate --protocol P --qrels Q RUN...`"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple


class Command(NamedTuple):
    """A subcommand: the module with its `add_arguments` and `run`, imported only if it is asked for."""

    module: str
    help: str


COMMANDS = {
    "evaluate": Command("scoring.evaluate", "score runs against qrels"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="python -m scoring", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.help, add_help=False)
    chosen = parser.parse_args(words[:1]).command
    module = import_module(COMMANDS[chosen].module)
    arguments = argparse.ArgumentParser(prog=f"python -m scoring {chosen}", description=module.__doc__)
    module.add_arguments(arguments)
    status: int = module.run(arguments.parse_args(words[1:]))
    return status


if __name__ == "__main__":
    sys.exit(main())
