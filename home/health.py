"""The health check of a web process: whether its database has tables and can write, and whether files can be stored."""

import logging
import time
import uuid
from threading import Lock

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import Error, ProgrammingError, connection, transaction

from accounts.models import User
from jobs.backups import schedule
from jobs.liveness import liveness

logger = logging.getLogger(__name__)

# For which a result is kept: anybody may ask, and a failed write is a line in the log of PostgreSQL.
SECONDS = 5.0
UNREACHABLE = "The database cannot be reached."
READ_ONLY = "The database is read-only."
UNWRITABLE = "The database cannot write. Its disk may be full."
NO_TABLES = "The database has no tables. Run `manage.py prepare`."
NO_STORAGE = "Files cannot be stored."


class Health:
    """The latest result, which all threads of the process share. It logs a line when the result changes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._until = 0.0
        self._problem = self._backups = ""
        self._others: dict[str, str] = {}

    def backups(self) -> str:
        """The problem with the scheduled backups, as of the last `problem`; empty if nothing is."""
        return self._backups

    def others(self) -> dict[str, str]:
        """The problems of Redis, the clock and the workers by their names, as of the last `problem`."""
        return self._others

    def problem(self) -> str:
        """The problem in a sentence; empty if there is none."""
        with self._lock:
            if time.monotonic() >= self._until:
                problem = probe()
                if problem != self._problem:
                    logger.error("health: %s", problem or "The problem is over.")
                self._problem, self._until = problem, time.monotonic() + SECONDS
                self._others = liveness().problems
                self._backups = schedule.problem() if settings.BACKUP_DIR and not problem else ""
            return self._problem


health = Health()


def probe() -> str:
    """Try to write: a temporary table, which needs a new file on the disk of the database, and a file. None remains."""
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
    if is_read_only:
        return READ_ONLY
    try:
        User.objects.exists()
    except ProgrammingError:
        return NO_TABLES
    try:
        default_storage.delete(default_storage.save(f"health/{uuid.uuid4().hex}", ContentFile(b"x")))
    except OSError:
        return NO_STORAGE
    return ""
