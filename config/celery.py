"""The Celery application. A task calls one service; the state of the work is in its job row in the database."""

import os
import warnings

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import worker_ready

from server import paths

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# `manage.py prepare` and `migrate` run Django's checks, which import all pages: a third of the start of a worker.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")
warnings.filterwarnings("ignore", category=SecurityWarning)  # `make run` may run as root

app = Celery("assay")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()  # of every installed app


@worker_ready.connect
def write_ready_file(**_: object) -> None:
    """Tell `make run` that the worker is ready: a worker whose queue is a folder cannot be asked."""
    file = paths.worker_file(paths.var_folder())
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(str(os.getpid()))
