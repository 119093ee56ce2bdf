"""The page of estimates, and what a sample will cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet

from assay.formats.qrels.columns import columns_from, documents
from assay.tables import Table
from assay_extensions.estimates.designs import Sample as Drawing
from assay_extensions.estimates.reading import sample_lines
from assay_extensions.estimates.site import inputs
from assay_extensions.estimates.site.models import Estimate, Sample
from assessment.agreement.machines import BiasRow, MachineBias, machines_of
from assessment.batches.progress import BatchProgress, progress_of_each
from assessment.models import Batch
from jobs.models import Job
from pooling.models import Pool
from scoring.leaderboards.marks import Axis, Mark, axis_over
from scoring.qrels.frozen import grades_of
from tracks.models import Machine, Track
from web.tables import ShownTable, shown_table

PARTS = {
    "values": "Values of runs",
    "next": "Where people should look next",
    "share": "Shares of units",
    "bias": "Bias of the machine",
    "reranked": "Runs in the order of the machine",
}
BIAS_TABLES = {
    "leniency": ("leniency", 1),
    "slopes": ("slope", 1),
    "preference": ("preference", 0),
}  # with columns of names
FILES_ONLY = ("topics", "differences", "minus", "sentence")  # tables and columns


def judged_pools(machine: Machine) -> QuerySet[Pool]:
    """The pools of which a machine can have judged units, newest first."""
    batches = Batch.objects.filter(
        kind=Batch.Kind.MACHINE, topic_assignments__assessor=machine.assessor.user_id
    )
    pools = Pool.objects.filter(pk__in=batches.values("pool"), tops_up=None)
    return pools.select_related("protocol", "track").defer("statistics").order_by("-pk")


def samples_of(track: Track) -> QuerySet[Sample]:
    """The samples of a track, newest first, without their units."""
    samples = Sample.objects.filter(track=track).select_related(
        "track", "machine", "pool__protocol", "batch", "job", "after", "created_by"
    )
    return samples.defer("units", "after__units", "pool__statistics")


def estimates_of(track: Track) -> QuerySet[Estimate]:
    """The estimates of a track, newest first."""
    return (
        Estimate.objects.filter(track=track)
        .select_related("track", "machine", "pool", "sample", "job", "created_by")
        .defer("units", "sample__units", "pool__statistics")
    )


class ShownSample(NamedTuple):
    """A sample with the work of people on its batch, once it is drawn."""

    sample: Sample
    progress: BatchProgress | None


class Interval(NamedTuple):
    """A value with its interval as text; empty without one."""

    value: str
    ends: str


class RankedRun(NamedTuple):
    """A run in the order of its estimates."""

    rank: int
    run: str
    mark: Mark
    both: Interval
    tier: str
    machine: str
    machine_rank: int
    people: Interval


class Ranking(NamedTuple):
    """The runs by one measure."""

    measure: str
    axis: Axis
    rows: list[RankedRun]
    has_tiers: bool


class Narrowing(NamedTuple):
    """The units that people judge in an hour, and by how many percent each interval is expected to narrow."""

    n: int
    least: int
    most: int


class Part(NamedTuple):
    """A part of the page: its tables, and names of tables that are files only."""

    key: str
    title: str
    tables: list[ShownTable]
    files: list[ShownTable]


@dataclass(frozen=True)
class EstimatesPage:
    """The samples of one machine of a track, and its newest estimate."""

    track: Track
    problem: str
    machines: list[Machine]
    machine: Machine | None
    has_judged: bool
    samples: list[ShownSample]
    running: Job | None
    estimate: Estimate | None
    rankings: list[Ranking]
    parts: list[Part]
    measure: str  # whose intervals the next units narrow
    narrowing: Narrowing | None


def estimates_page(track: Track, machine_id: int) -> EstimatesPage:
    """Read the page for a machine; without a valid id, for the one with the newest estimate or sample."""
    machines = machines_of(track)
    estimates, samples = estimates_of(track), samples_of(track)
    newest = estimates.first() or samples.first()
    chosen = machine_id or (newest.machine_id if newest else 0)
    machine = next((each for each in machines if each.pk == chosen), machines[0] if machines else None)
    problem = inputs.problem_of(track.protocol.parsed)
    if machine is None:
        return EstimatesPage(track, problem, machines, None, False, [], None, None, [], [], "", None)
    own = list(samples.filter(machine=machine))
    progress = progress_of_each(Batch.objects.filter(pk__in=[each.batch_id for each in own if each.batch_id]))
    of_machine = list(estimates.filter(machine=machine)[:2])
    running = next((each.job for each in of_machine[:1] if not each.result and each.job is not None), None)
    estimate = estimates.filter(machine=machine).exclude(result={}).first()
    tables = estimate.tables if estimate else []
    return EstimatesPage(
        track,
        problem,
        machines,
        machine,
        judged_pools(machine).exists(),
        [ShownSample(each, progress.get(each.batch_id or 0)) for each in own],
        running,
        estimate,
        _rankings(tables_of(estimate, "values")) if estimate else [],
        [part for key in PARTS if (part := _part(estimate, key)).tables or part.files] if tables else [],
        str(estimate.measures[0]) if estimate and estimate.measures else "",
        _narrowing(tables_of(estimate, "next")),
    )


def tables_of(estimate: Estimate | None, part: str = "") -> list[Table]:
    """The tables of an estimate, or of a part of it."""
    return [
        Table(row["name"], row["description"], tuple(row["header"]), [tuple(cells) for cells in row["rows"]],
              row["title"] or row["name"].capitalize())
        for row in (estimate.tables if estimate else [])
        if part in {"", row["part"]}
    ]  # fmt: skip


def newest_bias(machine: Machine) -> MachineBias | None:
    """The bias in the newest estimate of a machine. One query.

    Runs are left out: judge cards are also for people who do not see their names.
    """
    estimates = Estimate.objects.filter(machine=machine).exclude(result={}).defer("units")
    estimate = estimates.order_by("-pk").first()
    if estimate is None:
        return None
    rows = []
    for table in tables_of(estimate, "bias"):
        kind, n = BIAS_TABLES.get(table.name, ("", 0))
        for row in table.rows if kind else ():
            of, (n_units, *numbers) = str(row[0]) if n else "runs of its family", row[n:]
            if not of.startswith("run "):
                rows.append(BiasRow(of, kind, *(n_units, *numbers)))  # type: ignore[arg-type]
    return MachineBias(estimate.created_at, estimate.result["n_people"], rows)


def _narrowing(tables: Sequence[Table]) -> Narrowing | None:
    by_name = {table.name: table for table in tables}
    if "intervals" not in by_name:
        return None
    rows: list[Any] = by_name["intervals"].rows
    shares = [round(100 * (1 - expected / now)) for _, _, now, expected, _ in rows if now]
    return Narrowing(len(by_name["units"].rows), min(shares, default=0), max(shares, default=0))


def _part(estimate: Estimate | None, key: str) -> Part:
    tables = [shown_table(_on_page(table)) for table in tables_of(estimate, key)]
    on_page = [table for table in tables if table.name not in {*FILES_ONLY, "ranking"}]
    return Part(key, PARTS[key], on_page, [table for table in tables if table not in on_page])


def _on_page(table: Table) -> Table:
    """A table without the columns that only files need."""
    kept = [n for n, name in enumerate(table.header) if name not in FILES_ONLY]
    return replace(
        table,
        header=tuple(table.header[n] for n in kept),
        rows=[tuple(row[n] for n in kept) for row in table.rows],
    )


def _rankings(tables: Sequence[Table]) -> list[Ranking]:
    rows = [
        dict(zip(table.header, row, strict=True))
        for table in tables
        if table.name == "ranking"
        for row in table.rows
    ]
    by_measure: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_measure.setdefault(str(row["measure"]), []).append(row)
    rankings = []
    for measure, own in by_measure.items():
        ends = [row[name] for row in own for name in ("estimate", "low", "high") if row[name] is not None]
        axis = axis_over(ends)
        rankings.append(
            Ranking(measure, axis, [_ranked(row, axis) for row in own], any(row["tier"] for row in own))
        )
    return rankings


def _ranked(row: Mapping[str, Any], axis: Axis) -> RankedRun:
    def interval(value: str, low: str, high: str) -> Interval:
        text = "" if row[value] is None else f"{row[value]:.4f}"
        is_known = row[low] is not None and row[high] is not None
        return Interval(text, f"[{row[low]:.4f}, {row[high]:.4f}]" if is_known else "")

    x, low, high = (
        axis.x(row["estimate"] if row[name] is None else row[name]) for name in ("estimate", "low", "high")
    )
    return RankedRun(
        row["rank"],
        row["run"],
        Mark(x, low, high),
        interval("estimate", "low", "high"),
        row["tier"] or "",
        f"{row['machine']:.4f}",
        row["machine_rank"],
        interval("people", "people_low", "people_high"),
    )


class Cost(NamedTuple):
    """The work of people on a sample; `is_measured` says whether the speed is that of the track's assessors."""

    n_units: int
    n_of: int
    n_topics: int
    judges: int
    hours: float
    is_measured: bool


