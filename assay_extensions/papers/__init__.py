"""The tables of papers about evaluation campaigns: overviews of labs, and comparisons of test collections."""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="papers",
    title="Tables of papers",
    adds=(
        Command("tables", "print the tables of an overview paper", "assay_extensions.papers.commands.tables"),
        Command(
            "collections",
            "compare test collections side by side",
            "assay_extensions.papers.commands.collections",
        ),
    ),
)
