"""Settings of gunicorn, and its worker: `gunicorn -c server/gunicorn.py config.wsgi`.

WEB_CONCURRENCY is the number of processes. Browsers open connections in advance. In gunicorn's own class, each of them
occupies a thread for five seconds, so that a few silent connections block all requests. In ours, the poller watches
them, as it does between requests. It also notes when each request arrives.
"""

import gc
import os
import resource
import selectors
import sys
import threading
import time
from functools import partial
from typing import Any

from django.urls import reverse
from gunicorn.workers.gthread import TConn, ThreadWorker

workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
worker_class = "server.gunicorn.Worker"
threads = 16  # concurrent requests in each process
timeout = 120  # for the largest upload over a slow connection, and its check
graceful_timeout = timeout
keepalive = 5
max_requests = 5000
max_requests_jitter = 500
MOST_MEMORY = float(os.environ.get("PROCESS_MAX_MB") or 300)
control_socket_disable = True
loglevel = "warning"
if os.environ.get("LOG_FORMAT") == "json":  # of its own lines; those of Assay are set by Django
    logconfig_dict = {
        "formatters": {"generic": {"()": "web.logs.JsonFormatter"}},
        "root": {"level": "WARNING", "handlers": []},
        "loggers": {
            "gunicorn.error": {"level": "WARNING", "handlers": ["error_console"], "propagate": False}
        },
    }


preload_app = True  # imported once: the processes share the memory, and one that is replaced answers at once


def when_ready(_arbiter: object) -> None:
    """Import the pages, too, before the first process is forked.

    Then the garbage collector leaves out what is loaded, and looks at the rest less often: that took 8 % of the time of
    a request.
    """
    reverse("login")
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)


class Worker(ThreadWorker):  # type: ignore[misc]
    """Gives a connection to a thread when there is something to read, and closes one that stays silent."""

    alive: bool
    thread: threading.local

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
        """Answer a request. A process whose memory has exceeded the limit accepts no more, and another replaces it.

        The C library returns little of what such a request has used.
        """
        self.thread.arrived = conn.arrived
        try:
            return super().handle(conn)
        finally:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if self.alive and peak / (1024**2 if sys.platform == "darwin" else 1024) > MOST_MEMORY:
                self.log.info("More than %.0f MB of memory: this process is replaced", MOST_MEMORY)
                self.alive = False

    def load_wsgi(self) -> None:
        """Load the application, which gets the arrival of a request as `assay.arrival`, by `time.monotonic()`."""
        super().load_wsgi()
        application: Any = self.wsgi  # type: ignore[has-type]
        self.thread = threading.local()

        def with_arrival(environ: dict[str, Any], start_response: object) -> object:
            environ["assay.arrival"] = self.thread.arrived
            return application(environ, start_response)

        self.wsgi = with_arrival