def cost_of(pool: Pool, machine: Machine, *, share: float = 0.0, n_units: int = 0) -> Cost:
    """Count the units of a sample: a share of each topic, or a number.

    The hours leave out the share of all units that people judged already.

    Raises:
        Refused: The machine has judged nothing, or there are fewer units.
    """
    columns = inputs.judged_columns(pool, machine)
    sizes = np.bincount(columns.topic_index, minlength=len(columns.topics)).tolist()
    total = sum(sizes)
    if n_units > total:
        raise inputs.estimate_refused(
            f"The pool has {total:,} units in topics that {machine} judged; choose fewer."
        )
    n = n_units or sum(min(size, max(1, round(share * size))) for size in sizes)
    judges = pool.protocol.parsed.judging.judges
    seconds, is_measured = inputs.seconds_of(pool.track)
    answered = inputs.answered(pool)
    n_open = sum(unit not in answered for unit in documents(columns))
    return Cost(n, total, len(sizes), judges, n * n_open / total * judges * seconds / 3600, is_measured)


def sample_file(sample: Sample) -> bytes:
    """A sample as `assay estimate` reads it: each unit with its probability, and people's grade of those in it."""
    columns = columns_from((topic.encode(), docno.encode(), 0) for topic, docno, *_ in sample.units)
    machine = inputs.library_machine(sample.track, columns, sample.machine, [], lambda *_: None)
    probability, sampled, rows = np.ones(len(columns.grade)), [], np.arange(len(columns.grade))
    for topic, docno, chance, is_in in sample.units:
        row = machine.row_of[topic.encode(), docno.encode()]
        probability[row] = chance
        sampled += [row] * is_in
    people = grades_of(sample.pool)
    own = {
        machine.row_of[unit]: grade
        for unit, grade in zip(documents(people), people.grade.tolist(), strict=True)
        if unit in machine.row_of
    }
    grades = {row: own[row] for row in sampled if row in own}
    return sample_lines(machine, Drawing(np.array(sorted(sampled)), probability), rows, grades)
