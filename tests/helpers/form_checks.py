"""Checking runs of the forms in `form_runs` against the protocols that take them."""

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


def taken(checked: CheckedRun) -> RunColumns:
    assert checked.report.errors == ()
    assert checked.columns is not None
    return checked.columns


def as_lists(found: RunColumns) -> list[object]:
    arrays = (
        found.topics,
        found.topic_index,
        found.docno,
        found.rank,
        found.score,
        found.post,
        found.passage,
    )
    return [None if array is None else array.tolist() for array in arrays]


def warnings(checked: CheckedRun) -> list[str]:
    return [one.code for one in checked.report.warnings]
