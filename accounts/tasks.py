"""The Celery tasks of accounts."""

from typing import Any

from celery import shared_task

from accounts import services
from accounts.selectors import user_by_id

MAIL_TRIES: dict[str, Any] = {
    "autoretry_for": (OSError,),
    "retry_backoff": 10,
    "max_retries": 3,
    "ignore_result": True,
}


@shared_task(name="accounts.tasks.clear_expired", ignore_result=True)
def clear_expired() -> None:
    """Delete what has expired. Safe when delivered twice."""
    services.clear_expired()


@shared_task(name="accounts.tasks.mail_link", **MAIL_TRIES)
def mail_link(user_id: int, site: str) -> None:
    """Send a login link by e-mail. Delivered twice, it sends two valid links."""
    services.mail_link(user=user_by_id(user_id), site=site)


@shared_task(name="accounts.tasks.mail_lockout", **MAIL_TRIES)
def mail_lockout(user_id: int, address: str | None, site: str) -> None:
    """Report wrong passwords by e-mail."""
    services.mail_lockout(user=user_by_id(user_id), address=address, site=site)
