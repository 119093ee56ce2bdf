"""Jobs, and who may see them."""

from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from accounts.access import AnyUser
from accounts.models import User
from jobs.models import Job


def jobs_for(user: AnyUser) -> QuerySet[Job]:
    """Jobs that a user may see, newest first: organizers see all, others see those that they requested."""
    if not isinstance(user, User):
        return Job.objects.none()
    jobs = Job.objects.select_related("created_by")
    return jobs if user.is_organizer else jobs.filter(created_by=user)


def lost_before() -> CombinedExpression:
    """A running job whose last heartbeat is older than this has lost its worker. The clock is the database's."""
    return Now() - timedelta(seconds=settings.JOB_LOST_AFTER_SECONDS)
