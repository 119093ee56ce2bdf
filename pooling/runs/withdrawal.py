"""The question before a run is withdrawn."""

from functools import partial
from typing import NamedTuple

from accounts.models import User
from pooling.models import Run
from pooling.runs import changes, services
from tracks.deadline_acceptance import acceptance_of
from web.confirmation import Confirmation, refusals


class WithdrawalPage(NamedTuple):
    """The question before a run is withdrawn; `needs_reason` after its deadline, from an organizer."""

    question: Confirmation
    needs_reason: bool


def withdrawal_page(user: User, run: Run) -> WithdrawalPage:
    """The question for a user: the track of the run says whether it is still the team's own."""
    needs_reason = user.organizes(run.track_id) and not acceptance_of(run.track, run.kind).is_accepting
    again = "" if needs_reason else " Until the track closes, the team can submit its tag and its file again."
    fixed = ["New pools and leaderboards leave it out", "It stays in the history of the team"]
    if needs_reason:
        fixed.append("Leaderboards that have it stay as they are, and mark it")
    if needs_reason:
        check = partial(changes.check_withdrawal_for_team, run=run)
    else:
        check = partial(services.check_withdrawal, run=run, by=user)
    question = Confirmation(
        act=f"Withdraw {run.tag}",
        lead=f"A run of {run.team}, submitted",
        button="Withdraw run",
        keep="Keep run",
        back=run.get_absolute_url(),
        text=f"You cannot undo this.{again}",
        checks=list(refusals(check)),
        fixed=fixed,
        changeable=["Its team sees the reason, and can ask you to submit another run for it"]
        if needs_reason
        else (),
        notified="Nobody. The team sees it on the page of the run.",
        is_danger=True,
    )
    return WithdrawalPage(question, needs_reason)
