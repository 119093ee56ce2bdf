"""Tasks of scoring; they register its job handlers and letters in every worker."""

from collections.abc import Iterator, Mapping
from typing import Any

from celery import shared_task

import scoring.phases.services  # noqa: F401 - registers its handlers
from accounts.mail import letters
from accounts.mail.letters import Mail
from accounts.selectors import user_by_id
from scoring.leaderboards import schedules
from scoring.leaderboards.services import RELEASED
from scoring.selectors import leaderboards_for


@letters.writer(RELEASED)
def released(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A leaderboard was released; nothing if the release was withdrawn before the e-mail was sent."""
    user = user_by_id(data["user"])
    board = leaderboards_for(user).filter(pk=data["leaderboard"]).first()
    if board is not None:
        context = {"user": user.username, "board": board}
        yield Mail(user.email, f"results of {board.track}", "scoring/leaderboards/mail_released.txt", context)


@shared_task(name="scoring.leaderboards.release_due", ignore_result=True)
def release_due() -> None:
    """Release the leaderboards whose time has come. Safe when delivered twice."""
    schedules.release_due()
