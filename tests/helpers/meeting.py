"""Two sessions that meet at a lock: the first ends only when the second waits for it, or is done."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connection, transaction

from assay.errors import AssayError
from tests.fixtures import wait_until

WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""


def meet(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """Run the first in a transaction that stays open until the second, in another session, waits or has ended.

    A second that reads without a lock has then read what the first is about to change. A refusal is a result.
    """
    is_made, may_end = threading.Event(), threading.Event()

    def hold() -> Any:
        try:
            with transaction.atomic():
                result = _result(first)
                is_made.set()
                may_end.wait(120)
            return result
        finally:
            is_made.set()
            connection.close()

    def follow() -> Any:
        try:
            return _result(second)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        holding = threads.submit(hold)
        is_made.wait(120)
        following = threads.submit(follow)
        try:
            wait_until(lambda: following.done() or _is_waiting(following), seconds=60)
        finally:
            may_end.set()
        return holding.result(), following.result()


def _is_waiting(following: "Future[Any]") -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0]) and not following.done()


def _result(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except AssayError as refusal:
        return refusal
