"""Battles: two answers to one topic side by side, and a board of the systems that wrote them."""

from assay.cli.main import Command
from assay.extensions import Extension
from assay.protocols.strategies import PoolStrategy

EXTENSION = Extension(
    name="battles",
    title="Battles of answers",
    adds=(
        Command(
            "battles",
            "rate systems by battles of their answers, and draw battles",
            "assay_extensions.battles.command",
        ),
        PoolStrategy(
            "battles",
            "pairs of the answers of the pooled runs",
            cell="battles of answers",
            sentence="Battles of the answers of the pooled runs are drawn: at most {target} of each topic.",
            build="assay_extensions.battles.pooling:build",
            layouts=("battle",),
            depth="required",
        ),
    ),
)
