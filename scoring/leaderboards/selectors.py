"""Leaderboards that a user may see, and the rows of one: each run with its means, intervals and tiers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.paginator import Page
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Concat, Lower

from accounts.access import AnyUser, oversees
from accounts.models import User
from assay import plots
from assay.protocols.measures import FAMILIES, Measure
from assay.protocols.run_answers import public_questions
from assay.protocols.schema import RunQuestion
from assay.statistics.leaderboard import NOT_COMPARABLE, STRONGEST, Baselines
from assay.tables import shown
from participation.teams.selectors import own_teams_with_rights
from pooling.models import Run
from pooling.runs.answers import ChosenAnswers
from pooling.runs.names import Names, names_for
from scoring.evaluations.selectors import means_of, name_order, named, places_of, with_names
from scoring.leaderboards.marks import Axis, Heat, Lead, Marked, axis_of, heat_of, lead_of, marked
from scoring.leaderboards.releases import missing_runs, qrels_known_since, runs_in_words
from scoring.leaderboards.rows import BoardRow, Cell, Gain, number_of, shown_or_empty
from scoring.models import Evaluation, Leaderboard, MeasureStatistics, Qrels
from scoring.qrels.selectors import correction_of, other_judges, qrels_of
from scoring.selectors import (
    LeaderboardPage,
    interaction_rules,
    seen_by,
    shared_page,
    stored_measure,
    titled,
)
from web.pages import ALL_ROWS, page_of
from web.statements import Prepared

FILTERS = {"all": "all runs", "best": "best of each team", "first": "first of each team"}
OTHER_FAMILIES = "other-families"
OF_KIND = "kind-"  # begins the filter of a kind of run
WORD_COLUMNS = {"team", "run", "kind"}  # sorted from A to Z first; numbers from the highest
MAX_CURVES = 8  # of runs in one plot
MAX_COMPARABLE = 100  # leaderboards in the list of those to compare with


class Column(NamedTuple):
    """A column of the table; `link` is the value of `sort` that its heading asks for."""

    label: str
    title: str
    link: str
    direction: str
    is_number: bool
    is_measure: bool


@dataclass(frozen=True, kw_only=True)
class RankingPage(LeaderboardPage):
    """A leaderboard as a table. `charted` is the measure of the tiers, in column `tier_column` of the measures."""

    rows: list[BoardRow]  # the runs of the user first that are on another page
    listed: Page[BoardRow]
    is_whole: bool  # all rows are on one page, because the reader asked for that
    marked: list[Marked]  # the same rows as `rows`
    axis: Axis
    lead: Lead | None
    heat: Heat | None
    dropped: list[dict[str, Any]]  # topics that the qrels leave out
    has_all_columns: bool  # also on a narrow screen
    n_runs: int
    runs_in_words: str
    n_own: int
    n_gone: int  # runs withdrawn or disqualified since
    n_after_release: int
    other_judges: (
        str  # a sentence about the qrels of people or of a machine, whichever the leaderboard does not use
    )
    correction: Qrels | None  # the version that corrects the qrels, if the user may see it
    missing: list[str]  # tags of runs that were submitted since, for organizers
    disqualified: list[dict[str, Any]]  # before the scoring
    unassigned: list[dict[str, Any]]  # whose units had no grade
    columns: list[Column]
    sort: str
    show: str
    search: str
    filters: dict[str, str]
    chosen: ChosenAnswers
    tier_column: int
    summary: str  # of the measure over topics; tiers exist only for a mean
    statistics: MeasureStatistics | None
    gain: Gain | None
    others: list[Leaderboard]
    mismatched: list[BoardRow]  # runs without a judged document
    has_parts: bool
    has_classes: bool
    plot: plots.Plot | None
    curves_plot: plots.Plot | None
    has_interaction: bool

    @property
    def openable(self) -> list[BoardRow]:
        """The shown runs whose values by topic the user may see, the best first, and then the strongest baseline."""
        column = self.tier_column
        rows = sorted((row for row in self.rows if row.may_open), key=lambda row: -row.cells[column].value)
        return sorted(rows, key=lambda row: (row is not rows[0], not row.is_baseline))

    @property
    def kept(self) -> str:
        """The part of an address that keeps the runs and columns shown."""
        searched = f"&{urlencode({'q': self.search})}" if self.search else ""
        every = f"&page={ALL_ROWS}" if self.is_whole else ""
        columns = "&columns=all" if self.has_all_columns else ""
        return f"&show={self.show}{self.chosen.query}{searched}{columns}{every}"


def public_of(board: Leaderboard) -> list[RunQuestion]:
    """The questions about runs whose answers everyone gets who sees a leaderboard."""
    return [*public_questions(board.track.protocol.parsed.runs).values()]


def leaderboard_page(
    user: AnyUser,
    board: Leaderboard,
    sort: str = "",
    show: str = "",
    chosen: ChosenAnswers | None = None,
    baselines: str = "",
    *,
    has_all_columns: bool = False,
    search: str = "",
    number: str | None = None,
) -> RankingPage:
    """A page of the rows of a leaderboard, sorted and filtered. The number of queries does not grow with the runs."""
    names = names_for(user, board.track)
    rows, keys = named_rows(user, board, names), _sort_keys(board)
    key = sort.removeprefix("-")
    if key not in keys:
        key = sort = board.measures[0]
    rows.sort(key=keys[key], reverse=sort.startswith("-") == (key in WORD_COLUMNS))
    shared = shared_page(user, board, key)
    tier_column = board.measures.index(shared.charted)
    competing = [row for row in rows if not row.is_baseline]
    kinds = {row.run.kind for row in competing}
    submitted = [kind for kind in board.track.protocol.parsed.runs.kinds if kind.key in kinds]
    of_kinds = {f"{OF_KIND}{kind.key}": f"{kind.name} runs" for kind in submitted}
    filters = FILTERS | (of_kinds if len(of_kinds) > 1 else {})
    if any(row.is_of_judge_family for row in rows):
        filters |= {OTHER_FAMILIES: "without the judge's family"}
    show = show if show in filters else "all"
    chosen = chosen or ChosenAnswers(public_of(board))
    accepted = [row for row in _filtered(rows, show, tier_column) if chosen.accept(row.run.answers)]
    listed = page_of([row for row in accepted if _matches(row, search)] if search else accepted, number)
    on_page = {row.run.pk for row in listed}
    own = [row for row in listed.paginator.object_list if row.is_own and row.run.pk not in on_page]
    shown_rows = [*own, *listed]
    shown_rows = [row._replace(answers=chosen.words(row.run.answers)) for row in shown_rows]
    rules, tested = board.track.protocol.parsed.qrels, statistics_of(board, shared.charted)
    gain = _gain(rows, tier_column, "automatic" if baselines == "automatic" else "all")
    axis = axis_of(rows, tier_column, gain)
    return RankingPage(
        **vars(shared),
        rows=shown_rows,
        listed=listed,
        is_whole=number == ALL_ROWS,
        marked=marked(shown_rows, rows, tier_column, axis),
        axis=axis,
        lead=lead_of(rows, tier_column, gain, tested),
        heat=heat_of(board, shown_rows, shared.charted, tier_column),
        dropped=getattr(board, "dropped", None) or [],
        has_all_columns=has_all_columns,
        n_runs=len(rows),
        runs_in_words=runs_in_words(
            len(competing), len({row.run.team_id for row in competing}), len(rows) - len(competing)
        ),
        n_own=sum(row.is_own for row in rows),
        n_gone=sum(row.run.status != Run.Status.SUBMITTED for row in rows),
        n_after_release=sum(row.is_after_release for row in rows),
        other_judges=other_judges(qrels_of(user, board.track), board.qrels),
        correction=correction_of(user, board.qrels),
        missing=missing_runs(board) if oversees(user, board.track_id) else [],
        disqualified=[names.reference(run) for run in board.statistics.get("disqualified", ())],
        unassigned=[names.reference(run) for run in board.statistics.get("unassigned", ())],
        columns=_columns(board, key, sort),
        sort=sort,
        show=show,
        search=search,
        filters=filters,
        chosen=chosen,
        tier_column=tier_column,
        summary=FAMILIES[stored_measure(board, shared.charted).family].summary,
        statistics=tested,
        gain=gain,
        others=comparable(user, board),
        mismatched=[row for row in rows if row.evaluation.mismatch],
        has_parts=(rules.export_groups or bool(rules.sets)) and has_parts(board.qrels),
        has_classes=bool(board.track.protocol.parsed.topics.labels)
        and board.track.topics.exclude(labels={}).exists(),
        plot=_means_plot(board, shown_rows, shared.charted),
        curves_plot=_curves_plot(board, shown_rows),
        has_interaction=interaction_rules(board) is not None,
    )


def _gain(rows: list[BoardRow], column: int, baselines: Baselines) -> Gain | None:
    """The gain by a measure; None without a baseline above 0 or a run of a team. Disqualified runs don't count."""
    are_automatic = [row.is_automatic_baseline for row in rows if row.is_baseline]
    if not any(are_automatic):
        baselines = "all"
    others = [pair for pair in STRONGEST.items() if pair[0] != baselines]
    valid = [row for row in rows if row.run.status != Run.Status.DISQUALIFIED]
    ranked = sorted(valid, key=lambda row: -row.cells[column].value)
    best = next((row for row in ranked if not row.is_baseline), None)
    of_kind = [
        row for row in ranked if (row.is_baseline if baselines == "all" else row.is_automatic_baseline)
    ]
    baseline = next(iter(of_kind), None)
    if best is None or baseline is None or not baseline.cells[column].value:
        return None
    percent = 100 * (best.cells[column].value / baseline.cells[column].value - 1)
    is_mixed = len({*are_automatic}) == 2
    words, value = STRONGEST[baselines], baseline.cells[column].text
    return Gain(best, baseline, percent, baselines, words, others if is_mixed else [], value)


