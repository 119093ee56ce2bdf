"""Imports of judgments, as their pages show them. For organizers only."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from assessment.models import JudgmentImport
from pooling.models import Pool
from tracks.models import Track


def imports() -> QuerySet[JudgmentImport]:
    """All imports, with what their page needs."""
    return JudgmentImport.objects.select_related("track__protocol", "pool", "job", "created_by")


def pools_for_import(track: Track) -> QuerySet[Pool]:
    """The pools whose units imported judgments can be about."""
    return Pool.objects.filter(track=track, status=Pool.Status.READY, protocol=track.protocol_id).defer(
        "statistics"
    )


@dataclass(frozen=True)
class ImportPage:
    """One import: the result of its latest check, or what was imported."""

    track: Track
    source: JudgmentImport
    report: dict[str, Any]
    is_running: bool
    n_more: int
    tab: str = "judging"


def import_page(source: JudgmentImport) -> ImportPage:
    report = source.report
    return ImportPage(
        track=source.track,
        source=source,
        report=report,
        is_running=source.job is not None and not source.job.is_finished,
        n_more=report.get("n_complaints", 0) - len(report.get("complaints", ())),
    )
