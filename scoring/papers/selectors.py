"""Tracks as papers report them. Each function takes a known number of queries for a track."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from django.db.models import Count, Q

from accounts.models import User
from assay.papers.comparison import INSTANCES, CollectionFacts, Rankings
from assay.papers.facts import RunFacts, TopicFacts, TrackFacts
from assay.papers.overview import default_measures
from assay.statistics.qrels_summary import QrelsSummary, summarize_qrels
from assay.statistics.ranking_comparison import RankingComparison, compare_rankings
from pooling.models import Run, Team
from scoring.analyses.selectors import newest, rankings_by_label
from scoring.leaderboards.groups import boards_by_group
from scoring.leaderboards.levels import relevant_from
from scoring.leaderboards.selectors import leaderboards_for, means_of
from scoring.models import Analysis, Leaderboard, Qrels, QrelsEntry
from scoring.qrels.selectors import qrels_columns
from tracks.models import Track
from tracks.tracks.selectors import tracks_for

Result = Mapping[str, Any]  # of an analysis


def tracks_to_choose(user: User) -> list[Track]:
    """All tracks that a paper may report, oldest first."""
    return list(tracks_for(user).select_related("protocol", "collection").order_by("pk"))


def board_of(user: User, track: Track) -> Leaderboard | None:
    """The newest finished leaderboard by the judgments of people, and not of a single group."""
    boards = leaderboards_for(user).filter(track=track, status=Leaderboard.Status.READY)
    by_people = boards.filter(qrels__machine=None).exclude(qrels__report__has_key="group")
    return by_people.order_by("-pk").first()


def facts_of(track: Track, board: Leaderboard | None) -> TrackFacts:
    """A track with its submitted runs, and the means and qrels of a leaderboard. Five queries."""
    means = means_of(board) if board else {}
    by_run = dict(board.evaluations.values_list("run_id", "pk")) if board else {}
    runs = track.runs.filter(status=Run.Status.SUBMITTED).select_related("team").defer("report")
    return TrackFacts(
        name=track.name,
        protocol=track.protocol.parsed,
        runs=tuple(_run(run, track, means.get(by_run.get(run.pk, 0), {})) for run in runs),
        measures=tuple(board.measures) if board else (),
        n_topics=board.qrels.n_topics if board else 0,
        topics=_topics(track, board.qrels if board else None),
        organizations=dict(Team.objects.filter(track=track).values_list("name", "organization")),
    )


def _run(run: Run, track: Track, means: dict[str, float]) -> RunFacts:
    rules = track.protocol.parsed.runs
    as_kind = rules.pooled_as(run.kind, run.tag, run.pooled_as)
    pooled_as, is_baseline = as_kind if as_kind != run.kind else "", rules.kind(run.kind).baseline
    made = "manual" if run.is_manual else "automatic"
    return RunFacts(
        run.team.name, run.tag, run.kind, pooled_as, made, rules.stated_use(run.uses), means, is_baseline
    )


def _topics(track: Track, qrels: Qrels | None) -> dict[str, TopicFacts]:
    """The topics of a track, and those that only the qrels have."""
    labels = dict(track.topics.values_list("code", "labels"))
    counts = {code: (judged, relevant) for code, judged, relevant in _counts(track, qrels)}
    codes = sorted(labels.keys() | counts.keys())
    return {code: TopicFacts(labels.get(code, {}), *counts.get(code, (None, None))) for code in codes}


def _counts(track: Track, qrels: Qrels | None) -> Iterable[tuple[str, int, int]]:
    """Topic, judged and relevant units of a version of qrels."""
    if qrels is None:
        return []
    level = max(track.protocol.parsed.scoring.relevant_from, 0)
    entries = QrelsEntry.objects.filter(qrels=qrels).order_by().values("topic")
    judged, relevant = Count("pk", filter=Q(grade__gte=0)), Count("pk", filter=Q(grade__gte=level))
    return entries.annotate(judged=judged, relevant=relevant).values_list("topic", "judged", "relevant")


def collection_of(user: User, track: Track, measures: Sequence[str] = ()) -> CollectionFacts:
    """A track for a comparison of test collections, with the stored rankings of its newest leaderboard.

    Two further queries for each measure, and those of `facts_of`. Rankings by instances are those of the newest
    analysis, rankings by groups those of the groups' leaderboards.
    """
    board = board_of(user, track)
    facts = facts_of(track, board)
    if board is None:
        return CollectionFacts(facts, *_sizes(track))
    by_label: dict[str, dict[str, RankingComparison]] = {}
    spelled = {label.casefold(): label for label in facts.labels}
    for measure in default_measures(facts, measures):
        for label, ranking in rankings_by_label(board, measure).items():
            by_label.setdefault(spelled.get(label.casefold(), label), {})[measure] = ranking
    analysis = newest(user, board).get(Analysis.Kind.INSTANCES)
    is_ready = analysis is not None and analysis.status == Analysis.Status.READY
    instances: Result | None = analysis.result if analysis and is_ready else None
    groups = boards_by_group(user, board)
    return CollectionFacts(
        facts,
        *_sizes(track),
        units=_instance_units(instances) | _group_units(groups),
        by_label=by_label,
        instances=_instances(instances),
        groups=_groups(groups) if len(groups) > 1 else None,
    )


def _sizes(track: Track) -> tuple[int | None, int | None]:
    """The documents and formulas of the collection that runs search, as the last import counted them."""
    counts = track.collection.counts if track.collection else {}
    kinds = ("questions", "answers", "documents", "posts")
    documents = sum(counts.get(kind, 0) for kind in kinds)
    return documents or None, counts.get("formulas") or None


def _instance_units(result: Result | None) -> dict[str, QrelsSummary]:
    return {INSTANCES: QrelsSummary.from_json(result["units"][0])} if result else {}


def _instances(result: Result | None) -> Rankings | None:
    """The runs scored over instances and over distinct formulas."""
    if result is None:
        return None
    runs = tuple(f"{run['team']}: {run['tag']}" for run in result["runs"])
    by_measure = {
        measure: RankingComparison.from_json(values) for measure, values in result["measures"].items()
    }
    return Rankings(runs, by_measure)


def _group_units(boards: Mapping[str, Leaderboard]) -> dict[str, QrelsSummary]:
    """The units of the qrels of each group of assessors."""
    units = {}
    for group, board in boards.items():
        if "group" in board.qrels.report:
            level = relevant_from(board.track.protocol.parsed.scoring, board.qrels)
            units[group] = summarize_qrels(qrels_columns(board.qrels), level=level)
    return units


def _groups(boards: Mapping[str, Leaderboard]) -> Rankings:
    """The runs scored by all judgments and by each group: those that are on all leaderboards."""
    runs = [dict(board.evaluations.values_list("run_id", "pk")) for board in boards.values()]
    common = sorted(set.intersection(*map(set, runs)))
    named = Run.objects.in_bulk(common)
    means = [means_of(board) for board in boards.values()]
    first, *_ = boards.values()
    n_topics = [board.qrels.n_topics for board in boards.values()]
    by_measure = {}
    for n, measure in enumerate(first.measures):
        columns = [
            [of_board[ids[run]][board.measures[n]] for run in common]
            for of_board, ids, board in zip(means, runs, boards.values(), strict=True)
        ]
        by_measure[measure] = compare_rankings(list(boards), np.array(columns), n_topics)
    teams = dict(Team.objects.filter(runs__in=common).values_list("pk", "name"))
    names = tuple(f"{teams[named[run].team_id]}: {named[run].tag}" for run in common)
    return Rankings(names, by_measure)
