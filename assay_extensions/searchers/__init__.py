"""Measures of searchers: what they understand, how much they read, and that they ask several times."""

from math import inf

from assay.extensions import Extension
from assay.protocols.measures import MeasureFamily, Parameter

_KERNELS = "assay_extensions.searchers.users"
_SESSION = {"b": Parameter(2.0, 1.001, 1000), "bq": Parameter(4.0, 1.001, 1000)}

EXTENSION = Extension(
    name="searchers",
    title="Measures of searchers",
    adds=(
        MeasureFamily(
            "uRBP",
            "rank-biased precision of documents that are understood",
            f"{_KERNELS}:understood_precision",
            has_level=True,
            cutoff="optional",
            has_prime=True,
            parameters={
                "p": Parameter(0.8, 0.0, 0.999999),
                "from": Parameter(2.0, 1, 999),
                "percent": Parameter("{}", is_table=True),
            },
            qrels="subtopics",
        ),
        MeasureFamily(
            "U",
            "U-measure: gain of a searcher who reads so far",
            f"{_KERNELS}:u_measure",
            has_level=True,
            cutoff="optional",
            has_prime=False,
            parameters={
                "L": Parameter(132_000.0, 1, 1e9),
                "snippet": Parameter(200.0, 0, 1e9),
                "text": Parameter(0.0, 0, 1e9),
                "max_rel": Parameter(None, 1, 999),
            },
            most=inf,
        ),
        MeasureFamily(
            "SessionDCG",
            "discounted cumulative gain of the top {k} ranks of all queries of a session",
            f"{_KERNELS}:of_sessions",
            has_level=False,
            cutoff="required",
            has_prime=True,
            parameters=_SESSION,
            summary="ratio of sums",
            counts=f"{_KERNELS}:session_gains",
            most=inf,
        ),
        MeasureFamily(
            "nSessionDCG",
            "discounted cumulative gain of the top {k} ranks of all queries of a session, divided by the best",
            f"{_KERNELS}:of_sessions",
            has_level=False,
            cutoff="required",
            has_prime=True,
            parameters=_SESSION,
            summary="ratio of sums",
            counts=f"{_KERNELS}:normalized_session_gains",
        ),
    ),
)
