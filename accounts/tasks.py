"""The Celery tasks of accounts."""

from celery import shared_task

from accounts import services


@shared_task(name="accounts.tasks.clear_expired", ignore_result=True)
def clear_expired() -> None:
    """Delete sessions that have expired. Safe when delivered twice."""
    services.clear_expired()
