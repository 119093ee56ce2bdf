"""Imports of runs, and what their pages show. For organizers."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from pooling.models import RunImport
from tracks.deadlines.selectors import is_accepting, states, why_closed
from tracks.models import Track


class ImportRow(NamedTuple):
    """A row of the manifest with its answer; None before the import."""

    row: dict[str, Any]
    answer: dict[str, Any] | None


@dataclass(frozen=True)
class ImportsPage:
    """The imports of a track."""

    track: Track
    imports: QuerySet[RunImport]
    why_closed: str
    tab: str = "runs"


@dataclass(frozen=True)
class ImportPage:
    """An archive of runs: what its import would do, or what it did."""

    track: Track
    source: RunImport
    rows: list[ImportRow]
    new_teams: list[str]
    n_of_states: list[tuple[str, int]]
    complaints: list[str]
    why_closed: str
    tab: str = "runs"


def imports() -> QuerySet[RunImport]:
    """All imports, with what their pages need."""
    return RunImport.objects.select_related("track__protocol", "job", "created_by")


def imports_page(track: Track) -> ImportsPage:
    """The page that lists imports and starts one."""
    of_track = imports().filter(track=track).defer("plan", "results")
    return ImportsPage(track, of_track, _why_closed(track))


def _why_closed(track: Track) -> str:
    of_kinds = states(track)
    return "" if is_accepting(of_kinds) else why_closed(of_kinds)


def import_page(source: RunImport) -> ImportPage:
    """The page of one import."""
    rows = source.plan.get("rows", [])
    answered = [ImportRow(row, source.results.get(str(n))) for n, row in enumerate(rows)]
    counts = Counter(each.answer["state"] for each in answered if each.answer)
    return ImportPage(
        track=source.track,
        source=source,
        rows=answered,
        new_teams=sorted({row["team"] for row in rows if row["is_new_team"]}),
        n_of_states=[(state, counts[state]) for state in ("accepted", "present", "refused") if counts[state]],
        complaints=source.plan.get("complaints", []),
        why_closed=_why_closed(source.track),
    )
