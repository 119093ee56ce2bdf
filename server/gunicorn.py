"""Settings of gunicorn: `gunicorn -c server/gunicorn.py config.wsgi`. WEB_CONCURRENCY is the number of processes."""

import gc
import os
from typing import Any

workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
worker_class = "server.worker.Worker"
threads = 16  # concurrent requests in each process
timeout = 120  # for the largest upload over a slow connection, and its check
graceful_timeout = 20
keepalive = 5
max_requests = 5000
max_requests_jitter = 500
control_socket_disable = True
loglevel = "warning"


def post_worker_init(_worker: Any) -> None:
    """Collect garbage less often: looking through the loaded code again and again took 8 % of the time of a request."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)
