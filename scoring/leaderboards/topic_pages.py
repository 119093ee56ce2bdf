"""The topics of a leaderboard: how hard each is, how much it separates the runs, and which of its units are judged."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import Count, Min, QuerySet
from django.http import Http404

from accounts.access import AnyUser, oversees
from assay import plots
from assay.tables import natural, shown
from corpus.collections.selectors import collections_for
from pooling.models import Contribution
from pooling.pools.entries import ContributingRun, ShownDocument, contributing_runs, shown_documents
from pooling.runs.selectors import runs_for
from scoring.evaluations.selectors import topic_values
from scoring.leaderboards.rows import BoardRow
from scoring.leaderboards.selectors import board_rows
from scoring.models import Leaderboard, QrelsEntry
from scoring.qrels.selectors import grade_label, units_by_topic
from scoring.selectors import LeaderboardPage, shared_page
from tracks.models import Topic
from web.pages import ROWS_ON_PAGE


@dataclass(frozen=True)
class TopicSpread(plots.Spread):
    """The values of all runs on a topic, and its judged and relevant units."""

    deviation: float
    n_judged: int
    n_relevant: int


DOCUMENTS_PAGE = 50
SHOWN_RUNS = 10  # of each document, with its ranks
SORTS = {
    "topic": "label",
    "mean": "mean",
    "median": "median",
    "lowest": "lowest",
    "best": "best",
    "spread": "deviation",
    "judged": "n_judged",
    "relevant": "n_relevant",
}


@dataclass(frozen=True, kw_only=True)
class TopicsPage(LeaderboardPage):
    """All topics. `level` is the lowest relevant grade; `columns` are name, `sort` of the heading and direction."""

    level: int
    rows: list[TopicSpread]
    sort: str
    columns: list[tuple[str, str, str]]
    n_runs: int
    plot: plots.Plot


def topics_page(user: AnyUser, board: Leaderboard, measure: str = "", sort: str = "") -> TopicsPage:
    """All topics of a leaderboard, by default the hardest first: the one with the lowest mean."""
    shared = shared_page(user, board, measure)
    charted = shared.charted
    rows = [*_spreads(board, charted)] if board.status == Leaderboard.Status.READY else []
    key = sort.removeprefix("-")
    if key not in SORTS:
        key = sort = "mean"
    is_reversed = sort.startswith("-")
    rows.sort(
        key=lambda row: natural(row.label) if key == "topic" else getattr(row, SORTS[key]),
        reverse=is_reversed,
    )
    chosen = (key, key, "descending") if is_reversed else (key, f"-{key}", "ascending")
    columns = [chosen if name == key else (name, name, "") for name in SORTS]
    return TopicsPage(
        **vars(shared),
        level=board.relevant_from,
        rows=rows,
        sort=sort,
        columns=columns,
        n_runs=board.evaluations.count(),
        plot=plots.spreads(
            f"{board.track.slug}-topics",
            f"{board.track.name}: {charted} of all runs by topic",
            rows,
            up=charted,
        ),
    )


@lru_cache(maxsize=32)
def _spreads(board: Leaderboard, measure: str) -> list[TopicSpread]:
    """The topics of a leaderboard that is ready. They never change, so a process keeps those of the last pages."""
    units = units_by_topic(board.qrels, board.relevant_from)
    rows = []
    for topic, by_run in topic_values(board, measure).items():
        values = np.array(list(by_run.values()))
        middle = float(values.min()), float(np.median(values)), float(values.mean()), float(values.max())
        rows.append(TopicSpread(topic, *middle, float(values.std()), *units.get(topic, (0, 0))))
    return rows


class RunOnTopic(NamedTuple):
    """A run's value on a topic."""

    row: BoardRow
    value: str


class RankedDocument(NamedTuple):
    """A judged or pooled unit; `label` is that of its grade. `runs` are the first of the user's `n_runs`, by rank."""

    docno: str
    grade: int | None
    label: str
    runs: list[ContributingRun]
    n_runs: int


class UniqueUnits(NamedTuple):
    """Units of a topic that only one team's runs contributed to the pools."""

    team: str
    n_pooled: int
    n_relevant: int


@dataclass(frozen=True, kw_only=True)
class TopicPage(LeaderboardPage):
    """One topic. `topic` is None if only the qrels have it; `grades` are grade, label and number of units.

    Unless the reader asks for all runs, there are no more than a hundred `rows`, and a few runs of each document.
    `has_runs` says whether there are runs whose ranks the reader may see.
    """

    topic: Topic | None
    code: str
    rows: list[RunOnTopic]
    n_rows: int
    mean: str
    median: str
    lowest: str
    best: str
    n_runs: int
    grades: list[tuple[int, str, int]]
    ranked: list[RankedDocument]
    documents: dict[str, ShownDocument]
    documents_page: Page[str]
    unique: list[UniqueUnits] | None
    has_runs: bool


