"""The health check of a web process: whether it reaches its database, and whether the database can write."""

import logging
import time
from threading import Lock

from django.db import Error, connection, transaction

logger = logging.getLogger(__name__)

# For which a result is kept: anybody may ask, and a failed write is a line in the log of PostgreSQL.
SECONDS = 5.0
UNREACHABLE = "The database cannot be reached."
READ_ONLY = "The database is read-only."
UNWRITABLE = "The database cannot write. Its disk may be full."


class Health:
    """The latest result, which all threads of the process share. It logs a line when the result changes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._until = 0.0
        self._problem = ""

    def problem(self) -> str:
        """The problem in a sentence; empty if there is none."""
        with self._lock:
            if time.monotonic() >= self._until:
                problem = probe()
                if problem != self._problem:
                    logger.error("health: %s", problem or "The database can write again.")
                self._problem, self._until = problem, time.monotonic() + SECONDS
            return self._problem


health = Health()


def probe() -> str:
    """Try to write: a temporary table needs a new file on the disk of the database. Nothing of it remains."""
    try:
        connection.ensure_connection()
    except Error:
        return UNREACHABLE
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SHOW transaction_read_only")
            is_read_only = cursor.fetchone() == ("on",)
            if not is_read_only:
                cursor.execute("CREATE TEMPORARY TABLE health_probe AS SELECT repeat('x', 5000) AS text")
            transaction.set_rollback(True)
    except Error:
        return UNWRITABLE if connection.is_usable() else UNREACHABLE
    return READ_ONLY if is_read_only else ""
