"""E-mails to the members of a team about its runs: to those who chose them on their account page.

They name track, team and run. They contain no score, and no link: a service does not know the address of the site.
"""

from accounts.letters import services as letters
from accounts.models import User
from assay.formats.reports import Report
from pooling.models import Run, Team

ACCEPTED, REJECTED = "runs.accepted", "runs.rejected"  # kinds of letters
MAX_ERRORS = 20  # in one e-mail


def members_to_mail(team: Team) -> list[int]:
    """The ids of the members of a team who want e-mails about its runs."""
    members = team.members.filter(is_active=True, is_mailed_about_runs=True).exclude(email="")
    return list(members.order_by("pk").values_list("pk", flat=True))


def accepted(run: Run) -> None:
    """Tell the team of a run that it is accepted, in the transaction that stores the run."""
    for user_id in members_to_mail(run.team):
        letters.post(kind=ACCEPTED, data={"user": user_id, "run": run.pk}, site="")


def rejected(team: Team, *, report: Report, by: User) -> None:
    """Tell a team that a file was not accepted, with the errors of its report."""
    data = {
        "team": team.pk,
        "by": by.username,
        "file": report.name,
        "errors": [f"{error} Accepted: {error.accepted}" for error in report.errors[:MAX_ERRORS]],
        "n_more": max(0, len(report.errors) - MAX_ERRORS),
    }
    for user_id in members_to_mail(team):
        letters.post(kind=REJECTED, data=data | {"user": user_id}, site="")
