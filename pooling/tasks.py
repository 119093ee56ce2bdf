"""Registers the job handlers of pools and the letters of runs in every worker."""

from collections.abc import Iterator, Mapping
from typing import Any

from celery import shared_task

import pooling.pools.services  # noqa: F401 - registers its handlers
from accounts.mail import letters
from accounts.mail.letters import Mail
from accounts.selectors import user_by_id
from participation.teams.selectors import team_by_id
from pooling.runs import services as runs
from pooling.runs.selectors import n_of_kinds, owing_of, run_by_id
from pooling.runs.services import ACCEPTED, OWED, REJECTED


@letters.writer(ACCEPTED)
def accepted(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A run was accepted."""
    user, run = user_by_id(data["user"]), run_by_id(data["run"])
    context = {**data, "user": user.username, "run": run, "n_warnings": len(run.report.get("warnings", []))}
    yield Mail(user.email, f"run {run.tag} accepted", "pooling/runs/mail_accepted.txt", context)


@letters.writer(REJECTED)
def rejected(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A file was not accepted."""
    user, team = user_by_id(data["user"]), team_by_id(data["team"])
    context = {**data, "user": user.username, "team": team}
    yield Mail(user.email, f"{team}: a run was not accepted", "pooling/runs/mail_rejected.txt", context)


@letters.writer(OWED)
def owed(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A team owes runs or documents; nothing if it submitted them meanwhile."""
    user, team = user_by_id(data["user"]), team_by_id(data["team"])
    owing = owing_of(team, team.track.protocol.parsed.runs, n_of_kinds(team))
    if owing.missing:
        context = {"user": user.username, "team": team, "missing": owing.missing}
        yield Mail(user.email, f"{team}: something is missing", "pooling/runs/mail_owed.txt", context)


@shared_task(name="pooling.runs.remind_due", ignore_result=True)
def remind_due() -> None:
    """Remind the teams whose closing time is near. Delivered twice, it reminds each once."""
    runs.remind_due()