def _means_plot(board: Leaderboard, rows: list[BoardRow], measure: str) -> plots.Plot | None:
    """The means of some runs with their intervals, in the order of the table; None without runs."""
    column = board.measures.index(measure)
    points = [
        plots.Interval(
            row.run.tag,
            row.cells[column].value,
            number_of(row.cells[column].low),
            number_of(row.cells[column].high),
            row.is_own,
        )
        for row in rows
    ]
    has_intervals = any(point.low is not None for point in points)
    name, title = f"{board.track.slug}-leaderboard", f"{board.track.name}: {measure}"
    title += f", with 95 % confidence intervals ({board.interval_note})" if has_intervals else ""
    return plots.intervals(name, title, points, across=measure) if points else None


def _curves_plot(board: Leaderboard, rows: list[BoardRow]) -> plots.Plot | None:
    """Interpolated precision by recall of the first runs that the user may open. One query.

    Returns None if the user may open no run.
    """
    openable = board.evaluations.filter(pk__in=[row.evaluation.pk for row in rows if row.may_open])
    of_run = dict(openable.exclude(curves={}).values_list("pk", "curves"))
    drawn = [row for row in rows if row.evaluation.pk in of_run][:MAX_CURVES]
    if not drawn:
        return None
    curves = [of_run[row.evaluation.pk] for row in drawn]
    recalls = [f"{recall:.1f}" for recall in curves[0]["recalls"]]
    names = [row.run.tag for row in drawn]
    lines = [(name, curve["by_recall"]) for name, curve in zip(names, curves, strict=True)]
    name, title = f"{board.track.slug}-recall", f"{board.track.name}: interpolated precision by recall"
    up = "Precision in characters" if curves[0].get("in_characters") else "Precision"
    baselines = {name for name, row in zip(names, drawn, strict=True) if row.is_baseline}
    return plots.lines(name, title, recalls, lines, across="Recall", up=up, gray=baselines)


