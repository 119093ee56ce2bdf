"""The progress of the interaction of a track."""

from collections.abc import Iterable
from dataclasses import dataclass

from participation.interaction.selectors import SessionState, rules_of, state_of
from participation.models import Nomination
from pooling.models import Run
from tracks.models import Track
from web import times


@dataclass(frozen=True)
class Progress:
    """Numbers of nominated topics by the state of their session, and names of teams, all in order."""

    n_nominated: int
    n_waiting: int  # planned or running
    n_held: int
    nominating: list[str]  # teams
    planned: list[str]  # teams with sessions that are not over
    interacted: list[str]  # teams with a session that is over
    without_page: list[str]  # of `planned`
    without_data: list[str]  # of `interacted`
    without_run: list[str]  # of `interacted`: without a run after the interaction


def progress_of(track: Track) -> Progress | None:
    """The progress of a track; None if its protocol has no interaction. Three queries, one of them for the clock."""
    rules = rules_of(track)
    if rules is None:
        return None
    now, rows = times.now(), Nomination.objects.filter(team__track=track).order_by("team__name", "place")
    nominations = list(rows.select_related("team__interaction"))
    runs = Run.objects.filter(track=track, kind=rules.run_kind, status=Run.Status.SUBMITTED)
    with_run = set(runs.values_list("team", flat=True))
    states = [state_of(nomination, rules.seconds_per_topic, now) for nomination in nominations]
    pairs = list(zip(nominations, states, strict=True))
    waiting = [
        nomination for nomination, state in pairs if state in {SessionState.PLANNED, SessionState.RUNNING}
    ]
    held = [nomination for nomination, state in pairs if state == SessionState.OVER]
    return Progress(
        n_nominated=len(nominations),
        n_waiting=len(waiting),
        n_held=len(held),
        nominating=_teams(nominations),
        planned=_teams(waiting),
        interacted=_teams(held),
        without_page=_teams(nomination for nomination in waiting if not _brought(nomination, "address")),
        without_data=_teams(nomination for nomination in held if not _brought(nomination, "data")),
        without_run=_teams(nomination for nomination in held if nomination.team_id not in with_run),
    )


def _brought(nomination: Nomination, field: str) -> bool:
    return bool(getattr(getattr(nomination.team, "interaction", None), field, ""))


def _teams(nominations: Iterable[Nomination]) -> list[str]:
    return list(dict.fromkeys(nomination.team.name for nomination in nominations))
