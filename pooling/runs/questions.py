"""The questions before a run is withdrawn, disqualified or reinstated."""

from functools import partial
from typing import NamedTuple

from django.urls import reverse

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
        lead=f"A run of {run.team}",
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


def disqualification_page(run: Run) -> Confirmation:
    """The question before a run is disqualified."""
    is_accepting = acceptance_of(run.track, run.kind).is_accepting
    closing = reverse("tracks:close_track", args=[run.track.slug]) if is_accepting else ""
    return Confirmation(
        act=f"Disqualify {run.tag}",
        lead=f"A run of {run.team}",
        button="Disqualify run",
        keep="Keep run",
        back=run.get_absolute_url(),
        text="New pools and leaderboards leave the run out. New leaderboards name it as disqualified.",
        checks=list(
            refusals(partial(changes.check_disqualification, run), address=closing, link="Close for runs")
        ),
        fixed=[
            "Existing leaderboards keep it, marked as disqualified. Score the runs again to get one without it",
            "All units stay in the pools, and judged units stay judged",
        ],
        changeable=["The disqualification: you can reverse it, with a reason"],
        notified="Nobody. The team sees the state and the reason on the page of the run.",
        is_danger=True,
    )


def reinstatement_page(run: Run) -> Confirmation:
    """The question before a disqualification is reversed."""
    return Confirmation(
        act=f"Reverse the disqualification of {run.tag}",
        lead=f"A run of {run.team}",
        button="Reverse disqualification",
        back=run.get_absolute_url(),
        text="New pools and leaderboards contain the run again, and the statistics of pools count it again.",
        checks=list(refusals(partial(changes.check_reinstatement, run))),
        fixed=[
            "Leaderboards that were scored without it stay as they are",
            "The history of the run keeps both reasons",
        ],
        notified="Nobody. The team sees the state and the reason on the page of the run.",
    )
