"""The command `assay`: its subcommands, and the options that several of them share.

There are subcommands for tasks that need only files, and for those of a participant at a site. A subcommand is a
module of `assay.cli.commands`, or of an extension, with `add_arguments`, `run` and `EXAMPLE`. Only the module of the
subcommand that the user calls is imported: to import all of them would take longer than most commands run. A shared
option has the same name, meaning and help text in all of them.
"""

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Never

from assay.errors import AssayError, InputError, InputWarning
from assay.extensions import ExtensionError, Point, Reference, Registry


@dataclass(frozen=True)
class Command(Point):
    """A command of `assay`. Its title is in the list of commands, without a capital letter and a period.

    Attributes:
        module: the module with `add_arguments(parser)`, `run(arguments)`, which returns the exit status, and `EXAMPLE`.
            Its docstring is the help. Without one: the module of that name in `assay.cli.commands`.
        main: reference of `main(words)`, which returns the exit status. It takes the place of a module for a command
            with options that `argparse` cannot read, such as `-l2`.
    """

    noun = "command"

    module: Annotated[str, "add_arguments", "run"] = ""
    main: Reference = ""


COMMANDS = Registry(
    Command,
    [
        Command("check", "check run files and list everything that is wrong with them"),
        Command("pool", "build the pool of the runs in a manifest"),
        Command("preview", "show the size of the pool and the hours of judging at every depth"),
        Command("evaluate", "score runs with qrels"),
        Command("qrels", "convert qrels, split them by topic, or remove names from judgments"),
        Command("agreement", "measure how far assessors agree"),
        Command("tiers", "rank runs, with confidence intervals and tiers"),
        Command("compare", "compare two runs topic by topic"),
        Command("curves", "print precision at levels of recall, and at cutoffs"),
        Command("slt", "print the SLT string of each formula"),
        Command("cluster", "give formulas that look the same one visual id"),
        Command("candidates", "choose topics among questions: distributions, samples by quotas, topics"),
        Command("preferences", "choose pairs of documents to judge, and value documents by the votes"),
        Command("nuggets", "check and convert the nuggets of generated answers, and make qrels of them"),
        Command("archive", "check the archive of a track"),
        Command("login", "log in to a site"),
        Command("topics", "list the topics of a track of a site"),
        Command("submit", "submit runs to a track of a site"),
        Command("runs", "list your runs in a track of a site"),
        Command("watch", "follow a job, pool, leaderboard or run of a site"),
        Command("results", "show the newest leaderboard of a track of a site"),
        Command("download", "download the files of a track of a site"),
        Command("site", "run any operation of a site: what its pages do, from a script"),
        Command("protocol", "list, show or check protocols"),
        Command("extensions", "list the extensions that are installed"),
        Command("completion", "print the completion script of a shell"),
    ],
)
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
    except ExtensionError as error:  # before a command is known
        print_error("assay", error)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(words: Sequence[str]) -> int:
    if not words or words[0] not in COMMANDS:
        # The help, or an error. The subcommands are listed here, as a table that is not wrapped.
        width = max(map(len, COMMANDS))
        commands = "\n".join(f"  {name:<{width}}  {command.title}" for name, command in COMMANDS.items())
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
    if COMMANDS[name].main:
        own_status: int = load(name)(words[1:])
        return own_status
    command = load(name)
    parser = Parser(f"assay {name}", description=command.__doc__, example=getattr(command, "EXAMPLE", ""))
    command.add_arguments(parser)
    # Its fields may follow options; argparse cannot do so with actions, nor name all that is missing.
    parse = parser.parse_intermixed_args if name == "site" else parser.parse_args
    arguments = parse(words[1:])
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


def load(name: str) -> Any:
    """The module of a command, or its `main`.

    No garbage is collected meanwhile: imports make none, and looking for it takes 15 ms.

    Raises:
        ExtensionError: It is of an extension, and cannot be imported.
    """
    gc.disable()
    COMMANDS.check(name)
    command = COMMANDS[name]
    module = command.module or f"assay.cli.commands.{name.replace('-', '_')}"
    loaded = resolve_name(command.main or module)
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 10, 50)  # the rows of a file are many objects and no garbage
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


