"""List the extensions that are installed and selected: name, version, package, and what each adds.

The variable ASSAY_EXTENSIONS selects extensions: all, none, or names separated by commas.

Exit status: 0 success, 2 an extension cannot be used.
"""

import argparse

from assay.archive.parts import ARCHIVE_PARTS, COLLECTION_FORMS, TRACK_PARTS
from assay.cli.main import COMMANDS
from assay.extensions import Installed, installed
from assay.protocols.measures import FAMILIES
from assay.protocols.strategies import POOL_STRATEGIES

EXAMPLE = "assay extensions"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has no options."""


def run(_: argparse.Namespace) -> int:
    rows = [
        (known.extension.name, known.version, known.package, known.source, ", ".join(known.adds))
        for known in checked()
    ]
    for row in [("name", "version", "package", "source", "adds"), *rows]:
        print(*row, sep="\t")  # noqa: T201
    return 0


def checked() -> tuple[Installed, ...]:
    """The selected extensions.

    Raises:
        ExtensionError: One cannot be imported, adds a name that exists already, or names a function that does not.
    """
    for registry in (COMMANDS, FAMILIES, POOL_STRATEGIES, ARCHIVE_PARTS, TRACK_PARTS, COLLECTION_FORMS):
        registry.check()
    return installed()
