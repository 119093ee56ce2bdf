"""Draw curves of runs: precision at levels of recall, and at cutoffs."""

import argparse

from assay.cli.inputs import add_scoring_options, check_ranks, inputs_of
from assay.cli.main import add
from assay.cli.tables import print_tables
from assay.measures.curves import CUTOFFS, RECALLS, precision_at, recall_precision
from assay.tables import Cell, Table

EXAMPLE = "assay curves --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser, has_measures=False)
    add(parser, "runs")


def run(arguments: argparse.Namespace) -> int:
    inputs = inputs_of(arguments)
    check_ranks(inputs)
    level, in_characters, judged = inputs.level, inputs.in_characters, inputs.judged
    curves: list[tuple[Cell, ...]] = []
    cutoffs: list[tuple[Cell, ...]] = []
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        hits = judged.hits(columns)
        curve = recall_precision(hits, judged, level=level, in_characters=in_characters)
        values = [precision_at(hits, judged, level=level, in_characters=in_characters)]
        if not in_characters:
            values.append(precision_at(hits.judged_only(), judged, level=level))
        means = curve[inputs.is_counted].mean(axis=0).tolist()
        curves += [(name, f"{recall:.1f}", mean) for recall, mean in zip(RECALLS, means, strict=True)]
        at_cutoffs = [value[inputs.is_counted].mean(axis=0).tolist() for value in values]
        cutoffs += [(name, k, *means) for k, *means in zip(CUTOFFS, *at_cutoffs, strict=True)]
    counted = ", in characters of citations"
    of_curves = counted if in_characters else ", unjudged documents not relevant"
    of_cutoffs = counted if in_characters else ", of all documents and of only the judged ones"
    tables = [
        Table(
            "recall_precision",
            f"interpolated precision{of_curves}; relevant from grade {level}",
            ("run", "recall", "precision"),
            curves,
        ),
        Table(
            "precision",
            f"precision at cutoffs{of_cutoffs}; relevant from grade {level}",
            ("run", "k", "precision", *([] if in_characters else ["precision'"])),
            cutoffs,
        ),
    ]
    return print_tables(tables, arguments)