SEED = 1
TOKEN, SERVER = "ASSAY_TOKEN", "ASSAY_SERVER"  # variables


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line and shows an example with its help."""

    def __init__(self, prog: str = "", *, example: str = "", **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(prog, epilog=f"example:\n  {example}" if example else None, **options)

    def error(self, message: str) -> Never:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def input_path(text: str) -> Path:
    """The path of a file to read; - is standard input."""
    return Path("/dev/stdin") if text == "-" else Path(text)


def whole_number(least: int, most: int, most_in_words: str = "") -> Callable[[str], int]:
    """The type of options that are whole numbers within limits."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 19 or not least <= int(text) <= most:
            words = most_in_words or most
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {words}")
        return int(text)

    return read


positive = whole_number(1, 10**7)
seed = whole_number(0, 2**63 - 1, "2^63 - 1")


def share(text: str) -> float:
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value


def depth(text: str) -> tuple[str, int]:
    """The depth of a kind of run: `KIND=K`."""
    kind, equals, number = text.partition("=")
    if not equals or not number.isascii() or not number.isdigit() or len(number) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not KIND=K, such as primary=45")
    return kind, int(number)


NO_PROTOCOL = " (default: none, so name the measures; runs may have any depth, and qrels any grade)"
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "runs": {
        "nargs": "+",
        "metavar": "RUN",
        "help": "run file: plain, gz, xz, bz2 or zip; - for standard input",
    },
    "track": {"metavar": "TRACK", "help": "short name of the track, as in its address"},
    "--server": {
        "metavar": "URL",
        "default": "",
        "help": f"address of the site (default: the variable {SERVER}, or the site of your latest login)",
    },
    "--team": {"default": "", "help": "name of your team in the track (default: your only one)"},
    "--seconds": {
        "type": Path,
        "metavar": "FILE",
        "help": "file of topic and seconds, for one run under a protocol that limits the time",
    },
    "--json": {"action": "store_true", "help": "print what the site answers, as JSON"},
    "--protocol": {
        "required": True,
        "metavar": "P",
        "help": "slug of a shipped protocol, or path of a .toml file; with :SET, for a set of its qrels{}",
    },
    "--topics": {
        "type": input_path,
        "metavar": "FILE",
        "help": "topics: XML, or one code per line; plain, gz, xz, bz2 or zip",
    },
    "--qrels": {
        "required": True,
        "metavar": "FILE",
        "help": "qrels: topic, 0, docno, grade per line; plain, gz, xz, bz2 or zip; - for standard input",
    },
    "--runs": {
        "type": Path,
        "required": True,
        "metavar": "MANIFEST",
        "help": "manifest of the runs, a CSV file with the columns file,team,tag,kind[,pooled_as]",
    },
    "--formulas": {
        "type": Path,
        "action": "append",
        "default": [],
        "metavar": "INDEX",
        "help": "formula index, folder of indexes, or map from formula id to visual id; repeat it for more files",
    },
    "--duplicates": {
        "metavar": "FILE",
        "help": "near-duplicates: topic, docno, and the docno that was judged instead, per line; a repeated one is not "
        "relevant",
    },
    "--ignore-topic-documents": {
        "action": "store_true",
        "help": "leave out documents with the id of their topic, as BEIR does for ArguAna and Quora",
    },
    "--posts": {
        "type": Path,
        "action": "append",
        "default": [],
        "metavar": "FILE",
        "help": "discussion forum in XML, whose posts runs of citations must cite; repeat it for more files",
    },
    "--units": {
        "choices": ["distinct", "instances", "visual-ids"],
        "help": "units to score: distinct, visually distinct formulas, each at the rank of its first instance; "
        "instances, every row of the run; or visual-ids, every row, for runs that already name formulas by their "
        "visual ids (default: as the protocol says)",
    },
    "--measure": {
        "action": "append",
        "default": [],
        "metavar": "M",
        "help": "measure to compute instead of the protocol's, such as nDCG@10 or \"AP(rel=2)'\"; repeat it for more",
    },
    "--level": {
        "type": positive,
        "metavar": "GRADE",
        "help": "lowest grade that counts as relevant (default: the protocol's)",
    },
    "--label": {
        "action": "append",
        "default": [],
        "metavar": "NAME",
        "help": "label to use; repeat it for more (default: the topic classes of the protocol, or all labels with a "
        "few values that are words)",
    },
    "--depth": {
        "type": depth,
        "action": "append",
        "default": [],
        "metavar": "KIND=K",
        "help": "depth for a kind of run instead of the protocol's, such as primary=30; repeat it for each kind",
    },
    "--scale": {
        "type": int,
        "default": 1,
        "metavar": "N",
        "help": "multiply every grade of the qrels by N, so that fractions become whole numbers{} (default: 1)",
    },
    "--table": {"metavar": "NAME", "help": "print only this table"},
    "--average": {
        "choices": ["judged", "common"],
        "help": "topics to average over: judged, all topics of the qrels, where a missing topic counts 0; or common, "
        "{} (default: as the protocol says)",
    },
    "--seed": {
        "type": seed,
        "default": SEED,
        "metavar": "N",
        "help": "seed of all random choices; the same seed gives the same output{}",
    },
    "--order": {"help": "order of judging instead of the protocol's"},
    "--runs-per-team": {
        "type": positive,
        "metavar": "N",
        "help": "pool only the first N runs of each team, {}; baselines and kinds of depth 0 do not count",
    },
    "--format": {"help": "format of the output (default: {})"},
    "--output": {"type": Path, "metavar": "FILE", "help": "write to FILE instead of standard output{}"},
    "--quiet": {
        "action": "store_true",
        "help": "print only errors on standard error: no progress, no summary",
    },
    "--processes": {
        "type": whole_number(1, 1024),
        "metavar": "N",
        "help": "number of processes (default: one per processor if the files are large)",
    },
}


