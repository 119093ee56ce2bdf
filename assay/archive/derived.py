"""The check of qrels that an archive has derived from preferences: they are derived again from its judgments.

The report of a version has the numbers of the judgments that counted when it was frozen, as ranges. Which ones count
can have changed since: a judgment can be revised or undone.
"""

from collections.abc import Sequence

from assay.archive.contents import Contents
from assay.archive.files import BadArchive
from assay.archive.records import PoolRecord, QrelsRecord
from assay.digests import sha256_of
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.reader import format_qrels
from assay.qrels.derived import derive, numbers_in
from assay.qrels.freezing import Unit, Vote


def is_derived(contents: Contents, qrels: QrelsRecord, judgments: Sequence[JudgmentRow]) -> bool:
    """Return whether the judgments from which a version was derived give its grades, derived again."""
    if qrels.pool is None:
        return False
    try:
        counted = set(numbers_in(qrels.report.get("judgments", []), len(judgments)))
    except (TypeError, ValueError) as error:
        raise BadArchive(f"The judgments of the qrels version {qrels.version}: {error}.") from None
    chain = contents.chain(contents.pools[qrels.pool])
    return (
        _derived(contents, qrels, chain, [row for row in judgments if row.number in counted]) == qrels.sha256
    )


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
