"""The tables of an overview paper, as a page shows them and as files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from accounts.models import User
from assay.papers.overview import overview_tables
from assay.papers.tables import PaperTable
from scoring.models import Leaderboard
from scoring.papers import selectors
from scoring.papers.forms import DIGITS, TablesForm
from tracks.models import Track

KINDS = [("tex", "LaTeX"), ("csv", "CSV"), ("tsv", "TSV"), ("json", "JSON")]


@dataclass(frozen=True)
class TablesPage:
    """The tables of a track and of those next to it; `boards` are the leaderboards with their values.

    `query` chooses the same in the addresses of files.
    """

    track: Track
    form: TablesForm
    tables: list[PaperTable]
    boards: list[Leaderboard]
    query: str
    kinds: list[tuple[str, str]] = field(default_factory=lambda: KINDS)
    tab: str = "leaderboards"


def tables_page(user: User, track: Track, asked: QueryDict) -> TablesPage:
    """The tables of a track. A choice that does not exist is ignored, and the form says so."""
    tracks = selectors.tracks_to_choose(user)
    own = selectors.board_of(user, track)
    others = [other for other in tracks if other.pk != track.pk]
    form = TablesForm(asked, others=others, measures=own.measures if own else [])
    form.is_valid()
    chosen: Mapping[str, Any] = form.cleaned_data
    shown = [other for other in others if other.slug in chosen.get("other", [])]
    boards = [*(selectors.board_of(user, other) for other in shown), own]
    facts = [selectors.facts_of(each, board) for each, board in zip([*shown, track], boards, strict=True)]
    tables = overview_tables(
        facts, measures=chosen.get("measure", []), digits=int(chosen.get("digits") or DIGITS[0])
    )
    return TablesPage(track, form, tables, [board for board in boards if board], asked.urlencode())


def table_named(page: TablesPage, name: str) -> PaperTable | None:
    return next((table for table in page.tables if table.name == name), None)
