"""The files of a pool: TSV without header, and a record of what the pool was built from.

- `pool`: topic docno position                       sorted by topic, then position
- `contributions`: topic docno team tag rank                  sorted by topic and docno, then as the runs
- `members`: topic docno member post thread position    sorted by topic, docno and member member contributions  topic
  docno member team tag rank           likewise, then as the runs

Only pools whose units have members (`assay.pools.depth`) have the last two. Unknown cells of a member are empty.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.digests import RunningSha256
from assay.errors import InputError
from assay.formats.text import lines_of, read_text
from assay.pools.statistics import partly_shown, statistics
from assay.pools.strategies import BuiltPool, PoolInput
from assay.protocols.schema import Protocol
from assay.structure import WrongStructure, structured

PART = 20_000  # rows in memory as text at a time


def pool_tsv(pool: BuiltPool) -> bytes:
    """The pool as bytes; the SHA-256 of these bytes identifies a pool."""
    return b"".join(_pool_parts(pool))


def pool_digest(pool: BuiltPool) -> str:
    """The SHA-256 of `pool_tsv`."""
    return _digest(_pool_parts(pool))


def _digest(parts: Iterable[bytes]) -> str:
    sha256 = RunningSha256()
    for part in parts:
        sha256.update(part)
    return sha256.value


def _parts(n: int) -> Iterator[slice]:
    return (slice(start, start + PART) for start in range(0, n, PART))


def _pool_parts(pool: BuiltPool) -> Iterator[bytes]:
    units = pool.units
    order = np.lexsort((pool.position, units.topic_index))
    codes = [code.encode() for code in units.topics.tolist()]
    for part in _parts(len(order)):
        rows = zip(
            units.topic_index[order[part]].tolist(),
            units.docno[order[part]].tolist(),
            pool.position[order[part]].tolist(),
            strict=True,
        )
        yield b"".join(b"%s\t%s\t%d\n" % (codes[topic], docno, position) for topic, docno, position in rows)


def contributions_tsv(pool: BuiltPool, inputs: Sequence[PoolInput]) -> bytes:
    """The runs that contributed each entry, and their ranks."""
    return b"".join(_contribution_parts(pool, inputs))


def contributions_digest(pool: BuiltPool, inputs: Sequence[PoolInput]) -> str:
    """The SHA-256 of `contributions_tsv`."""
    return _digest(_contribution_parts(pool, inputs))


def _contribution_parts(pool: BuiltPool, inputs: Sequence[PoolInput]) -> Iterator[bytes]:
    units = pool.units
    codes = [code.encode() for code in units.topics.tolist()]
    names = [f"{run.team}\t{run.tag}".encode() for run in inputs]
    for part in _parts(len(units.entry)):
        entry = units.entry[part]
        rows = zip(
            units.topic_index[entry].tolist(),
            units.docno[entry].tolist(),
            units.run[part].tolist(),
            units.rank[part].tolist(),
            strict=True,
        )
        yield b"".join(b"%s\t%s\t%s\t%d\n" % (codes[t], d, names[run], rank) for t, d, run, rank in rows)


def members_tsv(pool: BuiltPool) -> bytes:
    """The members of all entries; empty if the units have no members."""
    return b"".join(_member_parts(pool))


def members_digest(pool: BuiltPool) -> str:
    """The SHA-256 of `members_tsv`."""
    return _digest(_member_parts(pool))


def _member_parts(pool: BuiltPool) -> Iterator[bytes]:
    members = pool.members
    if members is None:
        return
    for part in _parts(len(members)):
        rows = zip(
            _entry_names(pool, members.entry[part]),
            members.docno[part].tolist(),
            members.post[part].tolist(),
            members.thread[part].tolist(),
            members.position[part].tolist(),
            strict=True,
        )
        yield b"".join(b"%s\t%s\t%s\t%s\t%d\n" % row for row in rows)


def member_contributions_tsv(pool: BuiltPool, inputs: Sequence[PoolInput]) -> bytes:
    """The runs that contributed each member, and their ranks; empty if the units have no members."""
    if pool.members is None:
        return b""
    members = pool.members
    runs = [f"{run.team}\t{run.tag}".encode() for run in inputs]
    names = [
        b"%s\t%s" % pair
        for pair in zip(_entry_names(pool, members.entry), members.docno.tolist(), strict=True)
    ]
    rows = zip(members.member.tolist(), members.run.tolist(), members.rank.tolist(), strict=True)
    return b"".join(b"%s\t%s\t%d\n" % (names[member], runs[run], rank) for member, run, rank in rows)


def _entry_names(pool: BuiltPool, entry: NDArray[np.int32]) -> list[bytes]:
    """Topic and docno of entries, separated by a tab."""
    units = pool.units
    codes = [code.encode() for code in units.topics.tolist()]
    pairs = zip(units.topic_index[entry].tolist(), units.docno[entry].tolist(), strict=True)
    return [b"%s\t%s" % (codes[topic], docno) for topic, docno in pairs]


def read_docnos(path: Path, *, column: int = 1) -> dict[str, set[str]]:
    """Read docnos by topic from a file of tab-separated lines, such as a pool, its members, or known items.

    Args:
        column: the column of the docnos, from 0; the topic is in column 0.

    Raises:
        InputError: A line does not have the column.
        OSError: The file cannot be read.
    """
    docnos: dict[str, set[str]] = {}
    for number, line in enumerate(lines_of(read_text(str(path))) or [""], 1):
        cells = line.split("\t")
        if len(cells) <= column or not cells[0] or not cells[column]:
            raise InputError(
                f"{path.name}: line {number}: expected a topic and, in column {column + 1}, a docno, separated by tabs"
            )
        docnos.setdefault(cells[0], set()).add(cells[column])
    return docnos


@dataclass(frozen=True)
class _PooledRun:
    kind: str
    depth: int


@dataclass(frozen=True)
class _Members:
    partly: int | None = None


@dataclass(frozen=True)
class _Record:
    runs: list[_PooledRun]
    n: int = 0
    members: _Members = _Members()


class PoolSummary(NamedTuple):
    """Facts of a pool for tables: the depth of each kind of run, and the units whose members are judged in part."""

    depths: Mapping[str, int]
    partly: str


def read_summary(path: Path) -> PoolSummary:
    """The summary of a pool from its record.

    Raises:
        InputError: The file is no such record.
    """
    try:
        values: _Record = structured(_Record, json.loads(path.read_bytes()), is_open=True)
    except (ValueError, RecursionError, WrongStructure) as error:
        text = f"{path}: not the record of a pool, which `assay pool` writes next to its output as FILE.json"
        raise InputError(f"{text}: {error}") from None
    depths: dict[str, int] = {}
    for run in values.runs:
        depths[run.kind] = max(depths.get(run.kind, 0), run.depth)
    return PoolSummary(depths, partly_shown(asdict(values)))


def record(
    pool: BuiltPool,
    inputs: Sequence[PoolInput],
    *,
    protocol: Protocol,
    seed: int,
    sha256: str,
    sources: Sequence[Mapping[str, object]],
    others: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Everything that is needed to build the same bytes again, as plain values for JSON.

    Args:
        sha256: digest of `pool_tsv`.
        sources: the file of each run.
        others: other inputs: formulas, known items, an earlier pool.
    """
    values = statistics(pool, inputs)
    if pool.members is not None:
        values["members"]["sha256"] = members_digest(pool)
    runs = [{**dict(source), **run} for source, run in zip(sources, values.pop("runs"), strict=True)]
    return {
        "protocol": {"slug": protocol.slug, "sha256": protocol.digest},
        "order": protocol.pool.order,
        "seed": seed,
        "sha256": sha256,
        **(others or {}),
        "runs": runs,
        **values,
    }
