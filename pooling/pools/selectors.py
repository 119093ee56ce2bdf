"""Pools and their pages."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from assay.charts import size_chart
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, Run
from tracks.models import Track

OVERLAP_RUNS = 24  # that a matrix shows
TOPICS = 25  # that a wide table shows
CHUNK = 5_000  # rows of a download that are held at a time


def pools_of(track: Track) -> QuerySet[Pool]:
    """Pools of a track, newest first."""
    return track.pools.select_related("job", "created_by", "protocol", "tops_up")


def to_top_up(track: Track) -> QuerySet[Pool]:
    """The pools of a track that a new one could top up."""
    return track.pools.filter(status=Pool.Status.READY, protocol=track.protocol_id)


def pools() -> QuerySet[Pool]:
    """Every pool, with what its page needs."""
    return Pool.objects.select_related(
        "track__collection", "track__topic_collection", "job", "created_by", "protocol", "tops_up"
    )


def chain(pool: Pool) -> list[Pool]:
    """A pool and those that it tops up, the last one first: together they hold what is to be judged."""
    found = [pool]
    while found[-1].tops_up is not None:
        found.append(found[-1].tops_up)
    return found


def runs_to_pool(track: Track) -> QuerySet[Run]:
    """The runs that a pool made now would be built from."""
    standing = track.runs.filter(status=Run.Status.SUBMITTED)
    return standing.select_related("team").defer("report")


class Cell(NamedTuple):
    """How much two runs share: units, and the share of the smaller run in tenths."""

    n: int
    tenths: int
    percent: int


def overlap_rows(found: dict[str, Any]) -> list[tuple[Any, list[Cell]]]:
    """The overlap matrix of a pool's statistics by rows, with each cell's share of the smaller of its two runs.

    Of many runs, those that brought most units.
    """
    runs, shared = found["runs"], found["overlap"]
    largest = sorted(range(len(runs)), key=lambda i: -shared[i][i])[:OVERLAP_RUNS]
    shown = sorted(largest)
    return [(runs[i], [_cell(shared, i, j) for j in shown]) for i in shown]


def overlap_with(found: dict[str, Any], run_id: int) -> tuple[Any, list[tuple[Any, Cell]]] | None:
    """One run of a pool, and how much each of the others shares with it, the most first; None if it is not in it."""
    runs, shared = found["runs"], found["overlap"]
    i = next((i for i, run in enumerate(runs) if run["run"] == run_id), None)
    if i is None:
        return None
    others = [(run, _cell(shared, i, j)) for j, run in enumerate(runs) if j != i]
    return runs[i], sorted(others, key=lambda one: -one[1].n)


def _cell(shared: Sequence[Sequence[int]], i: int, j: int) -> Cell:
    smaller = min(shared[i][i], shared[j][j])
    share = shared[i][j] / smaller if smaller else 0
    return Cell(shared[i][j], int(10 * share), round(100 * share))


def overlap_page(pool: Pool, run: str) -> dict[str, Any]:
    """How the runs of a pool overlap: the matrix, or one run with all others."""
    found = pool.statistics
    chosen = overlap_with(found, int(run)) if run.isascii() and run.isdigit() else None
    return {
        "pool": pool,
        "track": pool.track,
        "tab": "pools",
        "found": found,
        "chosen": chosen,
        "overlap": [] if chosen else overlap_rows(found),
        "n_left_out": max(0, len(found["runs"]) - OVERLAP_RUNS),
    }


def overlap_lines(pool: Pool) -> Iterator[bytes]:
    """The whole matrix: team, tag, team, tag, units that both brought; each pair once, and each run with itself."""
    runs, shared = pool.statistics["runs"], pool.statistics["overlap"]
    for i, one in enumerate(runs):
        for j in range(i, len(runs)):
            other = runs[j]
            names = (one["team"], one["tag"], other["team"], other["tag"])
            yield ("\t".join(map(str, (*names, shared[i][j]))) + "\n").encode()


def pool_page(pool: Pool) -> dict[str, Any]:
    """What the page of a pool shows; before it is ready, only what was asked for."""
    context: dict[str, Any] = {"track": pool.track, "pool": pool, "job": pool.job, "tab": "pools"}
    if pool.status != Pool.Status.READY:
        return context | {"pool_runs": pool.pool_runs.select_related("run__team").defer("run__report")}
    found = pool.statistics
    sizes = [(one["topic"], one["n"]) for one in found["topics"]]
    numbers = [n for _, n in sizes]
    return context | {
        "found": found,
        "teams": [team | _left_out(team, found["n"]) for team in found["teams"]],
        "sizes": sizes,
        "chart": size_chart(sizes),
        "least": min(numbers, default=0),
        "most": max(numbers, default=0),
        "mean": sum(numbers) / len(numbers) if numbers else 0,
        "overlap": overlap_rows(found) if len(found["runs"]) <= OVERLAP_RUNS else [],
    }


def _left_out(team: dict[str, Any], n: int) -> dict[str, float]:
    """What it means for a pool to leave a team out."""
    return {"share": 100 * team["alone"] / n if n else 0.0, "without": n - team["alone"]}


def depths_page(pool: Pool, first: str) -> dict[str, Any]:
    """By topic: what each team alone brought, and the rank down to which each run was taken; some topics at a time."""
    found = pool.statistics
    codes = [one["topic"] for one in found["topics"]]
    start = min(int(first), len(codes)) if first.isascii() and first.isdigit() else 0
    shown = slice(start, start + TOPICS)
    return {
        "pool": pool,
        "track": pool.track,
        "tab": "pools",
        "found": found,
        "topics": found["topics"][shown],
        "teams": [(team["team"], team.get("alone_by_topic", [])[shown]) for team in found["teams"]],
        "runs": [(run, run.get("reach", [])[shown]) for run in found["runs"]],
        "before": max(0, start - TOPICS) if start else None,
        "after": start + TOPICS if start + TOPICS < len(codes) else None,
        "start": start + 1,
        "end": min(start + TOPICS, len(codes)),
        "n_topics": len(codes),
    }


def pool_lines(pool: Pool) -> Iterator[bytes]:
    """The pool's file form, row by row: topic, docno, position; its sha256 is the pool's."""
    entries = PoolEntry.objects.filter(pool=pool).order_by("topic__code", "position")
    rows = entries.values_list("topic__code", "docno", "position").iterator(chunk_size=CHUNK)
    return (f"{topic}\t{docno}\t{position}\n".encode() for topic, docno, position in rows)


def contribution_lines(pool: Pool) -> Iterator[bytes]:
    """Which run brought what: topic, docno, team, tag, rank, sorted as the pool command sorts them."""
    given = Contribution.objects.filter(entry__pool=pool)
    fields = ("entry__topic__code", "entry__docno", "run_id", "rank")
    names = {run["run"]: (i, run["team"], run["tag"]) for i, run in enumerate(pool.statistics["runs"])}
    rows = given.order_by(*fields[:2]).values_list(*fields).iterator(chunk_size=CHUNK)
    yield from _by_run(rows, names)


def _by_run(
    rows: Iterator[tuple[str, str, int, int]], names: dict[int, tuple[int, str, str]]
) -> Iterator[bytes]:
    """Rows of one unit follow one another; within it they are put into the order of the runs."""
    unit: tuple[str, str] | None = None
    held: list[tuple[int, bytes]] = []
    for topic, docno, run, rank in rows:
        if (topic, docno) != unit:
            yield from (line for _, line in sorted(held))
            unit, held = (topic, docno), []
        place, team, tag = names[run]
        held.append((place, f"{topic}\t{docno}\t{team}\t{tag}\t{rank}\n".encode()))
    yield from (line for _, line in sorted(held))


def member_lines(pool: Pool) -> Iterator[bytes]:
    """The members' file form: topic, docno, member, post, thread, position."""
    members = PoolMember.objects.filter(entry__pool=pool)
    fields = ("entry__topic__code", "entry__docno", "docno", "post", "thread", "position")
    rows = members.order_by(*fields[:3]).values_list(*fields).iterator(chunk_size=CHUNK)
    return (("\t".join(map(str, row)) + "\n").encode() for row in rows)


def member_contribution_lines(pool: Pool) -> Iterator[bytes]:
    """Which run brought which member: topic, docno, member, team, tag, rank."""
    given = MemberContribution.objects.filter(member__entry__pool=pool)
    fields = ("member__entry__topic__code", "member__entry__docno", "member__docno", "run_id", "rank")
    names = {run["run"]: (i, run["team"], run["tag"]) for i, run in enumerate(pool.statistics["runs"])}
    rows = given.order_by(*fields[:3]).values_list(*fields).iterator(chunk_size=CHUNK)
    joined = ((topic, f"{docno}\t{member}", run, rank) for topic, docno, member, run, rank in rows)
    yield from _by_run(joined, names)


def pool_record(pool: Pool) -> dict[str, Any]:
    """What is needed to build the pool again: protocol, seed, depths, and the sha256 of every run."""
    return {
        "protocol": {"slug": pool.protocol.slug, "sha256": pool.protocol_digest},
        "seed": pool.seed,
        "depth": pool.depth,
        "order": pool.order,
        "tops_up": [{"pool": one.name, "sha256": one.sha256} for one in chain(pool)[1:]],
        "sha256": pool.sha256,
        **pool.statistics,
    }
