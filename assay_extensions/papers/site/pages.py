"""The tables of an overview paper, as a page shows them and as files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.http import QueryDict
from django.urls import reverse

from accounts.models import User
from assay import plots
from assay.protocols.run_answers import public_questions
from assay.tables.figures import as_pgfplots
from assay.tables.paper import PaperTable, as_file
from assay_extensions.papers.comparison import comparison_tables, relevant_plot
from assay_extensions.papers.facts import PaperCollection
from assay_extensions.papers.overview import overview_tables
from assay_extensions.papers.site import selectors
from assay_extensions.papers.site.forms import ComparisonForm, TablesForm
from scoring.models import Leaderboard
from tracks.models import Track

FIGURE = "figure-relevant"  # names its file, as the command does
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


def tables_page(user: User, track: Track, asked: QueryDict) -> TablesPage:
    """The tables of a track. A choice that does not exist is ignored, and the form says so."""
    tracks = selectors.tracks_to_choose(user)
    own = selectors.board_of(user, track)
    others = [other for other in tracks if other.pk != track.pk]
    shown = [*(other for other in others if other.slug in asked.getlist("other")), track]
    questions = public_questions(*(shown_track.protocol.parsed.runs for shown_track in shown))
    measures = own.measures if own else []
    form = TablesForm(asked, others=others, measures=measures, questions=questions)
    form.is_valid()
    chosen: Mapping[str, Any] = form.cleaned_data
    boards = [*(selectors.board_of(user, other) for other in shown[:-1]), own]
    facts = [selectors.facts_of(*pair) for pair in zip(shown, boards, strict=True)]
    tables = overview_tables(
        facts,
        measures=chosen.get("measure", []),
        digits=form.n_digits,
        questions=chosen.get("question", []),
        baselines=chosen.get("baselines") or "all",
    )
    return TablesPage(track, form, tables, [board for board in boards if board], asked.urlencode())


class Missing(NamedTuple):
    """The parts of a track that are missing from the tables, and the page where the organizer can change that."""

    track: Track
    reason: str
    address: str


@dataclass(frozen=True)
class ComparisonPage:
    """Test collections side by side. There are no tables before a track is chosen."""

    form: ComparisonForm
    has_tracks: bool
    missing: list[Missing]
    tables: list[PaperTable]
    plot: plots.Plot | None
    measures: list[str]
    query: str
    kinds: list[tuple[str, str]] = field(default_factory=lambda: KINDS)
    figure: str = FIGURE


def comparison_page(user: User, asked: QueryDict) -> ComparisonPage:
    """The tables and the figure of the chosen tracks. A choice that does not exist is ignored, and the form says so."""
    tracks = selectors.tracks_to_choose(user)
    slugs = asked.getlist("track")
    chosen = [track for track in tracks if track.slug in slugs]
    collections = [selectors.collection_of(user, track, asked.getlist("measure")) for track in chosen]
    measures = list(dict.fromkeys(name for collection in collections for name in collection.track.measures))
    form = ComparisonForm(
        asked or None,
        tracks=tracks,
        labels=list(
            {
                label.casefold(): label for collection in collections for label in collection.track.labels
            }.values()
        ),
        measures=measures,
    )
    form.is_valid()
    label, level = form.asked("label") or "", form.asked("level")
    tables = (
        comparison_tables(
            collections,
            measures=form.asked("measure") or [],
            label=label,
            level=level,
            digits=form.n_digits,
            topic=form.asked("topic") or "",
        )
        if collections
        else []
    )
    missing = [part for pair in zip(chosen, collections, strict=True) for part in _missing(*pair)]
    plot = relevant_plot(collections, label=label, level=level)
    return ComparisonPage(form, bool(tracks), missing, tables, plot, measures, asked.urlencode())


def _missing(track: Track, collection: PaperCollection) -> Iterator[Missing]:
    facts, protocol = collection.track, collection.track.protocol
    boards = reverse("scoring:leaderboards", args=[track.slug])
    if not facts.n_topics:
        yield Missing(track, "no leaderboard yet, so no units and no rankings: score its runs", boards)
        return
    if not facts.labels:
        topics = reverse("tracks:topics", args=[track.slug])
        yield Missing(track, "its topics have no labels, so there are no topic classes: add labels", topics)
    if protocol.scoring.collapse_instances and collection.instances is None:
        reason = (
            "the same runs over instances: start that analysis under Reliability of the numbers of the newest "
            "leaderboard; imported qrels have no judgments of instances"
        )
        yield Missing(track, reason, boards)
    if protocol.judging.groups and not collection.groups:
        yield Missing(track, "the same runs by groups of assessors: score the qrels of each group", boards)


def file_of(page: TablesPage | ComparisonPage, name: str, kind: str) -> str | None:
    """A table as a file, or the figure for LaTeX; None if the page does not have it."""
    if isinstance(page, ComparisonPage) and page.plot and (name, kind) == (page.figure, "tex"):
        return as_pgfplots(page.plot)
    table = next((table for table in page.tables if table.name == name), None)
    return None if table is None else as_file(table, kind)