def topic_page(
    user: AnyUser,
    board: Leaderboard,
    code: str,
    measure: str = "",
    number: str | None = None,
    *,
    has_all_runs: bool = False,
) -> TopicPage:
    """A topic with each run that the user may open, and a page of its documents with their ranks in the pools.

    For organizers also the units that only one team contributed.

    Raises:
        Http404: The qrels do not have the topic.
    """
    shared = shared_page(user, board, measure)
    values = topic_values(board, shared.charted, topic=code).get(code)
    if values is None:
        raise Http404
    rows = [row for row in board_rows(user, board) if row.may_open and row.evaluation.pk in values]
    rows.sort(key=lambda row: -values[row.evaluation.pk])
    first = rows if has_all_runs else rows[:ROWS_ON_PAGE]
    own = [row for row in rows[len(first) :] if row.is_own]
    most = None if has_all_runs else SHOWN_RUNS
    all_values = np.array(list(values.values()))
    protocol = board.track.protocol.parsed
    entries = QrelsEntry.objects.filter(qrels=board.qrels_id, topic=code)
    if protocol.judged.has_nuggets:
        entries = entries.filter(grade__gte=0)  # without the lines of the list of nuggets
    by_docno = dict(entries.values_list("docno", "grade"))
    grades = Counter(by_docno.values())
    has_pairs = protocol.judged.has_votes  # which are pooled; the qrels have documents
    pooled = _contributions(board, code)
    has_runs = is_overseer = oversees(user, board.track_id)
    if not is_overseer:  # PostgreSQL finds a few ids by the key, which it does not do for a query
        own_runs = [*runs_for(user).filter(track=board.track_id).values_list("pk", flat=True)]
        pooled, has_runs = pooled.filter(run__in=own_runs), bool(own_runs)
    best = {}
    if not has_pairs:
        best = dict(pooled.order_by().values_list("entry__docno").annotate(best=Min("rank")))
    docnos = sorted(
        by_docno.keys() | best.keys(), key=lambda docno: (best.get(docno, math.inf), natural(docno))
    )
    listed = Paginator(docnos, DOCUMENTS_PAGE).get_page(number)
    ranks = _ranks(pooled.filter(entry__docno__in=list(listed))) if best else {}
    collection = collections_for(user).filter(tracks=board.track).first()
    labels = {grade: grade_label(protocol, board.qrels, grade) for grade in grades}
    written = {grade.value: grade for grade in protocol.judging.grades}

    def label_of(docno: str) -> str:
        value = by_docno.get(docno, -1)
        has_own = value in written and written[value].label_for(docno) != written[value].label
        return written[value].label_for(docno) if has_own else labels.get(value, "")

    return TopicPage(
        **vars(shared),
        topic=board.track.topics.filter(code=code).first(),
        code=code,
        rows=[RunOnTopic(row, shown(values[row.evaluation.pk])) for row in (*own, *first)],
        n_rows=len(rows),
        mean=shown(float(all_values.mean())),
        median=shown(float(np.median(all_values))),
        lowest=shown(float(all_values.min())),
        best=shown(float(all_values.max())),
        n_runs=len(all_values),
        grades=[(grade, labels[grade], n) for grade, n in sorted(grades.items(), reverse=True)],
        ranked=[
            RankedDocument(docno, by_docno.get(docno), label_of(docno), runs[:most], len(runs))
            for docno in listed
            for runs in [ranks.get(docno, [])]
        ],
        documents=shown_documents(collection, listed),
        documents_page=listed,
        unique=_unique(board, code) if is_overseer and not has_pairs else None,
        has_runs=has_runs,
    )


def _contributions(board: Leaderboard, code: str) -> QuerySet[Contribution]:
    """The contributions of all runs to the pools of a track, for one topic."""
    return Contribution.objects.filter(entry__pool__track=board.track_id, entry__topic__code=code)


def _ranks(contributions: QuerySet[Contribution]) -> dict[str, list[ContributingRun]]:
    """The best rank of each pooled unit in each run that contributed it, best first. One query."""
    return {
        docno: sorted({run.run_id: run for run in reversed(runs)}.values(), key=lambda run: run.rank)
        for docno, runs in contributing_runs(contributions, "entry__docno").items()
    }


def _unique(board: Leaderboard, code: str) -> list[UniqueUnits]:
    """Units that only one team contributed, by team; empty if the track has no pool with the topic. Three queries."""
    by_unit = _contributions(board, code).order_by().values_list("entry__docno")
    of_one_team = by_unit.annotate(n=Count("run__team", distinct=True)).filter(n=1)
    team_of = dict(of_one_team.annotate(team=Min("run__team__name")).values_list("entry__docno", "team"))
    relevant_entries = QrelsEntry.objects.filter(
        qrels=board.qrels_id, topic=code, grade__gte=board.relevant_from
    )
    relevant = set(relevant_entries.values_list("docno", flat=True))
    n_pooled = Counter(team_of.values())
    n_relevant = Counter(team for docno, team in team_of.items() if docno in relevant)
    every_team = _contributions(board, code).values_list("run__team__name", flat=True).distinct()
    return [UniqueUnits(team, n_pooled[team], n_relevant[team]) for team in sorted(every_team)]
