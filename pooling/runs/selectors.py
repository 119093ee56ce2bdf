"""Runs: who sees which, and what their pages show."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Func, IntegerField, QuerySet

from accounts.access import AnyUser
from accounts.models import User
from assay.formats.reports import Report
from assay.formats.runs.examples import FormHelp, accepted_forms, rules_of
from pooling.models import Run, Team
from pooling.runs.units import has_formulas, has_units
from pooling.teams.selectors import teams_of
from tracks.deadlines.selectors import State, is_accepting, state, states_for, why_closed
from tracks.models import Track
from tracks.tracks.selectors import tracks_for


@dataclass(frozen=True)
class RunsPage:
    """The runs of a track that a user may see, and the teams for which they can submit."""

    track: Track
    runs: QuerySet[Run]
    teams: QuerySet[Team]
    states: list[State]
    is_accepting_runs: bool
    why_closed: str


def runs_page(user: AnyUser, track: Track) -> RunsPage:
    """What the runs page of a track shows to a user."""
    of_kinds = states_for(user, track)
    return RunsPage(
        track=track,
        runs=runs_of(user, track),
        teams=teams_of(user, track),
        states=of_kinds,
        is_accepting_runs=is_accepting(of_kinds),
        why_closed=why_closed(of_kinds),
    )


@dataclass(frozen=True)
class SubmitPage:
    """The run formats that a track accepts; after a check or a refused submission, the report of the file."""

    track: Track
    formats: Sequence[FormHelp]
    rules: Sequence[str]
    checks_docnos: bool
    states: list[State]
    is_open: bool
    why_closed: str
    report: Report | None = None
    is_only_checked: bool = False
    tab: str = "runs"


def submit_page(user: AnyUser, track: Track) -> SubmitPage:
    """What the submission page of a track shows."""
    protocol, of_kinds = track.protocol.parsed, states_for(user, track)
    return SubmitPage(
        track=track,
        formats=accepted_forms(protocol),
        rules=rules_of(protocol),
        checks_docnos=has_units(track, protocol) or has_formulas(track, protocol),
        states=of_kinds,
        is_open=is_accepting(of_kinds),
        why_closed=why_closed(of_kinds),
    )


def runs_for(user: AnyUser) -> QuerySet[Run]:
    """The runs that a user may see: organizers see all, others the submitted runs of their own teams."""
    if not isinstance(user, User):
        return Run.objects.none()
    runs = Run.objects.select_related("track__protocol", "team", "submitted_by", "withdrawn_by")
    if user.is_organizer:
        return runs
    own = runs.filter(team__members=user, status=Run.Status.SUBMITTED, track__in=tracks_for(user))
    return own.distinct()


def runs_of(user: AnyUser, track: Track) -> QuerySet[Run]:
    """The runs of a track that a user may see, withdrawn ones last; `n_warnings` is the number of kinds of warnings."""
    n_warnings = Func(F("report__warnings"), function="jsonb_array_length", output_field=IntegerField())
    runs = runs_for(user).filter(track=track).annotate(n_warnings=n_warnings)
    return runs.order_by("status", "team__name", "tag", "id").defer("report")


@dataclass(frozen=True)
class RunPage:
    """A run with the report of its check."""

    track: Track
    run: Run
    report: Report
    is_accepting_runs: bool
    tab: str = "runs"


def run_page(run: Run) -> RunPage:
    """What the page of a run shows."""
    accepting = state(run.track, run.kind).is_accepting
    return RunPage(run.track, run, Report.from_json(run.report), accepting)
