"""Draw curves of runs: precision at levels of recall, and at cutoffs."""

import argparse

from assay.cli.inputs import Inputs, add_runs, add_scoring_options, read_inputs
from assay.cli.tables import print_tables
from assay.evaluation.curves import (
    CUTOFFS,
    RECALLS,
    precision_at,
    precision_of_characters,
    recall_precision,
    recall_precision_of_characters,
)
from assay.tables import Cell, Table

_IN_CHARACTERS = ", in characters of citations"

EXAMPLE = "assay curves --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser, has_measures=False)
    add_runs(parser)


def run(arguments: argparse.Namespace) -> int:
    inputs = read_inputs(arguments, arguments.runs)
    return print_tables([_curves(inputs), _cutoffs(inputs)], arguments)


def _curves(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    curve_of = recall_precision_of_characters if inputs.in_characters else recall_precision
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        curve = curve_of(inputs.judged.hits(columns), inputs.judged, level=inputs.level)
        means = curve[inputs.is_counted].mean(axis=0).tolist()
        rows += [(name, f"{recall:.1f}", mean) for recall, mean in zip(RECALLS, means, strict=True)]
    return Table(
        "recall_precision",
        f"interpolated precision{_IN_CHARACTERS if inputs.in_characters else ', unjudged documents not relevant'}; "
        f"relevant from grade {inputs.level}",
        ("run", "recall", "precision"),
        rows,
    )


def _cutoffs(inputs: Inputs) -> Table:
    return _cutoffs_of_characters(inputs) if inputs.in_characters else _cutoffs_of_documents(inputs)


def _cutoffs_of_characters(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        hits = inputs.judged.hits(columns)
        values = precision_of_characters(hits, inputs.judged, level=inputs.level)
        means = values[inputs.is_counted].mean(axis=0).tolist()
        rows += [(name, k, mean) for k, mean in zip(CUTOFFS, means, strict=True)]
    title = f"precision at cutoffs{_IN_CHARACTERS}; relevant from grade {inputs.level}"
    return Table("precision", title, ("run", "k", "precision"), rows)


def _cutoffs_of_documents(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        hits = inputs.judged.hits(columns)
        plain, primed = (
            precision_at(counted, level=inputs.level)[inputs.is_counted].mean(axis=0).tolist()
            for counted in (hits, hits.judged_only())
        )
        rows += [(name, k, p, primed_p) for k, p, primed_p in zip(CUTOFFS, plain, primed, strict=True)]
    return Table(
        "precision",
        f"precision at cutoffs, of all documents and of only the judged ones; relevant from grade {inputs.level}",
        ("run", "k", "precision", "precision'"),
        rows,
    )
