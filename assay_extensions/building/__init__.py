"""Builds a test collection: cuts a dump or other documents by dates, marks formulas, and writes what is published.

`build.build` does all of it in a folder; `leaks` compares the result with topics. Everything streams: the posts are in
an SQLite file (`store`), so the memory does not grow with their number, and a killed build continues.
"""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="building",
    title="Building of test collections",
    requires=("exchange",),
    adds=(
        Command(
            "collection",
            "build a test collection from a dump or documents",
            "assay_extensions.building.command",
        ),
    ),
)