def has_parts(qrels: Qrels) -> bool:
    """Check that a version is that of a group or set, or that groups or sets were frozen with it."""
    report = qrels.report
    if "part_of" in report:
        return True
    return Qrels.objects.filter(track=qrels.track_id, report__part_of=qrels.version).exists()


def comparable(user: AnyUser, board: Leaderboard) -> list[Leaderboard]:
    """Other finished leaderboards that the user may see, with a measure in common, newest first.

    They are of the same track, or have a run with the same team and tag.
    """
    others = _COMPARABLE(user=user.pk, board=board.pk, track=board.track_id, measures=board.measures)
    return [other for other in others if may_compare(user, board, other)]


def may_compare(user: AnyUser, board: Leaderboard, other: Leaderboard) -> bool:
    """Return whether the runs of two leaderboards may be matched by name: not across tracks if one hides them.

    Values on the other would give away whose run it is.
    """
    of_both = (board.track, other.track)
    return board.track_id == other.track_id or not any(names_for(user, track).are_hidden for track in of_both)


def _comparable(user: Any, board: Any, track: Any, measures: Any) -> QuerySet[Leaderboard]:
    boards = seen_by(user).filter(status=Leaderboard.Status.READY, measures__overlap=measures)
    name = Concat(Lower("run__team__name"), Value("\t"), Lower("run__tag"))
    names = Evaluation.objects.filter(leaderboard=board).order_by().annotate(name=name).values("name")
    with_same_run = (
        Evaluation.objects.order_by().annotate(name=name).filter(name__in=names).values("leaderboard")
    )
    related = boards.filter(Q(track=track) | Q(pk__in=with_same_run))
    return related.exclude(pk=board).order_by("-pk")[:MAX_COMPARABLE]


