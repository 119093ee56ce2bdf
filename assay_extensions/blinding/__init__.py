"""Releases of runs without the names of teams and runs, and the way back."""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="blinding",
    title="Runs without names",
    adds=(
        Command("blind", "write runs under pseudonyms", "assay_extensions.blinding.commands.blind"),
        Command("unblind", "put names in place of pseudonyms", "assay_extensions.blinding.commands.unblind"),
    ),
)
