#!/usr/bin/env python
"""Django's command line for Assay. A command that needs the embedded PostgreSQL starts it if it does not run."""

import os
import sys
from contextlib import ExitStack

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from server import embedded, os_account, paths

WITHOUT_DATABASE = {"help", "check", "collectstatic", "spectacular", "version", "--help", "-h", "--version"}


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with ExitStack() as stack:
        if not WITHOUT_DATABASE & set(arguments[1:2] or ["help"]):
            stack.enter_context(embedded.postgres(paths.var_folder()))
        execute_from_command_line(arguments)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except (os_account.ServerError, ImproperlyConfigured) as error:
        sys.exit(str(error))
