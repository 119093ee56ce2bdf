"""Keeps access tokens out of the logs."""

import logging
import re

TOKEN = re.compile(r"assay_[A-Za-z0-9]{8,}")
HIDDEN = "assay_[hidden]"


class RedactingFormatter(logging.Formatter):
    """Formats a record, traceback included, and hides whatever looks like an access token."""

    def format(self, record: logging.LogRecord) -> str:
        return TOKEN.sub(HIDDEN, super().format(record))
