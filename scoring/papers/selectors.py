"""Tracks as papers report them. Each function takes a known number of queries for a track."""

from collections.abc import Iterable

from django.db.models import Count, Q

from accounts.models import User
from assay.papers.facts import RunFacts, TopicFacts, TrackFacts
from pooling.models import Run, Team
from scoring.leaderboards.selectors import leaderboards_for, means_of
from scoring.models import Leaderboard, Qrels, QrelsEntry
from tracks.models import Track
from tracks.tracks.selectors import tracks_for


def tracks_to_choose(user: User) -> list[Track]:
    """All tracks that a paper may report, oldest first."""
    return list(tracks_for(user).select_related("protocol").order_by("pk"))


def board_of(user: User, track: Track) -> Leaderboard | None:
    """The newest leaderboard by judgments of people whose runs are scored."""
    boards = leaderboards_for(user).filter(track=track, status=Leaderboard.Status.READY)
    return boards.filter(qrels__machine=None).order_by("-pk").first()


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
    return RunFacts(run.team.name, run.tag, run.kind, pooled_as, made, run.uses, means, is_baseline)


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
