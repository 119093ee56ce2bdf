"""gunicorn's worker of threads, of which none waits for a connection on which nothing was asked yet.

Browsers open connections ahead. gunicorn's own class lets each hold a thread for five seconds, so that as many
silent connections as there are threads hold everybody up; here the poller watches them, as it does between requests.
"""

import selectors
import time
from functools import partial

from gunicorn.workers.gthread import TConn, ThreadWorker


class Worker(ThreadWorker):  # type: ignore[misc]
    """Gives a connection to a thread when it has something to read; one that stays silent is closed in the end."""

    def enqueue_req(self, conn: TConn) -> None:
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))