def add(parser: argparse._ActionsContainer, *names: str, words: str = "", **changes: Any) -> None:
    """Add shared options. `words` complete their help; `changes` replace what they have in other commands."""
    for name in names:
        option = OPTIONS[name]
        text = option["help"].replace("{}", words)
        parser.add_argument(name, **{**option, "help": text, **changes})


def add_actions(
    parser: argparse.ArgumentParser, metavar: str = "ACTION"
) -> "argparse._SubParsersAction[Parser]":
    """Return the actions of a command. One of them must be given; `arguments.action` has its name."""
    return parser.add_subparsers(required=True, metavar=metavar, dest="action", parser_class=Parser)


def add_seed(parser: argparse.ArgumentParser, *, is_required: bool = False) -> None:
    if is_required:
        add(parser, "--seed", required=True, default=None, words="")
    else:
        add(parser, "--seed", words=f" (default: {SEED})")


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    add(parser, "--format", choices=formats, default=formats[0], words=formats[0])


def check_stdin(paths: Sequence[str]) -> None:
    """Refuse to read standard input twice.

    Raises:
        InputError: Two of the paths are `-`.
    """
    if paths.count("-") > 1:
        raise InputError("standard input (-) can be read only once")


@contextmanager
def progress_bar(
    name: str, total: int | None, *, unit: str = "B", is_quiet: bool
) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, and what sets it to a number of units."""
    if is_quiet or not sys.stderr.isatty():
        yield lambda n: None
        return
    from tqdm import tqdm  # noqa: PLC0415 -- slow to import, and rarely shown

    tqdm.monitor_interval = 0  # no thread, so that this process can be forked
    with tqdm(desc=name, total=total, unit=unit, unit_scale=unit == "B", leave=False) as bar:

        def show(n: int) -> None:
            bar.update(n - bar.n)

        yield show


if __name__ == "__main__":
    sys.exit(main())
