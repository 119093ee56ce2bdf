"""Compare test collections: their sizes, how they were judged, and what that does to the ranking of runs."""

import argparse

from assay.cli.main import add
from assay.errors import InputError
from assay.tables.figures import as_pgfplots, as_svg
from assay_extensions.papers.commands.tables import add_paper_options, print_papers, store, tracks_of
from assay_extensions.papers.comparison import comparison_tables, relevant_plot

EXAMPLE = "assay collections --output comparison tracks.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paper_options(parser)
    parser.add_argument(
        "--label",
        default="",
        metavar="NAME",
        help="label that divides topics into classes (default: complexity, or the first label that most tracks have)",
    )
    add(parser, "--level")
    parser.add_argument(
        "--topic",
        default="",
        metavar="CODE",
        help="topic whose units are examples of the grades (default: one with comments on most grades)",
    )


def run(arguments: argparse.Namespace) -> int:
    collections = [track.comparison() for track in tracks_of(arguments)]
    names = dict.fromkeys(name for collection in collections for name in collection.track.labels)
    if arguments.label and arguments.label.casefold() not in {name.casefold() for name in names}:
        known = ", ".join(names) or "none"
        raise InputError(f"--label {arguments.label}: no topic has it; the labels are {known}")
    tables = comparison_tables(
        collections,
        label=arguments.label,
        level=arguments.level,
        digits=arguments.digits,
        topic=arguments.topic,
    )
    status = print_papers(tables, arguments)
    plot = relevant_plot(collections, label=arguments.label, level=arguments.level)
    if arguments.output is not None and plot is not None and arguments.table in {None, "relevant"}:
        store(
            {"figure-relevant.svg": as_svg(plot), "figure-relevant.tex": as_pgfplots(plot)}, arguments.output
        )
    return status
