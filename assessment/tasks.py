"""The Celery tasks of judging, and the job handlers of imports, which every worker needs."""

from celery import shared_task

import assessment.imports.services  # noqa: F401 - registers its handlers
from assessment.judging import services


@shared_task(name="assessment.tasks.expire", ignore_result=True)
def expire() -> None:
    """Return overdue tasks to their queues. Safe when delivered twice."""
    services.expire()
