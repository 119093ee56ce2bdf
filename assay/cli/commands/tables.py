"""Print the tables of an overview paper: submitted runs, participants, topics by category, and results."""

import argparse

from assay.cli.papers import add_paper_options, print_papers, tracks_of
from assay.papers.overview import overview_tables

EXAMPLE = "assay tables --format tex tracks.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paper_options(parser)


def run(arguments: argparse.Namespace) -> int:
    tracks = [track.facts for track in tracks_of(arguments)]
    return print_papers(overview_tables(tracks, digits=arguments.digits), arguments)
