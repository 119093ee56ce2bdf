"""The Celery task that opens and closes tracks on time, and the job handlers of this app in every worker."""

from celery import shared_task

import tracks.candidates.jobs
import tracks.downloads.jobs
import tracks.leaks.jobs  # noqa: F401 - all register their handlers
from tracks.deadlines import services


@shared_task(name="tracks.deadlines.settle", ignore_result=True)
def settle() -> None:
    """Open and close the tracks whose time has come. Safe when delivered twice."""
    services.settle_due()
