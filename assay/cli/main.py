"""The command `assay`: subcommands for tasks that need only files, and for those of a participant at a site.

A subcommand is a module of `assay.cli.commands` with `add_arguments`, `run` and `EXAMPLE`. Only the module of the
subcommand that the user calls is imported: to import all of them would take longer than most commands run.
"""

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from assay.cli.options import Parser
from assay.errors import AssayError, InputWarning

COMMANDS = {
    "check": "check run files and list everything that is wrong with them",
    "pool": "build the pool of the runs in a manifest",
    "preview": "show the size of the pool and the hours of judging at every depth",
    "evaluate": "score runs with qrels",
    "judge": "let a program judge the units of a pool",
    "qrels": "convert qrels, split them by topic, or remove names from judgments",
    "agreement": "measure how far assessors agree",
    "tiers": "rank runs, with confidence intervals and tiers",
    "compare": "compare two runs topic by topic",
    "reuse": "test whether qrels can score runs that were not pooled",
    "curves": "print precision at levels of recall, and at cutoffs",
    "tables": "print the tables of an overview paper",
    "collection": "build a test collection from a dump or documents",
    "collections": "compare test collections side by side",
    "trec_eval": "evaluate a run as trec_eval 10.0 does, with its options and output",
    "slt": "print the SLT string of each formula",
    "cluster": "give formulas that look the same one visual id",
    "candidates": "choose topics among questions: distributions, samples by quotas, topics",
    "baseline": "make the run of a baseline: TF-IDF, BM25, Tangent-S or linked posts",
    "fuse": "fuse runs into one run",
    "preferences": "choose pairs of documents to judge, and value documents by the votes",
    "nuggets": "check and convert the nuggets of generated answers, and make qrels of them",
    "turkle": "make a lab of a project of Turkle",
    "label-studio": "make a lab of a project of Label Studio, or write one",
    "archive": "check the archive of a track",
    "login": "log in to a site",
    "topics": "list the topics of a track of a site",
    "submit": "submit runs to a track of a site",
    "runs": "list your runs in a track of a site",
    "watch": "follow a job, pool, leaderboard or run of a site",
    "results": "show the newest leaderboard of a track of a site",
    "download": "download the files of a track of a site",
    "site": "run any operation of a site: what its pages do, from a script",
    "protocol": "list, show or check protocols",
    "completion": "print the completion script of a shell",
}
EPILOG = """\
examples:
  assay check --protocol arqmath-2020-task1 --topics topics.txt runs/abacus.tsv
  assay evaluate --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv
  assay COMMAND --help

exit status: 0 success, 1 a run has errors, the site refuses, or nothing can be compared, 2 a file or an option
             cannot be used, 3 the site needs a login or another right, 4 the site cannot be reached, 130 interrupted"""
INTERRUPTED = 130  # as a shell reports a program that Ctrl-C ended

# OpenBLAS starts its threads when NumPy is imported. That takes 50 ms, and the commands hardly use them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Show the bytes of a file name that is not UTF-8, as stderr does.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", InputWarning)
                warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)  # noqa: T201
                return _run(sys.argv[1:] if argv is None else argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe, as head does; Python must not flush again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(words: Sequence[str]) -> int:
    if words[:1] == ["trec_eval"]:  # it parses its own options, such as -l2
        trec_eval_status: int = load("assay.trec_eval.command").main(words[1:])
        return trec_eval_status
    if not words or words[0] not in COMMANDS:
        # The help, or an error. The subcommands are listed here, as a table that is not wrapped.
        width = max(map(len, COMMANDS))
        commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
        description = (
            "Check and pool runs, score them, and analyze test collections. Take part in a track of a site. "
            "No database is needed."
        )
        overview = Parser("assay", usage="assay [-h] [--version] COMMAND ...", description=description)
        overview.epilog = f"commands:\n{commands}\n\n{EPILOG}"
        overview.add_argument(
            "command", metavar="COMMAND", choices=list(COMMANDS), help="one of the commands below"
        )
        overview.add_argument("--version", action=_Version, nargs=0, help="print the version")
        overview.parse_args(words[:1])  # exits
    name = words[0]
    command = command_of(name)
    parser = Parser(f"assay {name}", description=command.__doc__, example=command.EXAMPLE)
    command.add_arguments(parser)
    arguments = parser.parse_args(words[1:])
    try:
        status: int = command.run(arguments)
    except BrokenPipeError:
        raise
    except (AssayError, OSError) as error:
        action = getattr(arguments, "action", None)  # qrels and protocol have actions
        if str(error):
            print_error(f"{parser.prog} {action}" if action else parser.prog, error)
        return getattr(error, "exit_status", 2)
    return status


def command_of(name: str) -> Any:
    """The module of a subcommand."""
    return load(f"assay.cli.commands.{name.replace('-', '_')}")


def load(module: str) -> Any:
    """Import a module. No garbage is collected meanwhile: imports make none, and looking for it takes 15 ms."""
    gc.disable()
    loaded = import_module(module)
    gc.freeze()
    gc.enable()
    return loaded


def print_error(command: str, error: Exception) -> None:
    """Print what is wrong on standard error, with the name of the file if it cannot be read."""
    message = str(error)
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    first, *others = message.splitlines() or [""]
    print(f"{command}: {first}", *(f"  {line}" for line in others), sep="\n", file=sys.stderr)  # noqa: T201


class _Version(argparse.Action):
    """Print the version, which is imported only now."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from assay.version import VERSION  # noqa: PLC0415 -- few calls print it

        print(f"assay {VERSION}")  # noqa: T201
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
