"""The files of a pool: entries, members, contributions, overlap, and the record from which it can be rebuilt."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from assay.digests import sha256_of
from assay.formats.qrels.cites import WrittenCite, as_cites
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, Run
from pooling.pools import recounts
from pooling.pools.selectors import chain, current_statistics

CHUNK = 5_000  # rows of a download in memory at a time


def pool_lines(pool: Pool) -> Iterator[bytes]:
    """Topic, docno, position. The SHA-256 of these lines is the pool's."""
    entries = PoolEntry.objects.filter(pool=pool).order_by("topic__code", "position")
    rows = entries.values_list("topic__code", "docno", "position").iterator(chunk_size=CHUNK)
    return (f"{topic}\t{docno}\t{position}\n".encode() for topic, docno, position in rows)


def citation_lines(pool: Pool) -> Iterator[bytes]:
    """The citations of a pool in the elements of BOLT's submissions; `key` is the topic and the place in its order.

    With `rel` filled in, the file is qrels (`assay.formats.qrels`).
    """
    entries = PoolEntry.objects.filter(pool=pool).order_by("topic__code", "position")
    fields = ("topic__code", "position", "docno", "passage")
    rows = entries.values_list(*fields).iterator(chunk_size=CHUNK)
    return as_cites(
        "bolt-ir-pool",
        (
            WrittenCite(topic, docno, {"key": f"{topic}.{position + 1}"}, passage)
            for topic, position, docno, passage in rows
        ),
    )


def contribution_lines(pool: Pool) -> Iterator[bytes]:
    """Topic, docno, team, tag, rank, in the order of `assay pool`. A topic is read when it is sent."""
    fields = ("entry__topic__code", "entry__docno", "run_id", "rank")
    for topic in pool.track.topics.order_by("code"):
        contributions = Contribution.objects.filter(entry__pool=pool, entry__topic=topic).order_by(fields[1])
        yield from _by_run(pool, contributions.values_list(*fields).iterator(chunk_size=CHUNK))


def _by_run(pool: Pool, rows: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """Lines of unit, team, tag and rank, from rows that end with run and rank. Those of a unit must be adjacent."""
    names = {run["run"]: (i, run["team"], run["tag"]) for i, run in enumerate(pool.statistics["runs"])}
    for unit, group in groupby(rows, key=lambda row: row[:-2]):
        for (_, team, tag), rank in sorted((names[run], rank) for *_, run, rank in group):
            yield ("\t".join(map(str, (*unit, team, tag, rank))) + "\n").encode()


def member_lines(pool: Pool) -> Iterator[bytes]:
    """Topic, docno of the unit, docno of the member, post, thread, position."""
    members = PoolMember.objects.filter(entry__pool=pool)
    fields = ("entry__topic__code", "entry__docno", "docno", "post", "thread", "position")
    rows = members.order_by(*fields[:3]).values_list(*fields).iterator(chunk_size=CHUNK)
    return (("\t".join(map(str, row)) + "\n").encode() for row in rows)


def member_contribution_lines(pool: Pool) -> Iterator[bytes]:
    """Topic, docno of the unit, docno of the member, team, tag, rank. A topic is read when it is sent."""
    fields = ("member__entry__topic__code", "member__entry__docno", "member__docno", "run_id", "rank")
    for topic in pool.track.topics.order_by("code"):
        of_topic = {"member__entry__pool": pool, "member__entry__topic": topic}
        contributions = MemberContribution.objects.filter(**of_topic).order_by(*fields[1:3])
        yield from _by_run(pool, contributions.values_list(*fields).iterator(chunk_size=CHUNK))


def pool_record(pool: Pool) -> dict[str, Any]:
    """Everything needed to rebuild the pool: protocol, seed, depths, and the SHA-256 of each run."""
    withdrawn = recounts.runs_with(Run.Status.WITHDRAWN, pool)
    limit = {"runs_per_team": pool.max_runs_per_team, "left_out": pool.left_out}
    return {
        "protocol": {"slug": pool.protocol.slug, "sha256": pool.protocol_digest},
        "seed": pool.seed,
        "depth": pool.depth,
        **(limit if pool.max_runs_per_team is not None else {}),
        "order": pool.order,
        "tops_up": [{"pool": earlier.name, "sha256": earlier.sha256} for earlier in chain(pool)[1:]],
        "sha256": pool.sha256,
        **({"votes": sha256_of(pool.votes.encode())} if pool.votes else {}),
        **pool.statistics,
        "disqualified": recounts.runs_with(Run.Status.DISQUALIFIED, pool),
        **({"withdrawn": withdrawn} if withdrawn else {}),
    }


def overlap_lines(pool: Pool) -> Iterator[bytes]:
    """Team, tag, team, tag, number of common units: each pair of runs once, and each run with itself."""
    statistics = current_statistics(pool)
    runs, shared = statistics["runs"], statistics["overlap"]
    for i, run in enumerate(runs):
        for j in range(i, len(runs)):
            other = runs[j]
            names = (run["team"], run["tag"], other["team"], other["tag"])
            yield ("\t".join(map(str, (*names, shared[i][j]))) + "\n").encode()
