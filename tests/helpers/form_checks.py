"""Check the runs of `form_runs` against the protocols that accept them."""

import io
from typing import Any

from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import CheckedRun, check_run
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Protocol
from tests.helpers.form_runs import BOLT_TOPICS, FORMULA_TOPICS, NTCIR_TOPICS

FORMULAS = load_protocol("arqmath-2021-task2")
NTCIR = load_protocol("ntcir-12-wikipedia")
BOLT = load_protocol("bolt-ir-p3")
TOPICS = {FORMULAS.slug: FORMULA_TOPICS, NTCIR.slug: NTCIR_TOPICS, BOLT.slug: BOLT_TOPICS}


def check(data: bytes, protocol: Protocol, **options: Any) -> CheckedRun:
    options = {"topics": TOPICS[protocol.slug], "name": "run"} | options
    return check_run(io.BytesIO(data), protocol=protocol, **options)


def accepted(checked: CheckedRun) -> RunColumns:
    assert checked.report.errors == ()
    assert checked.columns is not None
    return checked.columns


def as_lists(columns: RunColumns) -> list[object]:
    arrays = (
        columns.topics,
        columns.topic_index,
        columns.docno,
        columns.rank,
        columns.score,
        columns.post,
        columns.passage,
    )
    return [None if array is None else array.tolist() for array in arrays]


def warnings(checked: CheckedRun) -> list[str]:
    return [warning.code for warning in checked.report.warnings]
