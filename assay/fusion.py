"""Fusion: one run from several, topic by topic.

Each document gets a score from each run that has it, and `METHODS` say how these scores are combined; for methods that
use scores, `NORMS` make those of different runs comparable first. A run that does not have the document adds nothing,
except where a method says so. Topics are those that some run has. The order of the runs changes nothing: a document's
scores are added by size, and totals that agree to 13 digits tie.

Sources: Shaw and Fox, "Combination of multiple searches" (TREC-2, 1994): min, max, med, anz, sum, mnz; Lee (1997),
doi:10.1145/258525.258587: gmnz; Aslam and Montague (2001), doi:10.1145/383952.384007: borda; Montague and Aslam (2002),
doi:10.1145/584792.584881: condorcet; Wu and Crestani (2002), doi:10.1145/584792.584908: mixed, wmnz; Cormack, Clarke
and Buettcher (2009), doi:10.1145/1571941.1572114: rrf; Mourão, Martins and Magalhães (2015),
doi:10.1016/j.compmedimag.2014.05.006: isr, log-isr, logn-isr; Bailey et al. (2017), doi:10.1145/3077136.3080839: rbc;
Renda and Straccia (2003), doi:10.1145/952532.952698: the norms max, sum, rank and borda. Methods that are trained, by
`assay.research.trained_fusion`: Aslam and Montague (2001), as above: bayesfuse; Lillis et al. (2006),
doi:10.1145/1148170.1148197: probfuse; Shokouhi (2007), doi:10.1007/978-3-540-71496-5_19: segfuse; Lillis et al. (2008),
doi:10.1007/978-3-540-78646-7_33: slidefuse; Lillis et al. (2010), doi:10.1145/1835449.1835508: mapfuse and posfuse.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, plural
from assay.formats.runs.columns import RunColumns
from assay.ranking import Ranked, best

# fmt: off
Method = Literal[
    "sum", "mnz", "rrf", "min", "max", "med", "anz", "gmnz", "mixed", "wmnz", "isr", "log-isr", "logn-isr", "rbc",
    "borda", "condorcet", "bayesfuse", "mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse",
]
# fmt: on
Norm = Literal["min-max", "z-score", "max", "sum", "rank", "borda", "none"]
RRF_K = 60
MOST = 10_000  # segments of probfuse, ranks on a side of slidefuse
SAME = 1e-13  # share of the added scores; a total below it is 0
ABSENT = float(np.log(0.001 / 0.999))  # log odds of bayesfuse for a document that a run lacks
Values = NDArray[np.float64]


class MethodFacts(NamedTuple):
    """A method, for people and programs.

    Args:
        title: how the score of a document comes about, where w is the weight of a run and n the number of runs that
            have the document.
        needs: what the constant is; empty if the method has none.
        has_scores: whether it uses scores, and not ranks alone.
        has_times: whether the number of runs multiplies the scores, which must not be negative then.
        is_trained: whether it uses what the runs retrieved for topics with qrels.
    """

    title: str
    needs: str = ""
    has_scores: bool = True
    has_times: bool = False
    is_trained: bool = False


METHODS: dict[str, MethodFacts] = {
    "sum": MethodFacts("sum of the scores (CombSUM)"),
    "mnz": MethodFacts("that sum, times the number of runs with the document (CombMNZ)", has_times=True),
    "rrf": MethodFacts("reciprocal ranks", has_scores=False),
    "min": MethodFacts("least score (CombMIN)"),
    "max": MethodFacts("greatest score (CombMAX)"),
    "med": MethodFacts("median of the scores (CombMED)"),
    "anz": MethodFacts("mean of the scores of the runs with the document (CombANZ)"),
    "gmnz": MethodFacts(
        "sum, times a power of the number of runs with the document (CombGMNZ)", "the power", has_times=True
    ),
    "mixed": MethodFacts("sum, times the root of the number of runs with the document", has_times=True),
    "wmnz": MethodFacts("sum, times the weights of the runs with the document", has_times=True),
    "isr": MethodFacts("1 / rank², times the number of runs with the document", has_scores=False),
    "log-isr": MethodFacts("1 / rank², times the logarithm of that number", has_scores=False),
    "logn-isr": MethodFacts(
        "1 / rank², times the logarithm of that number and a constant",
        "what is added to it",
        has_scores=False,
    ),
    "rbc": MethodFacts("rank-biased centroid", "the persistence, from 0 to 1", has_scores=False),
    "borda": MethodFacts("points by rank (Borda)", has_scores=False),
    "condorcet": MethodFacts("order that most runs prefer (Condorcet)", has_scores=False),
    "bayesfuse": MethodFacts(
        "sum of the log odds of relevance at the ranks (Bayes-fuse)", has_scores=False, is_trained=True
    ),
    "mapfuse": MethodFacts(
        "sum of the mean average precisions of the runs, each divided by the rank (MAPFuse)",
        has_scores=False,
        is_trained=True,
    ),
    "posfuse": MethodFacts(
        "sum of the shares of relevant documents at the ranks (PosFuse)", has_scores=False, is_trained=True
    ),
    "probfuse": MethodFacts(
        "sum of the shares in segments of equal size, each divided by the number of the segment (ProbFuse)",
        "the number of segments",
        has_scores=False,
        is_trained=True,
    ),
    "segfuse": MethodFacts(
        "sum of the shares in segments that grow, times 1 and the score (SegFuse)", is_trained=True
    ),
    "slidefuse": MethodFacts(
        "sum of the mean shares around the ranks (SlideFuse)",
        "the ranks on each side",
        has_scores=False,
        is_trained=True,
    ),
}
NORMS: dict[str, str] = {
    "min-max": "from 0 to 1 (min-max)",
    "z-score": "distance from the mean (z-score)",
    "max": "divided by the greatest",
    "sum": "shares of their sum, after the least is subtracted",
    "rank": "from the rank, 1 for the first",
    "borda": "from the rank, 1 for the first, among the documents of all runs",
    "none": "as they are",
}
assert (tuple(METHODS), tuple(NORMS)) == (get_args(Method), get_args(Norm))


class Fusion(NamedTuple):
    """The settings of a fusion. Weights are in the order of the runs; without them each run has the weight 1.

    `learned` has the values of each run, in their order, for a method that is trained: its mean average precision for
    mapfuse, the share of each segment for probfuse, and a value for each rank for the others.
    """

    method: Method = "sum"
    norm: Norm = "min-max"
    weights: Sequence[float] = ()
    k: int = RRF_K
    constant: float | None = None
    learned: Sequence[Values] = ()


class _List(NamedTuple):
    """The documents of a topic in a run, best first."""

    run: RunColumns
    rows: slice
    weight: float
    learned: Values


class _Scored(NamedTuple):
    """The scores of the documents of a topic, a row for each run with a document.

    Args:
        place: (rows,) the document.
        score: (rows,) its score from the run, or from the rank, without the weight.
        weight: (rows,) of the run.
        n_runs: (documents,) that have the document.
    """

    place: NDArray[np.intp]
    score: Values
    weight: Values
    n_runs: NDArray[np.intp]


def fuse(runs: Sequence[RunColumns], fusion: Fusion, *, depth: int) -> Iterator[Ranked]:
    """The fused list of each topic, by codes of topics.

    Raises:
        InputError: There are fewer than two runs or another number of weights, a run has no topic in common with the
            others, a constant is missing, or a method would multiply negative scores.
    """
    _check(runs, fusion)
    places = [{code: n for n, code in enumerate(run.topics.tolist())} for run in runs]
    weights = list(fusion.weights) or [1.0] * len(runs)
    learned = list(fusion.learned) or [np.zeros(0)] * len(runs)
    for topic in sorted({code for place in places for code in place}):
        lists = [
            _List(run, slice(*run.offsets[place[topic] : place[topic] + 2].tolist()), weight, values)
            for run, place, weight, values in zip(runs, places, weights, learned, strict=True)
            if topic in place
        ]
        yield _fused(topic, lists, fusion, depth)


def _check(runs: Sequence[RunColumns], fusion: Fusion) -> None:
    facts, method = METHODS[fusion.method], fusion.method
    if len(runs) < 2:
        raise InputError("fusion needs at least two runs")
    if fusion.weights and len(fusion.weights) != len(runs):
        raise InputError(
            f"got {plural(len(fusion.weights), 'weight')} for {len(runs)} runs; give one for each run"
        )
    if facts.is_trained and len(fusion.learned) != len(runs):
        raise InputError(f"{called(method)} is trained; give qrels of topics of the runs")
    check_constant(fusion)
    if facts.has_times and fusion.norm == "z-score":
        raise InputError(
            f"{called(method)} cannot use z-scores: they are negative for half of the documents; use min-max"
        )
    if facts.has_times and fusion.norm in {"none", "max"} and any((run.score < 0).any() for run in runs):
        raise InputError(f"{called(method)} cannot use negative scores; normalize them with min-max")
    for number, run in enumerate(runs, 1):
        others = {code for other in runs if other is not run for code in other.topics.tolist()}
        if others.isdisjoint(run.topics.tolist()):
            raise InputError(f"run {number} has no topic in common with the others")


def check_constant(fusion: Fusion) -> None:
    """Raise InputError if the method needs a constant and has none, or cannot use the one that it has."""
    facts, method, constant = METHODS[fusion.method], fusion.method, fusion.constant or 0.0
    if facts.needs and fusion.constant is None:
        raise InputError(f"{method} needs a constant: {facts.needs}")
    if fusion.constant is not None and not facts.needs:
        takers = ", ".join(name for name, other in METHODS.items() if other.needs)
        raise InputError(f"{method} has no constant; {takers} have one")
    if method == "rbc" and not 0 <= constant < 1:
        raise InputError(f"the persistence of rbc is from 0 to below 1, got {constant:g}")
    if method in {"probfuse", "slidefuse"} and not (1 <= constant <= MOST and constant % 1 == 0):
        raise InputError(f"the constant of {method} is a whole number from 1 to {MOST:,}, got {constant:g}")
    if method == "logn-isr" and not constant > 0:
        raise InputError(f"the constant of logn-isr is above 0, got {constant:g}")


def called(method: str) -> str:
    """The name of a method in the literature, where it has another one.

    >>> called("mnz"), called("wmnz")
    ('CombMNZ', 'wmnz')
    """
    _, mark, name = METHODS[method].title.rpartition("(")
    return name.rstrip(")") if mark else method


def _fused(topic: str, lists: Sequence[_List], fusion: Fusion, depth: int) -> Ranked:
    docno = np.concatenate([run.docno[rows] for run, rows, *_ in lists])
    documents, first, place = np.unique(docno, return_index=True, return_inverse=True)
    sizes = [rows.stop - rows.start for _, rows, *_ in lists]
    ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
    score = np.concatenate([_scores(each, fusion, len(documents)) for each in lists])
    weight = np.repeat([each.weight for each in lists], sizes)
    scored = _Scored(place, score, weight, np.bincount(place))
    if fusion.method == "condorcet":
        total = _majority(scored, ranks, sizes)
    elif fusion.method in {"borda", "bayesfuse"} or (
        METHODS[fusion.method].has_scores and fusion.norm == "borda" and not METHODS[fusion.method].is_trained
    ):
        total = _combined(_with_absent(scored, sizes, lists, fusion), fusion)
    else:
        total = _combined(scored, fusion)
    posts = [run.post[rows] for run, rows, *_ in lists if run.post is not None]
    post = np.concatenate(posts)[first] if len(posts) == len(lists) else None
    return best(topic, documents, total, k=depth, post=post)


def _combined(scored: _Scored, fusion: Fusion) -> Values:
    """(documents,) the scores of the runs in one."""
    place, n_runs, constant = scored.place, scored.n_runs.astype(np.float64), fusion.constant or 0.0
    weighted = scored.weight * scored.score
    if fusion.method in {"min", "max", "med"}:
        by_score = np.lexsort((weighted, place))
        ends = np.cumsum(scored.n_runs)
        starts, ordered = ends - scored.n_runs, weighted[by_score]
        values: Values = ordered[starts] if fusion.method == "min" else ordered[ends - 1]
        if fusion.method == "med":
            values = (ordered[starts + (scored.n_runs - 1) // 2] + ordered[starts + scored.n_runs // 2]) / 2
        return values
    if fusion.method == "wmnz":
        return _totals(place, scored.score, np.bincount(place, weights=scored.weight))
    times: dict[str, Callable[[], Values]] = {
        "mnz": lambda: n_runs,
        "anz": lambda: 1 / n_runs,
        "gmnz": lambda: n_runs**constant,
        "mixed": lambda: np.sqrt(n_runs),
        "isr": lambda: n_runs,
        "log-isr": lambda: np.log(n_runs),
        "logn-isr": lambda: np.log(n_runs + constant),
    }
    return _totals(
        place, weighted, times[fusion.method]() if fusion.method in times else np.ones_like(n_runs)
    )


def _totals(place: NDArray[np.intp], score: Values, times: Values | NDArray[np.intp]) -> Values:
    """(documents,) the sum of the scores at each place, times a number, without the rounding errors of adding.

    >>> _totals(np.array([0, 1, 0, 0, 1, 1]), np.array([0.1, 0.3, 0.2, 0.3, 0.2, 0.1]), np.array([1, 2])).tolist()
    [0.6, 1.2]
    """
    by_size = np.lexsort((score, place))
    starts = np.flatnonzero(np.diff(place[by_size], prepend=-1))
    total, size = (np.add.reduceat(values[by_size], starts) for values in (score, np.abs(score)))
    total = np.where(np.abs(total) > SAME * size, total, 0.0) * times
    return np.array([float(f"{value:.12e}") for value in total.tolist()])


def _scores(documents: _List, fusion: Fusion, n_documents: int) -> Values:
    """The scores of the documents of a topic from one run, which a method combines."""
    score, learned = documents.run.score[documents.rows], documents.learned
    if not METHODS[fusion.method].is_trained:
        return _normalized(score, fusion, n_documents)
    n = len(score)
    places = np.arange(n)
    if fusion.method == "mapfuse":
        return np.array(learned[0] / (places + 1))
    if fusion.method == "probfuse":
        segment = places // -(-n // len(learned))
        return np.array(learned[segment] / (segment + 1))
    value = np.full(n, ABSENT if fusion.method == "bayesfuse" else 0.0)
    value[: len(learned)] = learned[:n]
    if fusion.method == "segfuse":
        return value * (_normalized(score, fusion, n_documents) + 1)
    if fusion.method == "slidefuse":
        width = int(fusion.constant or 0)
        first, end = np.maximum(places - width, 0), np.minimum(places + width + 1, n)
        total = np.concatenate([[0.0], np.cumsum(value)])
        return np.array((total[end] - total[first]) / (end - first))
    return value


def _normalized(score: Values, fusion: Fusion, n_documents: int) -> Values:
    """The scores of one topic of a run, in the order of its ranks; of the ranks, for methods that use these alone.

    Args:
        n_documents: of all runs, for the topic.
    """
    ranks = np.arange(1.0, len(score) + 1.0)
    how = fusion.norm if METHODS[fusion.method].has_scores else fusion.method
    if how == "rrf":
        return 1 / (fusion.k + ranks)
    if how in {"isr", "log-isr", "logn-isr"}:
        return ranks**-2
    if how == "rbc":
        persistence = fusion.constant or 0.0
        return np.array((1 - persistence) * persistence ** (ranks - 1))
    if how == "rank":
        return 1 - (ranks - 1) / len(score)
    if how in {"borda", "condorcet"}:
        return 1 - (ranks - 1) / n_documents
    if how == "none":
        return score
    least, greatest = score.min(), score.max()
    if how == "max":
        return score / greatest if greatest > 0 else np.zeros_like(score)
    if least == greatest:
        return np.zeros_like(score) if how == "z-score" else np.ones_like(score)
    low, width = {
        "z-score": lambda: (score.mean(), score.std()),
        "sum": lambda: (least, (score - least).sum()),
        "min-max": lambda: (least, greatest - least),
    }[how]()
    normalized: Values = (score - low) / width
    return normalized


def _with_absent(scored: _Scored, sizes: Sequence[int], lists: Sequence[_List], fusion: Fusion) -> _Scored:
    """Share the points that a run gave to no document equally among those that it lacks, or give them its odds."""
    n_documents = len(scored.n_runs)
    places, scores, weights = [scored.place], [scored.score], [scored.weight]
    for end, size, each in zip(np.cumsum(sizes).tolist(), sizes, lists, strict=True):
        absent = np.setdiff1d(np.arange(n_documents), scored.place[end - size : end])
        places.append(absent)
        points = ABSENT if fusion.method == "bayesfuse" else (n_documents - size + 1) / 2 / n_documents
        scores.append(np.full(len(absent), points))
        weights.append(np.full(len(absent), each.weight))
    place = np.concatenate(places)
    return _Scored(place, np.concatenate(scores), np.concatenate(weights), np.bincount(place))


def _majority(scored: _Scored, ranks: NDArray[np.int64], sizes: Sequence[int]) -> Values:
    """(documents,) n for the first of n documents and 1 for the last, in an order of which no neighbors are outvoted.

    A run prefers what it ranks higher, and what it has to what it lacks. Where the preferences of the majority form a
    circle, and for ties, documents that the Borda count prefers are first.
    """
    n_documents = len(scored.n_runs)
    position = np.full((len(sizes), n_documents), np.iinfo(np.int64).max)
    weights, ends = np.zeros(len(sizes)), np.cumsum(sizes).tolist()
    for row, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        position[row, scored.place[end - size : end]] = ranks[end - size : end]
        weights[row] = scored.weight[end - 1]
    points = np.bincount(scored.place, weights=scored.weight * scored.score)
    order = np.lexsort((np.arange(n_documents), points))[::-1].tolist()

    def is_outvoted(first: int, second: int) -> bool:
        votes = weights @ np.sign(position[:, first].astype(np.float64) - position[:, second])
        return bool(votes > SAME * weights.sum())

    total = np.zeros(n_documents)
    total[_merged(order, is_outvoted)] = np.arange(n_documents, 0, -1)
    return total


def _merged(order: list[int], is_outvoted: Callable[[int, int], bool]) -> list[int]:
    """Sort by merging, after which no item is outvoted by the next one, even where the votes form a circle.

    >>> _merged([1, 2, 3], lambda first, second: (first, second) in {(1, 2), (2, 3), (3, 1)})
    [1, 3, 2]
    """
    if len(order) < 2:
        return order
    middle = len(order) // 2
    left, right = _merged(order[:middle], is_outvoted), _merged(order[middle:], is_outvoted)
    merged = []
    while left and right:
        merged.append(right.pop(0) if is_outvoted(left[0], right[0]) else left.pop(0))
    return merged + left + right
