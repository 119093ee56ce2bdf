"""The options that several subcommands share. Each has the same name, meaning and help text in all of them."""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Never

SEED = 1
STDIN = "-"
SUFFIXES = {".gz", ".xz", ".zip", ".tsv", ".txt", ".trec", ".run", ".res"}
RUN_FILE = "run file: plain, gz, xz or zip; - for standard input"


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line and shows an example with its help."""

    def __init__(self, prog: str = "", *, example: str = "", **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(prog, epilog=f"example:\n  {example}" if example else None, **options)

    def error(self, message: str) -> Never:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def add_protocol(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    parser.add_argument(
        "--protocol",
        required=is_required,
        metavar="P",
        help="slug of a shipped protocol, or path of a .toml file",
    )


def add_topics(parser: argparse._ActionsContainer, *, is_required: bool = False) -> None:
    parser.add_argument(
        "--topics",
        required=is_required,
        type=input_path,
        metavar="FILE",
        help="topics: XML, or one code per line; plain, gz, xz or zip",
    )


def add_qrels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="qrels: topic, 0, docno, grade per line; plain, gz, xz or zip; - for standard input",
    )


def add_manifest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs",
        type=Path,
        required=True,
        metavar="MANIFEST",
        help="manifest of the runs, a CSV file with the columns file,team,tag,kind[,pooled_as]",
    )


def add_formulas(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--formulas",
        type=Path,
        action="append",
        default=[],
        metavar="INDEX",
        help="formula index, folder of indexes, or map from formula id to visual id; repeat it for more files",
    )


def add_duplicates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--duplicates",
        metavar="FILE",
        help="near-duplicates: topic, docno, and the docno that was judged instead, per line; a repeated one is not "
        "relevant",
    )


def add_posts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--posts",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="discussion forum in XML, whose posts runs of citations must cite; repeat it for more files",
    )


def add_units(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--units",
        choices=["distinct", "instances", "visual-ids"],
        help="units to score: distinct, visually distinct formulas, each at the rank of its first instance; "
        "instances, every row of the run; or visual-ids, every row, for runs that already name formulas by their "
        "visual ids (default: as the protocol says)",
    )
    add_formulas(parser)


def add_measures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="M",
        help="measure to compute instead of the protocol's, such as nDCG@10 or \"AP(rel=2)'\"; repeat it for more",
    )


def add_average(parser: argparse.ArgumentParser, common: str) -> None:
    parser.add_argument(
        "--average",
        choices=["judged", "common"],
        help=f"topics to average over: judged, all topics of the qrels, where a missing topic counts 0; or common, "
        f"{common} (default: as the protocol says)",
    )


def add_level(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--level",
        type=positive,
        metavar="GRADE",
        help="lowest grade that counts as relevant (default: the protocol's)",
    )


def add_labels(parser: argparse.ArgumentParser, effect: str) -> None:
    """`effect` is what the command does with the labels."""
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help=f"labels of topics: CSV, JSON, or topics as XML or JSON lines; {effect}",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME",
        help="label to use; repeat it for more (default: the topic classes of the protocol, or all labels with a few "
        "values that are words)",
    )


def add_seed(parser: argparse.ArgumentParser, *, is_required: bool = False) -> None:
    default = "" if is_required else f" (default: {SEED})"
    parser.add_argument(
        "--seed",
        type=seed,
        required=is_required,
        default=None if is_required else SEED,
        metavar="N",
        help=f"seed of all random choices; the same seed gives the same output{default}",
    )


def add_depth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--depth",
        type=depth,
        action="append",
        default=[],
        metavar="KIND=K",
        help="depth for a kind of run instead of the protocol's, such as primary=30; repeat it for each kind",
    )


def add_order(parser: argparse.ArgumentParser, orders: Iterable[str]) -> None:
    parser.add_argument("--order", choices=sorted(orders), help="order of judging instead of the protocol's")


def add_runs_per_team(parser: argparse.ArgumentParser, order: str) -> None:
    parser.add_argument(
        "--runs-per-team",
        type=positive,
        metavar="N",
        help=f"pool only the first N runs of each team, {order}; baselines and kinds of depth 0 do not count",
    )


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help=f"format of the output (default: {formats[0]})"
    )


def add_output(parser: argparse.ArgumentParser, extra: str = "") -> None:
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help=f"write to FILE instead of standard output{extra}"
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quiet", action="store_true", help="print only errors on standard error: no progress, no summary"
    )


def add_processes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--processes",
        type=n_processes,
        metavar="N",
        help="number of processes (default: one per processor if the files are large)",
    )


def names_of_runs(paths: Sequence[str]) -> dict[str, str]:
    """The name of each run in the output: its file name without suffixes, or its path if two names would be equal."""
    stems = {path: _stem(path) for path in paths}
    n_runs = Counter(stems.values())
    return {path: path if n_runs[stem] > 1 else stem for path, stem in stems.items()}


def _stem(path: str) -> str:
    name = Path(path)
    while name.suffix.lower() in SUFFIXES and name.stem:
        name = name.with_suffix("")
    return name.name if path != STDIN else "stdin"


def input_path(text: str) -> Path:
    """The path of a file to read; - is standard input."""
    return Path("/dev/stdin") if text == "-" else Path(text)


def positive(text: str) -> int:
    """A whole number from 1."""
    return _whole(text, 1, 10**7, "10000000")


def seed(text: str) -> int:
    """A seed: a whole number from 0."""
    return _whole(text, 0, 2**63 - 1, "2^63 - 1")


def n_processes(text: str) -> int:
    """A number of processes."""
    return _whole(text, 1, 1024, "1024")


def _whole(text: str, least: int, most: int, most_in_words: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 19 or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most_in_words}")
    return int(text)


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
