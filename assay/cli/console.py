"""What commands print on: a file may have a name that is not UTF-8."""

import sys
from io import TextIOWrapper


def print_any_name() -> None:
    """Let standard output show what it cannot encode with backslashes, as standard error does."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
