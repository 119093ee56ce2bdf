"""Scoring on files alone: `python -m scoring evaluate --protocol P --qrels Q RUN...`"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple


class Command(NamedTuple):
    """A subcommand: the module with its `add_arguments` and `run`, imported only if it is asked for.

    One that reads its words itself has a `main` that takes them.
    """

    module: str
    help: str
    reads_words_itself: bool = False


COMMANDS = {
    "evaluate": Command("scoring.evaluate", "score runs against qrels"),
    "trec_eval": Command(
        "scoring.trec_eval.command", "evaluate a run as trec_eval 10.0 does", reads_words_itself=True
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in COMMANDS and COMMANDS[words[0]].reads_words_itself:
        its_status: int = import_module(COMMANDS[words[0]].module).main(words[1:])
        return its_status
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