_COMPARABLE = Prepared(_comparable)


def board_rows(user: AnyUser, board: Leaderboard) -> list[BoardRow]:
    """Rows by team and tag, as the user reads them; rows with equal values keep that order in every sorting."""
    return named_rows(user, board, names_for(user, board.track))


def runs_of_judge_family(user: AnyUser, board: Leaderboard) -> list[Run]:
    """The runs that declare a model of the family of the machine that judged, by tag; no query for people."""
    if not board.judge_family:
        return []
    runs = Run.objects.filter(evaluations__leaderboard=board).exclude(models_used="").select_related("team")
    names = names_for(user, board.track)
    marked = [
        names.run(run) for run in runs.defer("report").order_by() if run.is_of_family(board.judge_family)
    ]
    return sorted(marked, key=lambda run: run.tag)


_NAMED = Prepared(lambda board: with_names(Evaluation.objects.filter(leaderboard=board)))


def named_rows(user: AnyUser, board: Leaderboard, names: Names) -> list[BoardRow]:
    """The rows of `board_rows` under these names.

    There are none until the leaderboard is ready: a job may be storing scores between the queries of a page.
    """
    if board.status != Leaderboard.Status.READY:
        return []
    evaluations = _NAMED(board=board.pk)
    tags = {
        evaluation.pk: evaluation.run.tag for evaluation in evaluations
    }  # which rules of the protocol name
    evaluations = sorted(named(names, evaluations), key=name_order)
    cells = _cells(board, tuple(evaluation.pk for evaluation in evaluations))
    known_since = qrels_known_since(board.track)
    own = set()
    if isinstance(user, User):
        own = {team.pk for team in own_teams_with_rights(user, [board.track])}
    sees_all = oversees(user, board.track_id) or board.release == Leaderboard.Release.PUBLIC
    rules, rows, family = board.track.protocol.parsed.runs, [], board.judge_family
    for evaluation in evaluations:
        evaluation.leaderboard = board
        run, kind = evaluation.run, rules.kind(evaluation.run.kind)
        run.track, tag = board.track, tags[evaluation.pk]
        is_own = run.team_id in own
        is_after_release = known_since is not None and run.submitted_at > known_since
        row = BoardRow(
            evaluation,
            run,
            cells[evaluation.pk],
            is_own,
            may_open=sees_all or is_own,
            is_after_release=is_after_release,
            is_baseline=kind.baseline,
            is_automatic_baseline=kind.baseline and not run.is_manual and tag not in kind.oracles,
            as_kind=rules.pooled_as(run.kind, tag, run.pooled_as),
            is_of_judge_family=run.is_of_family(family),
        )
        rows.append(row)
    return rows


@lru_cache(maxsize=4)
def _cells(board: Leaderboard, pks: tuple[int, ...]) -> dict[int, list[Cell]]:
    """The cells of these evaluations, all that the leaderboard has.

    They never change, so a process keeps those of the last few leaderboards.
    """
    means, place = means_of(board), places_of(board)
    statistics = {stored.measure: stored for stored in board.by_measure.defer("pairs")}
    tells_method = "intervals" in board.statistics
    best = [_highest(stored_measure(board, name), name, means) for name in board.measures]
    cells_of: dict[int, list[Cell]] = {}
    for evaluation in board.evaluations.only("leaderboard", "n_topics", "n_missing", "unjudged"):
        # as `assay tiers` says it; older leaderboards stay as they were
        is_comparable = not (tells_method and evaluation.mismatch)
        position, cells = place.get(evaluation.pk), []
        for measure, highest in zip(board.measures, best, strict=True):
            value, tested = means[evaluation.pk][measure], statistics.get(measure)
            interval = ("", "", "")
            if tested is not None and position is not None:
                # over one topic, nothing varies
                ends = (tested.low, tested.high) if board.qrels.n_topics > 1 else ()
                low, high = (end[position] for end in ends) if ends else (None, None)
                interval = shown_or_empty(low), shown_or_empty(high), tested.tier[position]
                if not is_comparable:
                    interval = "", "", NOT_COMPARABLE
            cells.append(Cell(value, shown(value), shown(value) == highest, *interval))
        cells_of[evaluation.pk] = cells
    return cells_of


