"""Battles: two answers to one topic side by side, and a board of the systems that wrote them."""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="battles",
    title="Battles of answers",
    adds=(
        Command(
            "battles",
            "rate systems by battles of their answers, and draw battles",
            "assay_extensions.battles.command",
        ),
    ),
)
