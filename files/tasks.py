"""The Celery task that cleans the storage."""

from celery import shared_task

from files import services


@shared_task(name="files.tasks.delete_unclaimed", ignore_result=True)
def delete_unclaimed() -> None:
    """Delete the files that killed processes left in the storage."""
    services.delete_unclaimed()
