"""The check of qrels that an archive has derived from preferences: they are derived again from its judgments."""

from collections.abc import Sequence
from datetime import datetime

from assay.archive.contents import Contents
from assay.archive.records import PoolRecord, QrelsRecord
from assay.digests import sha256_of
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.reader import format_qrels
from assay.qrels.derived import derive
from assay.qrels.freezing import Unit, Vote


def is_derived(
    contents: Contents, qrels: QrelsRecord, judgments: Sequence[JudgmentRow], *, made: datetime
) -> bool:
    """Return whether the preferences at the time of a version give its grades, derived again.

    Judgments that were undone since may have counted then: both are tried.
    """
    if qrels.pool is None:
        return False
    chain = contents.chain(contents.pools[qrels.pool])
    then = [row for row in judgments if not row.is_check and _is_before(row, made)]
    replaced = {row.replaces for row in then}
    kept = [
        row for row in then if row.number not in replaced and (row.kind == "machine") == bool(qrels.machine)
    ]
    kept = [row for row in kept if not qrels.machine or row.assessor == qrels.machine]
    return any(
        _derived(contents, qrels, chain, rows) == qrels.sha256
        for rows in ([row for row in kept if row.is_current or _is_replaced(row, judgments)], kept)
    )


def _is_before(row: JudgmentRow, made: datetime) -> bool:
    return row.judged_at is None or row.judged_at <= made


def _is_replaced(row: JudgmentRow, judgments: Sequence[JudgmentRow]) -> bool:
    return any(other.replaces == row.number for other in judgments)


def _derived(
    contents: Contents, qrels: QrelsRecord, chain: Sequence[PoolRecord], rows: Sequence[JudgmentRow]
) -> str:
    """The digest of the qrels that some judgments of pairs give."""
    protocol = contents.protocol(qrels.protocol)
    pairs = {
        Unit(topic, docno) for pool in chain for topic, docno, _ in contents.rows(pool.file("pool.tsv"), 3)
    }
    kind = "main" if qrels.machine else ""
    derived = derive(
        pairs,
        [
            (Unit(row.topic, row.docno), Vote(kind or row.kind, True, row.assessor, row.choice, row.grade))
            for row in rows
        ],
        rules=protocol.qrels.set_of(qrels.report.get("set", "")) or protocol.qrels,
        protocol=protocol,
        seed=chain[-1].seed,
        also=qrels.report.get("also", ()),
    )
    return sha256_of(format_qrels(derived.columns))
