"""Analyses of leaderboards: how far their numbers depend on pooled runs, topics, qrels and assessors."""

from assay.archive.parts import ANALYSES, ArchivePart
from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="analyses",
    title="Analyses of leaderboards",
    adds=(
        Command(
            "reuse",
            "test whether qrels can score runs that were not pooled",
            "assay_extensions.analyses.command",
        ),
        ArchivePart(
            name=ANALYSES,
            title="analyses of leaderboards",
            verify="assay_extensions.analyses.archive:verify",
            gather="assay_extensions.analyses.site.archive:gather",
            load="assay_extensions.analyses.site.archive:load",
        ),
    ),
)
