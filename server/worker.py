"""A gunicorn worker whose threads do not wait for silent connections.

Browsers open connections in advance. In gunicorn's own class, each of them occupies a thread for five seconds, so that
a few silent connections block all requests. Here the poller watches them, as it does between requests.
"""

import selectors
import time
from functools import partial

from gunicorn.workers.gthread import TConn, ThreadWorker

from server import arrivals


class Worker(ThreadWorker):  # type: ignore[misc]
    """Gives a connection to a thread when there is something to read, and closes one that stays silent."""

    def enqueue_req(self, conn: TConn) -> None:
        if conn.initialized or conn.data_ready:
            conn.arrived = time.monotonic()
            super().enqueue_req(conn)
            return
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def handle(self, conn: TConn) -> object:
        """Work on a request; `arrivals` knows when it arrived."""
        arrivals.note(conn.arrived)
        return super().handle(conn)
