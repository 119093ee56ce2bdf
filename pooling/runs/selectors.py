"""What others may read of teams, runs and pools, and who sees what."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Func, IntegerField, QuerySet

from accounts.models import User
from assay.formats.reports import Report
from assay.formats.runs.examples import accepted_forms, rules_of
from pooling.models import Run
from pooling.runs.units import has_formulas, has_units
from tracks.models import Track
from tracks.tracks.selectors import tracks_for


def submit_page(track: Track) -> dict[str, Any]:
    """What the submission page says of the form that runs of the track have."""
    protocol = track.protocol.parsed
    return {
        "track": track,
        "accepted": accepted_forms(protocol),
        "rules": rules_of(protocol),
        "knows_units": has_units(track, protocol) or has_formulas(track, protocol),
    }


def runs_for(user: User | AnonymousUser) -> QuerySet[Run]:
    """Runs that a person may see: organizers all of them, others the standing ones of their own teams."""
    if not isinstance(user, User):
        return Run.objects.none()
    runs = Run.objects.select_related("track__protocol", "team", "submitted_by", "withdrawn_by")
    if user.is_organizer:
        return runs
    mine = runs.filter(team__members=user, status=Run.Status.SUBMITTED, track__in=tracks_for(user))
    return mine.distinct()


def runs_of(user: User | AnonymousUser, track: Track) -> QuerySet[Run]:
    """Runs of one track that a person may see, those that stand first; `n_warnings` counts their sorts of warning."""
    n_warnings = Func(F("report__warnings"), function="jsonb_array_length", output_field=IntegerField())
    runs = runs_for(user).filter(track=track).annotate(n_warnings=n_warnings)
    return runs.order_by("status", "team__name", "tag", "id").defer("report")


def report_of(run: Run) -> Report:
    """The report of a run's check as it was submitted."""
    return Report.from_json(run.report)
