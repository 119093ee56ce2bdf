"""Estimate values of runs from the judgments of a machine and of people, and check how reliable the machine is.

The machine judged all units of a pool, people a sample of them, or all units of some topics.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from assay.cli.inputs import add_random_options, bar, randomness
from assay.cli.main import NO_PROTOCOL, add, add_actions, add_seed, check_stdin, positive, share
from assay.cli.tables import add_table_options, print_tables, write_output
from assay.errors import InputError
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.reader import read_run
from assay.research.comparison import read_inputs
from assay.research.evaluation import Scoring, named_runs
from assay_extensions.estimates import designs
from assay_extensions.estimates.bias_tables import bias_tables, repeat_table, reranked_table
from assay_extensions.estimates.next_units import Next
from assay_extensions.estimates.reading import (
    Drawn,
    Machine,
    read_attributes,
    read_people,
    read_sample,
    read_texts,
    sample_lines,
)
from assay_extensions.estimates.strata import STRATA, USUAL, spread_of, strata_of, weights_together
from assay_extensions.estimates.value_tables import next_tables, sampled_values, share_tables, whole_values
from assay_extensions.estimates.weights import Floats

NO_PEOPLE = "give --sample, --people, or both"
EXAMPLE = (
    "assay estimate sample --machine qrels.txt --measure DCG@5 --share 0.2 runs/abacus.tsv runs/lemma.tsv"
)
ACTIONS = {
    "sample": "draw units for people, with the probability of each to be in the sample",
    "values": "print values of runs with intervals, from a sample or from whole topics",
    "share": "print a share of units, corrected by the machine's errors",
    "bias": "print where the machine is lenient",
    "next": "print the units that people should judge next",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    made = {name: actions.add_parser(name, help=words) for name, words in ACTIONS.items()}
    for name, action in made.items():
        action.description = f"{ACTIONS[name][0].upper()}{ACTIONS[name][1:]}."
        if name != "share":
            add(action, "runs")
        add(action, "--protocol", required=False, words=NO_PROTOCOL)
        action.add_argument(
            "--machine", required=True, metavar="FILE", help="the machine's qrels, of all units of the pool"
        )
        if name != "share":
            add(action, "--measure")
        action.add_argument(
            "--people",
            required=name == "share",
            metavar="FILE",
            help="people's qrels of a pilot: strata in which they differ more from the machine get more units"
            if name == "sample"
            else "people's qrels: of the sample, or of all units of some topics",
        )
        if name in {"values", "bias", "next"}:
            action.add_argument(
                "--sample",
                required=name == "next",
                metavar="FILE",
                help="sample as `assay estimate sample` writes it; people's grades are in it, or in --people",
            )
        if name != "sample":
            add_table_options(action)
    _add_sample(made["sample"])
    add_random_options(made["values"])
    add(made["share"], "--level")
    made["share"].add_argument(
        "--plan",
        type=positive,
        metavar="N",
        help="also say how N more units should be divided into yes and no",
    )
    _add_bias(made["bias"])
    made["next"].add_argument(
        "--units",
        type=positive,
        default=60,
        metavar="N",
        help="units that people judge in an hour (default: 60)",
    )
    made["next"].add_argument(
        "--differences",
        action="store_true",
        help="narrow the intervals of differences of runs that are next to each other, instead of those of runs",
    )
    made["next"].add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write the sample with these units to FILE, to enter people's grades",
    )


def _add_sample(parser: argparse.ArgumentParser) -> None:
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument(
        "--share", type=share, metavar="S", help="share of the units of each topic, such as 0.05"
    )
    size.add_argument("--units", type=positive, metavar="N", help="number of units, drawn from strata")
    parser.add_argument(
        "--stratum",
        action="append",
        choices=STRATA,
        default=[],
        help="with --units: strata by the machine's grade, the best rank (1-10, 11-50, deeper, no run), or the run "
        "with the best rank; repeat it to combine them (default: grade and rank)",
    )
    parser.add_argument(
        "--fit",
        type=Path,
        metavar="FILE",
        help="write the sample of half of the topics to FILE, to fit thresholds and prompts on it; the other half is "
        "for estimates",
    )
    add_seed(parser)
    add(parser, "--output", "--quiet")


def _add_bias(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--family",
        action="append",
        default=[],
        metavar="RUN",
        help="name of a run that used a model of the machine's family; repeat it for more",
    )
    parser.add_argument(
        "--documents",
        metavar="FILE",
        help="documents in lines of JSON, for the effects of length and, with --topics, of words",
    )
    add(parser, "--topics")
    parser.add_argument(
        "--attributes",
        metavar="FILE",
        help="numbers of units, such as their position in a call: topic, docno, and a column for each, with a header, "
        "separated by tabs",
    )
    parser.add_argument("--repeat", metavar="FILE", help="qrels of the same machine, asked a second time")
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="run that is put in the order of the machine's grades: what it gains by the machine, and by people",
    )


def run(arguments: argparse.Namespace) -> int:
    actions: Mapping[str, Callable[[argparse.Namespace], int]] = {
        "sample": _sample,
        "values": _values,
        "share": _share,
        "bias": _bias,
        "next": _next,
    }
    return actions[arguments.action](arguments)


def _machine(arguments: argparse.Namespace) -> Machine:
    files = [arguments.machine, arguments.people, getattr(arguments, "sample", None)]
    check_stdin([*(path for path in files if path), *arguments.runs])
    inputs = read_inputs(
        arguments.machine,
        named_runs(arguments.runs),
        arguments.measure,
        Scoring(protocol=arguments.protocol),
        shown=lambda runs: bar(runs, "reading", "run", is_quiet=arguments.quiet),
    )
    return Machine(inputs, arguments.machine)


def _people(arguments: argparse.Namespace, machine: Machine) -> QrelsColumns | None:
    if arguments.people is None:
        return None
    return read_people(arguments.people, machine.inputs.protocol, machine)


def _drawn(arguments: argparse.Namespace, machine: Machine) -> Drawn:
    """The units that people judged: the sample, or without one all units of their qrels, which were certain."""
    people = _people(arguments, machine)
    if arguments.sample:
        return read_sample(arguments.sample, machine.inputs.protocol, machine, people)
    if people is None:
        raise InputError(NO_PEOPLE)
    return machine.drawn_by(people)


def _sample(arguments: argparse.Namespace) -> int:
    if arguments.share and arguments.stratum:
        raise InputError("--stratum is for --units; with --share, units are drawn by their weight")
    machine = _machine(arguments)
    topic, n_topics = machine.judged.topic, machine.n_topics
    if arguments.share:
        sample = designs.by_weight(
            weights_together(machine), topic, n_topics, share=arguments.share, seed=arguments.seed
        )
    else:
        stratum = strata_of(machine, arguments.stratum or USUAL)
        spread = spread_of(machine, stratum, _people(arguments, machine))
        sample = designs.stratified(stratum, spread, arguments.units, seed=arguments.seed)
    rows = np.arange(len(topic))
    if arguments.fit:
        is_for_fit = designs.split(n_topics, seed=arguments.seed)[topic]
        arguments.fit.write_bytes(sample_lines(machine, sample, rows[is_for_fit]))
        rows = rows[~is_for_fit]
    return write_output(sample_lines(machine, sample, rows), arguments.output)


def _values(arguments: argparse.Namespace) -> int:
    machine, tests = _machine(arguments), randomness(arguments)
    if arguments.sample:
        tables = sampled_values(machine, _drawn(arguments, machine), tests)
    elif (people := _people(arguments, machine)) is not None:
        tables = whole_values(machine, people, tests)
    else:
        raise InputError(NO_PEOPLE)
    return print_tables(tables, arguments)


def _share(arguments: argparse.Namespace) -> int:
    scoring = Scoring(protocol=arguments.protocol, level=arguments.level)
    inputs = read_inputs(arguments.machine, {}, ["P@1"], scoring)
    machine = Machine(inputs, arguments.machine)
    people = machine.drawn_by(read_people(arguments.people, inputs.protocol, machine))
    return print_tables(share_tables(machine, people, inputs.level, arguments.plan), arguments)


def _bias(arguments: argparse.Namespace) -> int:
    if arguments.topics and not arguments.documents:
        raise InputError("--topics is for --documents")
    machine = _machine(arguments)
    drawn, protocol = _drawn(arguments, machine), machine.inputs.protocol
    attributes: dict[str, Floats] = {}
    if arguments.documents:
        attributes |= read_texts(arguments.documents, arguments.topics, machine)
    if arguments.attributes:
        attributes |= read_attributes(arguments.attributes, machine)
    tables = bias_tables(machine, drawn, attributes, arguments.family)
    if arguments.repeat:
        tables.append(repeat_table(machine, read_people(arguments.repeat, protocol, machine)))
    if arguments.baseline:
        baseline = read_run(arguments.baseline, protocol)
        tables.append(reranked_table(machine, drawn, {Path(arguments.baseline).name: baseline}))
    return print_tables(tables, arguments)


def _next(arguments: argparse.Namespace) -> int:
    machine = _machine(arguments)
    drawn = _drawn(arguments, machine)
    if np.isnan(drawn.probability).any():
        unit = next(unit for unit, row in machine.row_of.items() if np.isnan(drawn.probability[row]))
        raise InputError(
            f"{arguments.sample}: {' '.join(word.decode() for word in unit)} is missing; the probability of every unit "
            "is needed, as assay estimate sample writes it"
        )
    if len(machine.inputs.measures) > 1:
        raise InputError("units are ordered for one measure; name it with --measure")
    (measure,) = machine.inputs.measures
    tables, chosen = next_tables(
        machine, drawn, measure, arguments.units, of_differences=arguments.differences
    )
    if arguments.output:
        _write_next(arguments.output, machine, drawn, chosen)
    return print_tables(tables, arguments)


def _write_next(output: Path, machine: Machine, drawn: Drawn, chosen: Next) -> None:
    """The sample with the units to judge next; grades of people stay in it."""
    sampled = np.union1d(drawn.units, chosen.order)
    sample = designs.Sample(sampled, chosen.probability)
    grade = dict(zip(drawn.units.tolist(), drawn.grade.tolist(), strict=True))
    output.write_bytes(sample_lines(machine, sample, np.arange(len(chosen.probability)), grade))
