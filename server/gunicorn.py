"""Settings of gunicorn: `gunicorn -c server/gunicorn.py config.wsgi`. WEB_CONCURRENCY is the number of processes."""

import os

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
