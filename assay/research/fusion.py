"""Fusion of runs from files or memory."""

from collections.abc import Sequence

from assay.errors import InputError
from assay.fusion import RRF_K, Fusion, Method, Norm
from assay.fusion import fuse as fuse_columns
from assay.protocols.schema import Protocol
from assay.research.evaluation import (
    DEEPEST,
    PathLike,
    Runs,
    Values,
    measures_of,
    named_runs,
    protocol_of,
    qrels_from_any,
    run_from_any,
)
from assay.research.trained_fusion import train

Run = dict[str, dict[str, float]]  # scores by topic and docno, best first


def fuse(
    runs: Runs,
    *,
    method: Method = "sum",
    norm: Norm = "min-max",
    weights: Sequence[float] = (),
    rrf_k: int = RRF_K,
    constant: float | None = None,
    depth: int | None = None,
    protocol: PathLike | Protocol | None = None,
    qrels: Values | None = None,
    measure: str = "nDCG",
) -> Run:
    """Fuse runs into one, as `assay fuse` does: `{topic: {docno: score}}`, the best document first.

    Args:
        runs: at least two, as for `assay.evaluate`.
        method: "sum" (CombSUM), "mnz" (CombMNZ), "rrf" (reciprocal rank), or another key of `assay.fusion.METHODS`.
        norm: "min-max", "z-score", "none", or another key of `assay.fusion.NORMS`; methods of ranks do not use it.
        weights: one above 0 for each run, in their order; by default, 1 for each.
        rrf_k: the constant that "rrf" adds to ranks.
        constant: the power of "gmnz", the persistence of "rbc", what "logn-isr" adds, the number of segments of
            "probfuse", or the ranks on each side of "slidefuse"; other methods have none.
        depth: the most documents of a topic; by default, all.
        protocol: slug of a shipped protocol or path of a TOML file, by which the runs are read.
        qrels: of topics of the runs, from which "bayesfuse", "mapfuse", "posfuse", "probfuse", "segfuse" and
            "slidefuse" learn, and by which weights and constants that are not given are chosen; as for
            `assay.evaluate`.
        measure: by which they are chosen.

    Raises:
        InputError: There are fewer than two runs, or one cannot be read, or an argument cannot be used.

    >>> fuse({"a": {"1": {"x": 4.0, "y": 2.0}}, "b": {"1": {"y": 9.0, "x": 8.0, "z": 1.0}}})
    {'1': {'x': 1.875, 'y': 1.0, 'z': 0.0}}
    """
    rules = protocol_of(protocol)
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth}: use a whole number from 1")
    columns = [run_from_any(run, name, rules) for name, run in named_runs(runs).items()]
    fusion = Fusion(method, norm, weights, rrf_k, constant)
    if qrels is not None:
        level = rules.scoring.relevant_from
        graded = qrels_from_any(qrels, rules)
        fusion = train(columns, graded, fusion, measure=measures_of(measure, rules)[0], level=level).fusion
    fused = fuse_columns(columns, fusion, depth=depth or DEEPEST)
    return {
        ranked.topic: dict(zip(map(bytes.decode, ranked.docno.tolist()), ranked.score.tolist(), strict=True))
        for ranked in fused
    }
