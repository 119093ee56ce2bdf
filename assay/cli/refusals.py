"""How the commands on runs, pools and formulas answer to files that they cannot use."""

import argparse
import sys
from collections.abc import Callable

from assay.errors import Refused
from assay.formats.manifest import ManifestError
from assay.formats.runs.reader import UnknownForm
from assay.formats.runs.timing import NoSeconds
from assay.formats.topics.codes import TopicListError
from assay.pools.files import PoolFileError
from assay.pools.strategies import PoolError
from assay.protocols.loader import ProtocolError

UNUSABLE = (
    OSError,
    ProtocolError,
    TopicListError,
    ManifestError,
    PoolError,
    PoolFileError,
    UnknownForm,
    NoSeconds,
    Refused,
)


class RunsRefused(Exception):
    """A run that is to be pooled has errors; the reports have been printed."""


def run(name: str, command: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """The exit status of a command: 1 if a run has errors, 2 with one line if something cannot be used."""
    try:
        return command(arguments)
    except RunsRefused:
        return 1
    except UNUSABLE as error:
        print(f"assay {name}: {reason(error)}", file=sys.stderr)  # noqa: T201
        return 2


def reason(error: Exception) -> str:
    """What is wrong, in one line; with the name of the file if it cannot be read."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
