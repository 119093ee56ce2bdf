"""The command `assay`: one subcommand for each thing that can be done with files alone.

A subcommand is a module of `assay.cli.commands` with `add_arguments`, `run` and `EXAMPLE`. Only the module that is
asked for is imported: loading all of them would take longer than most commands.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from assay.cli.console import print_any_name

COMMANDS = {
    "check": "check run files and name everything that is wrong with them",
    "pool": "build the pool of the runs of a manifest",
    "preview": "show the size of a pool, and the hours of judging, at each depth",
    "evaluate": "score runs against qrels",
    "qrels": "convert qrels, split them, or remove names from judgments",
    "agreement": "measure how far assessors agree",
    "tiers": "rank runs, with confidence intervals and tiers",
    "compare": "compare two runs topic by topic",
    "reuse": "test whether qrels can score runs that were not pooled",
    "report": "print the tables of a lab overview",
    "trec_eval": "evaluate a run as trec_eval 10.0 does, with its options and output",
    "slt": "print the SLT string of each formula",
    "cluster": "give formulas that look alike one visual id",
    "protocol": "list, show or check protocols",
    "completion": "print the completion script of a shell",
}
EPILOG = """\
examples:
  assay check --protocol arqmath-2021-task1 run.tsv
  assay evaluate --protocol arqmath-2021-task1 --qrels qrels.txt run1.tsv run2.tsv
  assay COMMAND --help

exit status: 0 success, 1 a run has errors, 2 a file or an option cannot be used"""

# OpenBLAS starts its threads when NumPy is loaded: a twentieth of a second, and hardly any work for them to do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status."""
    print_any_name()
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["trec_eval"]:  # it has options of its own form, such as -l2
        trec_eval = import_module("assay.trec_eval.command")
        its_status: int = trec_eval.main(words[1:])
        return its_status
    name = _overview().parse_args(words[:1]).command
    command = import_module(f"assay.cli.commands.{name}")
    parser = argparse.ArgumentParser(
        prog=f"assay {name}",
        description=command.__doc__,
        epilog=f"example:\n  {command.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    status: int = command.run(parser.parse_args(words[1:]))
    return status


def _overview() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="assay",
        description="Check and pool runs, score them, and analyze test collections. No database is needed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    return parser


class _Version(argparse.Action):
    """Prints the version; it is looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(message=f"assay {import_module('assay.version').VERSION}\n")


if __name__ == "__main__":
    sys.exit(main())
