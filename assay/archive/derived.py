"""The qrels of an archive that are derived from preferences, derived again from its judgments."""

from collections.abc import Sequence

from assay.archive.contents import Contents
from assay.archive.files import refusing
from assay.archive.records import QrelsRecord
from assay.digests import sha256_of
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.reader import format_qrels
from assay.qrels.derived import derive, numbers_in
from assay.qrels.freezing import Unit, Vote


def is_derived(contents: Contents, qrels: QrelsRecord, judgments: Sequence[JudgmentRow]) -> bool:
    """Return whether the judgments from which a version was derived give its grades, derived again.

    The report of the version has the numbers of the judgments that counted when it was frozen, as ranges. Which ones
    count can have changed since: a judgment can be revised or undone.
    """
    if qrels.pool is None:
        return False
    with refusing(f"The judgments of the qrels version {qrels.version}", ValueError):
        counted = set(numbers_in(qrels.report.get("judgments", []), len(judgments)))
    protocol, chain = contents.protocol(qrels.protocol), contents.chain(contents.pools[qrels.pool])
    left_out = {row.get("topic") for row in qrels.report.get("left_out_topics", ())}
    pairs = {
        Unit(topic, docno)
        for pool in chain
        for topic, docno, _ in contents.rows(pool.file("pool.tsv"), 3)
        if topic not in left_out
    }
    kind = "main" if qrels.machine else ""
    derived = derive(
        pairs,
        [
            (Unit(row.topic, row.docno), Vote(kind or row.kind, True, row.assessor, row.choice, row.grade))
            for row in judgments
            if row.number in counted
        ],
        rules=protocol.qrels.set_of(qrels.report.get("set", "")) or protocol.qrels,
        protocol=protocol,
        seed=chain[-1].seed,
        also=qrels.report.get("also", ()),
    )
    return sha256_of(format_qrels(derived.columns)) == qrels.sha256
