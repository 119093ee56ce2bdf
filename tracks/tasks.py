"""The Celery task that opens and closes tracks on time, and the job handlers of this app in every worker."""

from celery import shared_task

import tracks.candidates.jobs
import tracks.downloads.jobs  # noqa: F401 - both register their handlers
from tracks.deadlines import services
from tracks.webhooks import delivery


@shared_task(name="tracks.deadlines.settle", ignore_result=True)
def settle() -> None:
    """Open and close the tracks whose time has come. Safe when delivered twice."""
    services.settle_due()


@shared_task(name="tracks.webhooks.deliver", ignore_result=True)
def deliver() -> None:
    """Send what is due to webhooks. Delivered twice, it sends each event once."""
    delivery.deliver_due()
