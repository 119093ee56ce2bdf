"""Registers the job handlers and the letters of runs in every worker."""

from collections.abc import Iterator, Mapping
from typing import Any

import pooling.runs.changes.services  # noqa: F401 - registers its handler
from accounts.letters import services as letters
from accounts.letters.services import Mail
from accounts.selectors import user_by_id
from pooling.runs import notices
from pooling.runs.selectors import run_by_id
from pooling.teams.selectors import team_by_id


@letters.writer(notices.ACCEPTED)
def accepted(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A run was accepted."""
    user, run = user_by_id(data["user"]), run_by_id(data["run"])
    context = {"user": user.username, "run": run, "n_warnings": len(run.report.get("warnings", []))}
    yield Mail(user.email, f"run {run.tag} accepted", "pooling/runs/mail_accepted.txt", context)


@letters.writer(notices.REJECTED)
def rejected(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A file was not accepted."""
    user, team = user_by_id(data["user"]), team_by_id(data["team"])
    context = {**data, "user": user.username, "team": team}
    yield Mail(user.email, f"{team}: a run was not accepted", "pooling/runs/mail_rejected.txt", context)
