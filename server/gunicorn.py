"""How gunicorn serves the pages; `gunicorn -c server/gunicorn.py config.wsgi`. WEB_CONCURRENCY sets the processes."""

import os

workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
worker_class = "server.worker.Worker"
threads = 16  # requests at work at one time in each process
timeout = 120  # an upload of the largest size over a slow line, checked line by line
graceful_timeout = 20
keepalive = 5
max_requests = 5000
max_requests_jitter = 500
control_socket_disable = True
loglevel = "warning"
