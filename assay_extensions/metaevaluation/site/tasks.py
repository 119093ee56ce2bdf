"""The job and the letters of judges; they register themselves in every worker."""

from collections.abc import Iterator, Mapping
from typing import Any

import assay_extensions.metaevaluation.site.comparing  # noqa: F401 - registers its handler
from accounts.mail import letters
from accounts.mail.letters import Mail
from accounts.selectors import user_by_id
from assay_extensions.metaevaluation.site.models import JudgeBoard
from assay_extensions.metaevaluation.site.releases import RELEASED
from assay_extensions.metaevaluation.site.selectors import boards_for


@letters.writer(RELEASED)
def released(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A board of judges was released; nothing if the release was withdrawn before the e-mail was sent."""
    user = user_by_id(data["user"])
    stored = JudgeBoard.objects.select_related("track").get(pk=data["board"])
    if board := boards_for(user, stored.track).filter(pk=stored.pk).first():
        context = {"user": user.username, "board": board}
        yield Mail(user.email, f"judges of {board.track}", "metaevaluation/mail_released.txt", context)
