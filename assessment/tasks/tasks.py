"""The Celery tasks of judging."""

from celery import shared_task

from assessment.tasks import services


@shared_task(name="assessment.tasks.expire", ignore_result=True)
def expire() -> None:
    """Return overdue tasks to their queues. Safe when delivered twice."""
    services.expire()
