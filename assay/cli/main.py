"""Scoring on files alone: `python -m scoring evaluate --protocol P --qrels Q RUN...`"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from assay.cli.console import print_any_name


class Command(NamedTuple):
    """A subcommand: the module with its `add_arguments` and `run`, imported only if it is asked for.

    One that reads its words itself has a `main` that takes them.
    """

    module: str
    help: str
    reads_words_itself: bool = False


COMMANDS = {
    "evaluate": Command("assay.cli.evaluate", "score runs against qrels"),
    "qrels": Command("assay.cli.qrels", "write qrels in other forms, split or without names"),
    "compare": Command("assay.cli.compare", "two runs: difference by topic, significance, overlap"),
    "tiers": Command("assay.cli.tiers", "runs in order, with intervals, and which are not told apart"),
    "reuse": Command("assay.cli.reuse", "a team left out, shallower pools, fewer topics"),
    "report": Command("assay.cli.report", "units a topic, rankings by label and by other qrels, curves"),
    "agreement": Command("assay.cli.agreement", "how far judges agree"),
    "trec_eval": Command(
        "assay.trec_eval.command", "evaluate a run as trec_eval 10.0 does", reads_words_itself=True
    ),
}


# OpenBLAS starts its threads when NumPy is loaded: a twentieth of a second, for hardly any work that they would do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    print_any_name()
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
