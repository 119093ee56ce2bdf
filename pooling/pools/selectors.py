"""Pools, and what their pages show."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import Count, F, Func, IntegerField, Q, QuerySet
from django.http import Http404

from accounts.models import User
from assay import plots
from assay.pools.statistics import partly_shown
from assay.pools.strategies import beyond_limit
from assay.preferences.votes import Vote, as_lines
from assay.protocols.schema import RunRules
from assay.tables import natural
from jobs.models import Job
from pooling.models import Pool, PoolEntry, PoolRun, Run
from tracks.models import Track
from tracks.topics.selectors import FORMULA_UNITS
from web.pages import counted
from web.statements import Prepared

OVERLAP_RUNS = 24  # in a matrix
TOPICS = 25  # in a wide table
MAX_DIGITS = 9  # of the index of a topic

# What `assay.pools.statistics` computes, as stored with the pool.
Statistics = dict[str, Any]
RunStatistics = dict[str, Any]


def pool_named(track: Track, name: str) -> Pool | None:
    return track.pools.filter(name=name).first()


def pools_of(track: Track) -> QuerySet[Pool]:
    """The pools of a track, newest first, with their numbers of units and runs if they are ready."""
    n_runs = Func(F("statistics__runs"), function="jsonb_array_length", output_field=IntegerField())
    rows = track.pools.select_related("job", "created_by", "protocol")
    return rows.annotate(n=F("statistics__n"), n_runs=n_runs).defer("statistics")


def to_top_up(track: Track) -> QuerySet[Pool]:
    """The pools of a track that a new pool can top up."""
    pools = track.pools.filter(status=Pool.Status.READY, protocol=track.protocol_id)
    return pools.defer("statistics", "recount")


def n_pools(track: Track) -> tuple[int, int]:
    """The number of pools of a track, and of those that a new pool can top up, without the work of the ORM."""
    pools = _POOLS(track=track.pk)
    ready = [pool for pool in pools if pool.status == Pool.Status.READY]
    return len(pools), sum(pool.protocol_id == track.protocol_id for pool in ready)


def missing_texts(pool: Pool, track: Track) -> str:
    """A remark about the units of a pool without a text for assessors; empty if all have one.

    Texts of pairs and formulas are looked up when they are judged: with a collection, these have no remark. Each
    process counts the units of a pool once, by its digest.
    """
    collection, judged = track.collection, track.protocol.parsed.judged
    is_looked_up_later = collection is not None and (judged.is_formula or judged.has_votes)
    if track.protocol.parsed.has_own_texts or is_looked_up_later:
        return ""
    n, total = _counted_once(pool.pk, pool.sha256) if pool.sha256 else _texts(pool.pk)
    if not n:
        return ""
    texts = "no text" if n == total else "no text of some units"
    verb = "is" if n == total == 1 else "are"
    where = "a collection" if collection is None else f"the collection {collection}"
    return f"Assessors will see {texts}: {n:,} of {counted(total, 'unit')} {verb} not in {where}."


@lru_cache(maxsize=256)
def _counted_once(pool_id: int, _sha256: str) -> tuple[int, int]:
    return _texts(pool_id)


def _texts(pool_id: int) -> tuple[int, int]:
    """The number of units of a pool without a text, and that of all its units."""
    is_without = Q(document=None, passage="")
    counts = PoolEntry.objects.filter(pool=pool_id).aggregate(
        n=Count("pk", filter=is_without), total=Count("pk")
    )
    return counts["n"], counts["total"]


def pools() -> QuerySet[Pool]:
    """All pools, with what their pages need."""
    return Pool.objects.select_related(
        "track__collection",
        "track__topic_collection",
        "track__protocol",
        "job",
        "created_by",
        "protocol",
        "tops_up",
    ).defer("tops_up__statistics")


def chain(pool: Pool) -> list[Pool]:
    """A pool and those that it tops up, newest first. Together they contain all units to judge."""
    chained = [pool]
    while chained[-1].tops_up is not None:
        chained.append(chained[-1].tops_up)
    return chained


_POOLS = Prepared(lambda track: Pool.objects.filter(track=track).only("status", "protocol"))
_RUNS_TO_POOL = Prepared(
    lambda track: (
        Run.objects.filter(track=track, status=Run.Status.SUBMITTED)
        .select_related("team")
        .defer("report")
        .order_by("team_id", "priority", "pk")
    )
)


_LISTED = Prepared(
    lambda track: (
        Run.objects.filter(track=track, status=Run.Status.SUBMITTED).select_related("team").defer("report")
    )
)
_POOL = Prepared(lambda pool: pools().filter(pk=pool))
_GONE = Prepared(
    lambda pool: (
        Run.objects.filter(pool_runs__pool=pool)
        .exclude(status=Run.Status.SUBMITTED)
        .select_related("team")
        .defer("report")
    )
)


def pool_or_404(pool_id: int) -> Pool:
    """A pool with what its page needs.

    Raises:
        Http404: No pool has this id.
    """
    pool = _POOL.first(pool=pool_id)
    if pool is None:
        raise Http404("No pool matches.")
    return pool


def listed_runs(track: Track) -> list[Run]:
    """As `runs_to_pool`, for a page that shows them all."""
    runs = _LISTED(track=track.pk)
    for run in runs:
        run.track = track
    return runs


def runs_to_pool(track: Track) -> QuerySet[Run]:
    """The runs from which a pool would be built now."""
    submitted = track.runs.filter(status=Run.Status.SUBMITTED)
    return submitted.select_related("team").defer("report")


def pooled_depths(track: Track, depths: Mapping[str, int]) -> dict[Run, int]:
    """The runs from which a pool would be built now, each with its depth, in the order that each team chose.

    `depths` are by kind of run.
    """
    rules, runs = track.protocol.parsed.runs, _RUNS_TO_POOL(track=track.pk)
    for run in runs:
        run.track = track
    return {run: rules.depth_of(run.kind, run.tag, run.pooled_as, depths) for run in runs}


def left_out(rules: RunRules, depths: Mapping[Run, int], most: int | None) -> list[Run]:
    """The runs beyond the limit per team. `depths` are those of `pooled_depths`."""
    is_baseline = [rules.kind(run.kind).baseline for run in depths]
    beyond = beyond_limit([str(run.team_id) for run in depths], is_baseline, list(depths.values()), most=most)
    return [run for run, is_beyond in zip(depths, beyond, strict=True) if is_beyond]


def current_statistics(pool: Pool) -> Statistics:
    """The statistics of a pool, without the runs that were disqualified since it was built."""
    statistics: Statistics = pool.recount.get("statistics") or pool.statistics
    return statistics


class OverlapCell(NamedTuple):
    """The units that two runs have in common; their share of the smaller run, as a step from 0 to 4 and in percent."""

    n: int
    step: int
    percent: int


OverlapRow = tuple[RunStatistics, list[OverlapCell]]


def overlap_matrix(statistics: Statistics) -> list[OverlapRow]:
    """The overlap of each run with each; of many runs, only those with the most units."""
    runs, shared = statistics["runs"], statistics["overlap"]
    largest = sorted(range(len(runs)), key=lambda i: -shared[i][i])[:OVERLAP_RUNS]
    shown = sorted(largest)
    return [(runs[i], [_cell(shared, i, j) for j in shown]) for i in shown]


class RunOverlap(NamedTuple):
    """The overlap of one run with each of the others, largest first."""

    run: RunStatistics
    others: list[tuple[RunStatistics, OverlapCell]]


def overlap_of(statistics: Statistics, run_id: int) -> RunOverlap | None:
    """The overlap of a run with the others of the pool; None if the pool does not contain the run."""
    runs, shared = statistics["runs"], statistics["overlap"]
    i = next((i for i, run in enumerate(runs) if run["run"] == run_id), None)
    if i is None:
        return None
    others = [(run, _cell(shared, i, j)) for j, run in enumerate(runs) if j != i]
    return RunOverlap(runs[i], sorted(others, key=lambda other: -other[1].n))


def _cell(shared: Sequence[Sequence[int]], i: int, j: int) -> OverlapCell:
    smaller = min(shared[i][i], shared[j][j])
    share = shared[i][j] / smaller if smaller else 0
    return OverlapCell(shared[i][j], int(4 * share), round(100 * share))


@dataclass(frozen=True)
class OverlapPage:
    """The overlap between the runs of a pool: the matrix, or one chosen run with all others."""

    pool: Pool
    track: Track
    runs: list[RunStatistics]
    chosen: RunOverlap | None
    matrix: list[OverlapRow]
    n_left_out: int


def overlap_page(pool: Pool, run: str) -> OverlapPage:
    """`run` is the id of the chosen run, as text; the matrix if it is empty or not an id."""
    statistics = current_statistics(pool)
    chosen = overlap_of(statistics, int(run)) if run.isascii() and run.isdigit() else None
    return OverlapPage(
        pool=pool,
        track=pool.track,
        runs=statistics["runs"],
        chosen=chosen,
        matrix=[] if chosen else overlap_matrix(statistics),
        n_left_out=max(0, len(statistics["runs"]) - OVERLAP_RUNS),
    )


class Sizes(NamedTuple):
    """The number of units of each topic of a pool, also as a plot."""

    by_topic: list[tuple[str, int]]
    plot: plots.Plot
    least: int
    most: int
    mean: float

    @property
    def ends(self) -> str:
        """The sizes of the smallest and the largest topic, in words."""
        return f"{self.least} to {self.most}" if self.least != self.most else "in each topic"


@dataclass(frozen=True)
class PoolPage:
    """A pool. Before it is ready, or without statistics, only `pool_runs` is filled, the runs that are pooled.

    The statistics leave out the runs in `disqualified`, once they are counted again (`is_recounted`), and count the
    `withdrawn` ones, whose documents were pooled in good faith.
    """

    pool: Pool
    track: Track
    job: Job | None
    pool_runs: Iterable[PoolRun] = ()
    statistics: Statistics | None = None
    sizes: Sizes | None = None
    partly: str = ""
    n_near_duplicates: int | None = None  # None if the members of units are instances
    teams: Sequence[dict[str, Any]] = ()
    matrix: Sequence[OverlapRow] = ()
    disqualified: Sequence[Run] = ()
    withdrawn: Sequence[Run] = ()
    is_recounted: bool = True


def pool_page(pool: Pool) -> PoolPage:
    if pool.status != Pool.Status.READY or not pool.statistics:
        pool_runs = pool.pool_runs.select_related("run__team").defer("run__report")
        return PoolPage(pool, pool.track, pool.job, pool_runs)
    statistics = current_statistics(pool)
    gone = _GONE(pool=pool.pk)
    disqualified = [run for run in gone if run.status == Run.Status.DISQUALIFIED]
    by_topic = [(topic["topic"], topic["n"]) for topic in statistics["topics"]]
    by_topic.sort(key=lambda row: natural(row[0]))
    numbers, n = [n for _, n in by_topic], statistics["n"]
    n_near_duplicates = None
    if pool.protocol.parsed.pool.near_duplicate_overlap is not None and "members" in statistics:
        n_near_duplicates = int(statistics["members"]["n"] - statistics["members"]["shown"])
    # of each team: the percentage of the pool that only it contributed, and the pool's size without it
    alone = [(team, team["alone"]) for team in statistics["teams"]]
    return PoolPage(
        pool=pool,
        track=pool.track,
        job=pool.job,
        statistics=statistics,
        sizes=Sizes(
            by_topic=by_topic,
            plot=plots.bars(
                f"pool-{pool.pk}", f"{pool.name}: Units of each topic", by_topic, up="Units", digits=0
            ),
            least=min(numbers, default=0),
            most=max(numbers, default=0),
            mean=sum(numbers) / len(numbers) if numbers else 0,
        ),
        partly=partly_shown(statistics),
        n_near_duplicates=n_near_duplicates,
        teams=[team | {"share": 100 * k / n if n else 0.0, "without": n - k} for team, k in alone],
        matrix=overlap_matrix(statistics) if len(statistics["runs"]) <= OVERLAP_RUNS else [],
        disqualified=disqualified,
        withdrawn=[run for run in gone if run.status == Run.Status.WITHDRAWN],
        is_recounted=sorted(run.pk for run in disqualified) == pool.recount.get("without", []),
    )


@dataclass(frozen=True)
class DepthsPage:
    """By topic: the units that only one team contributed, and the last pooled rank of each run.

    It shows some topics at a time: from `start` to `end`, counted from 1. `before` and `after` are the first indexes
    of the neighboring pages.
    """

    pool: Pool
    track: Track
    topics: list[dict[str, Any]]
    teams: list[tuple[str, list[int]]]
    runs: list[tuple[RunStatistics, list[int]]]
    before: int | None
    after: int | None
    start: int
    end: int
    n_topics: int


def depths_page(pool: Pool, first: str) -> DepthsPage:
    """`first` is the index of the first topic to show, as text; 0 if there is no such topic."""
    statistics = current_statistics(pool)
    topics = statistics["topics"]
    index = int(first) if first.isascii() and first.isdigit() and len(first) < MAX_DIGITS else 0
    start = index if index < len(topics) else 0
    shown = slice(start, start + TOPICS)
    return DepthsPage(
        pool=pool,
        track=pool.track,
        topics=topics[shown],
        teams=[(team["team"], team.get("alone_by_topic", [])[shown]) for team in statistics["teams"]],
        runs=[(run, run.get("reach", [])[shown]) for run in statistics["runs"]],
        before=max(0, start - TOPICS) if start else None,
        after=start + TOPICS if start + TOPICS < len(topics) else None,
        start=start + 1,
        end=min(start + TOPICS, len(topics)),
        n_topics=len(topics),
    )


VoteSource = Callable[[Pool], list[Vote]]
_vote_sources: list[VoteSource] = []


def gives_votes(function: VoteSource) -> VoteSource:
    """Register the function that returns the votes on the pairs of a pool and of those that it tops up."""
    _vote_sources.append(function)
    return function


def votes_so_far(pool: Pool) -> str:
    """The votes that decide the pairs of a pool which tops up another one, as lines; empty for other pools."""
    earlier = pool.tops_up
    if earlier is None or not pool.protocol.parsed.judged.has_votes:
        return ""
    return "".join(as_lines(vote for source in _vote_sources for vote in source(earlier)))


def question_pools(track: Track, user: User) -> QuerySet[Pool]:
    """The pools whose posts may limit the formulas that are ranked: those of tracks of questions on the collection, of
    which the user sees everything.

    There are none for a track whose runs have no formulas.
    """
    if track.protocol.parsed.unit not in FORMULA_UNITS or track.collection_id is None:
        return Pool.objects.none()
    pools = Pool.objects.filter(status=Pool.Status.READY, track__collection=track.collection_id)
    pools = pools.filter(track__in=[*user.roles]).exclude(track=track).select_related("track", "protocol")
    ids = [pool.pk for pool in pools if pool.protocol.parsed.unit in {"answer", "document"}]
    return pools.filter(pk__in=ids).order_by("track__name", "pk")