def _highest(measure: Measure, name: str, means: Mapping[int, Mapping[str, float]]) -> str:
    """The best value; empty for one run, and for the coverage by judgments, which runs do not compete in."""
    is_result = measure.family not in ("judged", "RBPresid")
    return shown(max(of_run[name] for of_run in means.values())) if is_result and len(means) > 1 else ""


def mean_seconds(board: Leaderboard) -> dict[int, float] | None:
    """The mean seconds per topic that teams stated, by run; None if the protocol does not ask for them."""
    if board.track.protocol.parsed.runs.max_seconds_per_topic is None:
        return None
    stated = Run.objects.filter(evaluations__leaderboard=board).values_list("pk", "report__seconds")
    return {pk: sum(seconds.values()) / len(seconds) for pk, seconds in stated if seconds}


_TESTED = Prepared(
    lambda board, measure: MeasureStatistics.objects.filter(leaderboard=board, measure=measure).defer(
        "low", "high", "tier", "means", "pairs"
    )
)


def statistics_of(board: Leaderboard, measure: str) -> MeasureStatistics | None:
    """The stored statistics of a measure, without those of single runs and of pairs. One query."""
    return _TESTED.first(board=board.pk, measure=measure)


def _filtered(rows: list[BoardRow], show: str, column: int) -> list[BoardRow]:
    """The rows of a filter. Baselines stay among the runs of a kind, which are compared with them."""
    if show.startswith(OF_KIND):
        return [row for row in rows if row.is_baseline or row.run.kind == show.removeprefix(OF_KIND)]
    if show == OTHER_FAMILIES:
        return [row for row in rows if not row.is_of_judge_family]
    if show == "best":
        best: dict[int, BoardRow] = {}
        for row in rows:
            leader = best.get(row.run.team_id)
            if leader is None or row.cells[column].value > leader.cells[column].value:
                best[row.run.team_id] = row
        return [row for row in rows if best[row.run.team_id] is row]
    if show == "first":
        places = ((row.run.team_id, row.run.priority, row.run.pk) for row in rows if not row.is_baseline)
        first = {team: pk for team, _, pk in sorted(places, reverse=True)}
        return [row for row in rows if row.is_baseline or first[row.run.team_id] == row.run.pk]
    return rows


def _matches(row: BoardRow, search: str) -> bool:
    """Return whether a run has each word in its tag, the name of its team, or its kind."""
    text = f"{row.run.tag} {row.run.team.name} {row.pooled_as}".casefold()
    return all(word in text for word in search.casefold().split())


def _sort_keys(board: Leaderboard) -> dict[str, Callable[[BoardRow], Any]]:
    keys: dict[str, Callable[[BoardRow], Any]] = {
        "team": lambda row: row.run.team.name.casefold(),
        "run": lambda row: row.run.tag.casefold(),
        "kind": lambda row: row.run.kind,
        "judged": lambda row: row.evaluation.judged_at_10 or 0.0,
        "unjudged": lambda row: row.evaluation.unjudged or 0.0,
        "missing": lambda row: row.evaluation.n_missing,
    }
    for n, measure in enumerate(board.measures):
        keys[measure] = lambda row, n=n: row.cells[n].value  # type: ignore[misc]
    return keys


def _columns(board: Leaderboard, key: str, sort: str) -> list[Column]:
    """Team, run, kind, each measure, shares of judged documents, missing topics."""
    labels = {"run": "Run", "team": "Team", "kind": "Kind"} | {name: name for name in board.measures}
    if board.has_shares:
        if "judged@10" not in board.measures:
            labels["judged"] = "judged@10"
        labels["unjudged"] = "Unjudged share"
    labels["missing"] = "Missing topics"
    titles = dict(titled(board)) | {
        "kind": "the kind of run, or the other kind that it is pooled as",
        "judged": "share of the top 10 ranks that is judged",
        "unjudged": "share of all documents returned for the topics of the qrels that is not judged",
        "missing": "topics of the qrels that are missing from the run",
    }
    columns = []
    for name, label in labels.items():
        is_number = name not in WORD_COLUMNS
        is_sorted, is_reversed = name == key, sort.startswith("-")
        link = f"-{name}" if is_sorted and not is_reversed else name
        direction = ("descending" if is_number != is_reversed else "ascending") if is_sorted else ""
        columns.append(
            Column(label, titles.get(name, ""), link, direction, is_number, name in board.measures)
        )
    return columns
