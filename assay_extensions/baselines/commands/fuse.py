"""Fuse runs of one track into one run, topic by topic.

Runs are files in the protocol's formats; the fused run is written in the first of its forms of lines. With `--train`,
the method learns from qrels of some topics, or its weights or its constant are those that are best for these topics.
"""

import argparse
import math
from collections.abc import Sequence

from assay.cli.formulas import note
from assay.cli.inputs import bar
from assay.cli.main import add, check_stdin, positive
from assay.errors import InputError, plural
from assay.formats.qrels.reader import read_qrels
from assay.formats.runs.reader import read_run
from assay.formats.topics.codes import read_topic_codes
from assay.fusion import METHODS, NORMS, RRF_K, Fusion, fuse
from assay.protocols.loader import load_protocol
from assay.protocols.measures import Measure, parse_measure
from assay.ranking import depth_of, line_form
from assay.research.trained_fusion import Training, train
from assay_extensions.baselines.commands.runs import add_run_options, write_run_file

EXAMPLE = "assay fuse --protocol arqmath-2020-task1 --output fused.tsv runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--protocol", "--topics")
    parser.add_argument(
        "--method",
        choices=list(METHODS),
        default="sum",
        metavar="METHOD",
        help="; ".join(f"{name}: {facts.title}" for name, facts in METHODS.items()) + " (default: sum)",
    )
    parser.add_argument(
        "--norm",
        choices=list(NORMS),
        default="min-max",
        metavar="NORM",
        help="how the scores of each run and topic are normalized; methods of ranks do not use them: "
        + "; ".join(f"{name}: {title}" for name, title in NORMS.items())
        + " (default: min-max)",
    )
    parser.add_argument(
        "--weights", type=_weights, default=[], metavar="W,W", help="weight of each run (default: 1 for each)"
    )
    parser.add_argument(
        "--rrf-k",
        type=positive,
        default=RRF_K,
        metavar="K",
        help=f"the constant that rrf adds to ranks (default: {RRF_K})",
    )
    parser.add_argument(
        "--constant",
        type=float,
        metavar="C",
        help="; ".join(f"of {name}: {facts.needs}" for name, facts in METHODS.items() if facts.needs),
    )
    parser.add_argument(
        "--train",
        metavar="QRELS",
        help="qrels of topics of the runs, from which the method learns, or its weights or constant are chosen; "
        "score the fused run with other topics",
    )
    parser.add_argument(
        "--measure",
        default="nDCG",
        metavar="NAME",
        help="with --train: the measure by which weights or a constant are chosen (default: nDCG)",
    )
    add_run_options(parser, tag="fused")
    add(parser, "runs")


def _weights(text: str) -> list[float]:
    try:
        weights = [float(word) for word in text.split(",")]
    except ValueError:
        weights = []
    if not weights or not all(math.isfinite(weight) for weight in weights) or min(weights) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0, such as 2,1")
    return weights


def run(arguments: argparse.Namespace) -> int:
    paths: Sequence[str] = arguments.runs
    check_stdin([*filter(None, [arguments.train]), *paths])
    protocol = load_protocol(arguments.protocol)
    line_form(protocol)
    if arguments.train and protocol.scoring.collapse_instances:
        raise InputError(
            f"fusion learns from documents; the qrels of {protocol.slug} grade distinct formulas"
        )
    runs = [read_run(path, protocol) for path in bar(paths, "reading", "run", is_quiet=arguments.quiet)]
    known = read_topic_codes(arguments.topics) if arguments.topics else None
    for path, columns in zip(paths, runs, strict=True):
        others = sorted(set(columns.topics.tolist()) - set(known)) if known is not None else []
        if others:
            raise InputError(f"{path}: topic {others[0]} is not in the topics")
    fusion = Fusion(arguments.method, arguments.norm, arguments.weights, arguments.rrf_k, arguments.constant)
    if arguments.train:
        qrels = read_qrels(arguments.train, protocol)
        level = protocol.scoring.relevant_from
        measure = parse_measure(arguments.measure)
        training = train(runs, qrels, fusion, measure=measure, level=level)
        note(_learned(training, measure), arguments)
        fusion = training.fusion
    fused = fuse(runs, fusion, depth=depth_of(protocol, arguments.depth))
    topics = known or sorted({code for columns in runs for code in columns.topics.tolist()})
    return write_run_file(fused, arguments, protocol=protocol, topics=topics)


def _learned(training: Training, measure: Measure) -> str:
    """A sentence about what was learned: `learned from 5 topics: weights 0.3,0.7 (nDCG 0.6123)`."""
    fusion, topics = training.fusion, plural(training.n_topics, "topic")
    if training.value is None:
        return f"learned from {topics}"
    settings = f"constant {fusion.constant:g}" if fusion.constant is not None else f"k {fusion.k}"
    if fusion.weights:
        settings = f"weights {','.join(f'{weight:g}' for weight in fusion.weights)}"
    return f"learned from {topics}: {settings} ({measure} {training.value:.4f})"
