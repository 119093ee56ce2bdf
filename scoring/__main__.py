"""Scoring on files alone: `python -m scoring evaluate --protocol P --qrels Q RUN...`"""

import argparse
import sys
from collections.abc import Sequence

from scoring import evaluate


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    parser = argparse.ArgumentParser(prog="python -m scoring", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("evaluate", help="score runs against qrels", description=evaluate.__doc__)
    evaluate.add_arguments(command)
    command.set_defaults(run=evaluate.run)
    arguments = parser.parse_args(argv)
    status: int = arguments.run(arguments)
    return status


if __name__ == "__main__":
    sys.exit(main())
