"""Celery's doors to the judging room."""

from celery import shared_task

from assessment import services


@shared_task(name="assessment.tasks.expire_assignments", ignore_result=True)
def expire_assignments() -> None:
    """Return overdue tasks to their queues; delivering it twice is harmless."""
    services.expire_assignments()
