"""Judges as participants: comparison with people, and releases of runs without names."""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="metaevaluation",
    title="Judges as participants",
    adds=(
        Command(
            "meta", "compare judges with people, and hide names", "assay_extensions.metaevaluation.command"
        ),
    ),
)
