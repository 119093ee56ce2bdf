"""Tracks as papers report them. Each function takes a known number of queries for a track."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from django.db.models import F

from accounts.models import User
from assay.pools.statistics import partly_shown
from assay.protocols.run_answers import public_answers
from assay.statistics.ranking_comparison import RankingComparison, compare_rankings
from assay_extensions.papers.facts import (
    AgreementFacts,
    Example,
    PaperCollection,
    PaperRun,
    PaperTopic,
    PaperTrack,
    Rankings,
    UnitFacts,
    text_of,
)
from assay_extensions.papers.overview import default_measures
from assessment.agreement.selectors import graded
from assessment.judgments.disagreements import judgments_of, main_round, scale_of
from corpus.formulas.selectors import latex_of
from participation.models import Team
from pooling.models import Pool, Run
from scoring.evaluations.selectors import means_of
from scoring.leaderboards.groups import boards_by_group
from scoring.models import Analysis, Leaderboard
from scoring.qrels.selectors import grades_by_topic
from scoring.selectors import leaderboards_for
from scoring.stored_analyses import newest, rankings_by_label
from tracks.models import Track
from tracks.tracks.selectors import tracks_overseen_by


def tracks_to_choose(user: User) -> list[Track]:
    """The tracks that a paper of the user may report, oldest first: those of which they see all runs."""
    return list(tracks_overseen_by(user).order_by("pk"))


def board_of(user: User, track: Track) -> Leaderboard | None:
    """The newest finished leaderboard by the judgments of people, and not of a single group."""
    boards = leaderboards_for(user).filter(track=track, status=Leaderboard.Status.READY)
    by_people = boards.filter(qrels__machine=None).exclude(qrels__report__has_key="part_of")
    return by_people.order_by("-pk").first()


def facts_of(track: Track, board: Leaderboard | None) -> PaperTrack:
    """A track with its submitted runs, and the means and qrels of a leaderboard. Five queries."""
    means = means_of(board) if board else {}
    columns = ("run_id", "pk", "first_grades", "first_hits")
    evaluations = board.evaluations.values_list(*columns) if board else ()
    by_run = {run: (pk, first, hits) for run, pk, first, hits in evaluations}
    runs = track.runs.filter(status=Run.Status.SUBMITTED).select_related("team").defer("report")
    rules, run_facts = track.protocol.parsed.runs, []
    for run in [run for run in runs if rules.is_of_campaign(run.kind)]:
        as_kind = rules.pooled_as(run.kind, run.tag, run.pooled_as)
        evaluation, first, hits = by_run.get(run.pk, (0, {}, {}))
        run_facts.append(
            PaperRun(
                run.team.name,
                run.tag,
                run.kind,
                as_kind if as_kind != run.kind else "",
                "manual" if run.is_manual else "automatic",
                rules.stated_use(run.uses),
                means.get(evaluation, {}),
                rules.kind(run.kind).baseline,
                first,
                public_answers(rules, run.answers),
                run.tag in rules.kind(run.kind).oracles,
                hits,
            )
        )
    rows = track.topics.values_list("code", "labels", "split", "title", "latex")
    topics = {
        code: (labels, split, text_of(title, latex), latex) for code, labels, split, title, latex in rows
    }
    counts = grades_by_topic(board.qrels) if board else {}
    return PaperTrack(
        name=track.name,
        protocol=track.protocol.parsed,
        runs=tuple(run_facts),
        measures=tuple(board.measures) if board else (),
        n_topics=board.qrels.n_topics if board else 0,
        topics={
            code: PaperTopic(labels, counts.get(code), split, text, latex)
            for code in sorted(topics.keys() | counts.keys())
            for labels, split, text, latex in [topics.get(code, ({}, "", "", ""))]
        },
        organizations=dict(Team.objects.filter(track=track).values_list("name", "organization")),
    )


def collection_of(user: User, track: Track, measures: Sequence[str] = ()) -> PaperCollection:
    """A track for a comparison of test collections, with the stored rankings of its newest leaderboard.

    Two further queries for each measure, four for judgments and formulas, and those of `facts_of`. Rankings by
    instances are those of the newest analysis, rankings by groups those of the groups' leaderboards.
    """
    board = board_of(user, track)
    facts = facts_of(track, board)
    hits = (docno for run in facts.runs for docno, _ in run.first_hits.values())
    is_visual = facts.protocol.scoring.collapse_instances
    from_judgments: dict[str, Any] = {
        "agreement": _agreement(track),
        "examples": _examples(track),
        "latex": _latex(track, hits, is_visual=is_visual),
    }
    if board is None:
        return PaperCollection(facts, *_sizes(track), **from_judgments)
    by_label: dict[str, dict[str, RankingComparison]] = {}
    spelled = {label.casefold(): label for label in facts.labels}
    for measure in default_measures(facts, measures):
        for label, ranking in rankings_by_label(board, measure).items():
            by_label.setdefault(spelled.get(label.casefold(), label), {})[measure] = ranking
    units: dict[str, UnitFacts] = {}
    instances, of_groups, several = None, dict[str, Rankings](), None
    distinct_by_group: dict[str, UnitFacts] = {}
    analysis = newest(user, board).get(Analysis.Kind.INSTANCES)
    if analysis is not None and analysis.status == Analysis.Status.READY:
        result = analysis.result
        for name, by_topic in result["grades"].items():
            units[name] = UnitFacts(_counts(by_topic), result["level"])
        level = facts.protocol.scoring.level_of({"group": ""})
        for group, by_topic in result.get("group_grades", {}).items():
            distinct_by_group[group] = UnitFacts(_counts(by_topic), level)
        several = tuple(result["several"]) if "several" in result else None
        names = tuple(f"{run['team']}: {run['tag']}" for run in result["runs"])
        instances = _stored(names, result["measures"])
        of_groups = {form: _stored(names, measures) for form, measures in result.get("groups", {}).items()}
    groups = boards_by_group(user, board)
    if not of_groups and len(groups) > 1:
        of_groups = {"": _groups(groups)}
    by_group = {
        group: UnitFacts(grades_by_topic(of_group.qrels), of_group.relevant_from)
        for group, of_group in groups.items()
        if "group" in of_group.qrels.report
    }
    return PaperCollection(
        facts,
        *_sizes(track),
        units=units,
        by_group=by_group,
        distinct_by_group=distinct_by_group,
        by_label=by_label,
        instances=instances,
        groups=of_groups,
        several=several,
        **from_judgments,
    )


def _counts(by_topic: Mapping[str, Mapping[str, int]]) -> dict[str, dict[int, int]]:
    """Stored numbers of units by topic and grade."""
    return {code: {int(grade): n for grade, n in own.items()} for code, own in by_topic.items()}


def _agreement(track: Track) -> AgreementFacts | None:
    """The agreement in the main batches and second judgments."""
    of_round, scale = main_round(), scale_of(track.protocol.parsed, "")
    return AgreementFacts.of(graded(track, of_round, scale), scale.level)


def _examples(track: Track) -> list[Example]:
    """The judgments with a comment and a grade in the main batches and second judgments."""
    judgments = judgments_of(track, main_round()).exclude(comment="").exclude(grade=None)
    rows = judgments.values_list("topic__code", "docno", "grade", "comment")
    examples = [Example(topic, docno, grade or 0, comment) for topic, docno, grade, comment in rows]
    latex = _latex(track, (example.docno for example in examples), is_visual=False)
    return [example._replace(latex=latex.get(example.docno, "")) for example in examples]


def _latex(track: Track, ids: Iterable[str], *, is_visual: bool) -> dict[str, str]:
    """The LaTeX of formulas, if the track's units are formulas."""
    is_of_formulas = track.protocol.parsed.unit in {"formula", "visually-distinct-formula"}
    return latex_of(track.collection_id or 0, {*ids}, is_visual=is_visual) if is_of_formulas else {}


def _stored(names: tuple[str, ...], measures: Mapping[str, Any]) -> Rankings:
    return Rankings(names, {name: RankingComparison.from_json(values) for name, values in measures.items()})


def _sizes(track: Track) -> tuple[str, int | None, int | None, dict[str, int] | None, str]:
    """The name of the collection, its documents and formulas by its last import; facts of the last pool."""
    counts = track.collection.counts if track.collection else {}
    kinds = ("questions", "answers", "documents", "posts")
    documents = sum(counts.get(kind, 0) for kind in kinds)
    pools = Pool.objects.filter(track=track, status=Pool.Status.READY, tops_up=None).order_by("pk")
    # the statistics of many runs are megabytes
    few = pools.defer("statistics", "recount").annotate(
        n=F("statistics__n"), members=F("statistics__members")
    )
    pool = few.last()
    source = track.collection.name if track.collection else ""
    formulas, depths = counts.get("formulas") or None, dict(pool.depths) if pool else None
    shown = partly_shown({"n": pool.n, "members": pool.members or {}}) if pool else ""
    return source, documents or None, formulas, depths, shown


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
