"""The Celery application. Tasks are shells around services; the job row in the database is the truth."""

import os
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import worker_ready

from server import paths

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
warnings.filterwarnings("ignore", category=SecurityWarning)  # `make run` works as root, on purpose

app = Celery("assay")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(
    [
        "jobs",
        "corpus.imports",
        "corpus.clusterings",
        "pooling.pools",
        "assessment.tasks",
        "scoring.leaderboards",
        "scoring.analyses",
    ]
)


@worker_ready.connect
def note_ready(**_: Any) -> None:
    """For `make run`, which waits for it: a queue in a folder carries no questions to a worker."""
    file = paths.worker_file(paths.var())
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(str(os.getpid()))
