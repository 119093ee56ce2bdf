"""The view of a run that measures use, and measures of a ranking or a set in which a document is relevant or not."""

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from pkgutil import resolve_name
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.measures.kernels import (
    Values,
    counts,
    discounts,
    interpolated_precision,
    recall_points,
    relevant,
    share,
    sums,
    top,
)
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic
from assay.measures.scores import MIN_OF_GEOMETRIC_MEAN
from assay.protocols.measures import FAMILIES, Measure
from assay_extensions.trec_eval.options import NOT_COMPUTED, Options, Parameters, TrecEvalError


class View:
    """A run with qrels, after the options -J, -l and -M.

    Args:
        judged: the qrels; values are for their topics.
        named: the documents of the run that the qrels name; with -J, only those with a grade, ranked among themselves.
        level: the lowest grade that counts as relevant.
        n_documents: number of documents in the collection; 0 if unknown.
    """

    def __init__(self, judged: JudgedDocuments, named: Hits, *, level: int, n_documents: int) -> None:
        self.judged = judged
        self.named = named
        self.level = level
        self.n_documents = n_documents

    @classmethod
    def of(cls, run: RunColumns, judged: JudgedDocuments, options: Options) -> Self:
        """Apply the depth, then remove unjudged documents."""
        named = judged.named_hits(run, depth=options.depth)
        if options.is_judged_only:
            named = named.graded().judged_only()
        return cls(judged, named, level=options.level, n_documents=options.n_documents)

    @cached_property
    def hits(self) -> Hits:
        """The returned documents with a grade."""
        return self.named.graded()

    @cached_property
    def n_returned(self) -> NDArray[np.int64]:
        return self.named.n_returned

    @cached_property
    def n_relevant(self) -> NDArray[np.int64]:
        return self.judged.n_graded(self.level)

    @cached_property
    def relevant(self) -> Hits:
        """The relevant documents that the run returned."""
        return relevant(self.hits, self.level)

    @cached_property
    def n_relevant_returned(self) -> NDArray[np.int64]:
        """(topics,) number of relevant documents that the run returned."""
        return counts(self.relevant)

    def value(self, name: str, k: int | None = None) -> Values:
        kernel = resolve_name(FAMILIES[name].compute)
        values: Values = kernel(self.hits, self.judged, Measure(name, self.level, k))
        return values

    @cached_property
    def hits_by_topic(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Ranks and grades of the hits of each topic."""
        bounds = np.searchsorted(self.hits.topic, np.arange(self.judged.n_topics + 1)).tolist()
        return [(self.hits.rank[start:end], self.hits.grade[start:end]) for start, end in pairwise(bounds)]

    @cached_property
    def grades_by_topic(self) -> list[NDArray[np.int64]]:
        """The grades of the judged documents of each topic, highest first."""
        ideal = self.judged.ideal
        bounds = np.searchsorted(ideal.topic, np.arange(self.judged.n_topics + 1)).tolist()
        return [ideal.grade[start:end] for start, end in pairwise(bounds)]


Compute = Callable[[View, Parameters], list[Values]]


def family(name: str) -> Compute:
    return lambda view, _: [view.value(name)]


def family_at_ranks(name: str) -> Compute:
    """The measure of a family of kernels, at each rank."""
    return lambda view, parameters: [view.value(name, k) for k in parameters.ranks]


def logarithm(name: str) -> Compute:
    """For a geometric mean: the logarithm of a family's value, which is at least 0.00001."""
    return lambda view, _: [np.log(np.maximum(view.value(name), MIN_OF_GEOMETRIC_MEAN))]


def number(name: str) -> Compute:
    """A number of documents, which is a property of the view."""
    return lambda view, _: [getattr(view, name).astype(np.float64)]


def n_nonrelevant_returned(view: View, _: Parameters) -> list[Values]:
    return [(counts(view.hits) - view.n_relevant_returned).astype(np.float64)]


def interpolated(view: View, parameters: Parameters) -> list[Values]:
    points = [recall_points(recall, view.n_relevant) for recall in parameters.numbers]
    return [interpolated_precision(view.relevant, point) for point in points]


def eleven_points(view: View, parameters: Parameters) -> list[Values]:
    """Mean of the interpolated precision at levels of recall."""
    values = interpolated(view, parameters)
    # Added from the last to the first, like trec_eval does.
    return [np.cumsum(values[::-1], axis=0)[-1] / len(values)]


def multiples_of_r(view: View, parameters: Parameters) -> list[Values]:
    """Precision at multiples of R, even beyond the end of the run. A fraction of a rank from 0.1 is rounded up."""
    values = []
    for multiple in parameters.numbers:
        depth = (multiple * view.n_relevant + 0.9).astype(np.int64)
        within = view.relevant.kept(view.relevant.rank <= depth[view.relevant.topic])
        values.append(share(counts(within), depth))
    return values


def utility(view: View, parameters: Parameters) -> list[Values]:
    """Weighted sum of the numbers of relevant and other documents that were returned, and that were not."""
    if len(parameters.numbers) != 4:
        raise TrecEvalError("measure utility takes four numbers: utility.1,-1,0,0", status=NOT_COMPUTED)
    cells = (
        view.n_relevant_returned,
        view.n_returned - view.n_relevant_returned,
        view.n_relevant - view.n_relevant_returned,
        view.n_documents + view.n_relevant_returned - view.n_returned - view.n_relevant,
    )
    is_missing = view.n_returned == 0
    values = sum(weight * cell for weight, cell in zip(parameters.numbers, cells, strict=True))
    return [np.where(is_missing, 0.0, values)]


def binary_gain(view: View, _: Parameters) -> list[Values]:
    """binG: mean over the relevant documents of 1 / log2(2 + number of other documents above)."""
    hits = view.relevant
    n_others = hits.rank - 1 - position_in_topic(hits.topic, view.judged.n_topics)
    logarithms = discounts(int(np.max(hits.rank, initial=1)))  # log2(rank + 1)
    return [share(sums(hits, 1.0 / logarithms[n_others + 1]), view.n_relevant)]


def relative_precision(view: View, parameters: Parameters) -> list[Values]:
    """Precision at ranks, divided by the best possible."""
    return [share(counts(top(view.relevant, k)), np.minimum(view.n_relevant, k)) for k in parameters.ranks]


def set_relative_precision(view: View, _: Parameters) -> list[Values]:
    return [share(view.n_relevant_returned, np.minimum(view.n_returned, view.n_relevant))]


def set_f(view: View, parameters: Parameters) -> list[Values]:
    weight = parameters.numbers[0]
    precision = share(view.n_relevant_returned, view.n_returned)
    recall = share(view.n_relevant_returned, view.n_relevant)
    values, is_found = (weight + 1.0) * precision * recall, view.n_relevant_returned > 0
    return [np.divide(values, weight * precision + recall, out=np.zeros_like(values), where=is_found)]


def yet_another_average_precision(view: View, _: Parameters) -> list[Values]:
    """yaap: log((1 + s) / (1 + R - s)), where s is the sum that average precision divides by R.

    Source:
        Robertson (2012), On Smoothing Average Precision, doi:10.1007/978-3-642-28997-2_14.
    """
    hits = view.relevant
    n_so_far = position_in_topic(hits.topic, view.judged.n_topics) + 1
    total = sums(hits, n_so_far / hits.rank)
    return [np.log((1.0 + total) / (1.0 + view.n_relevant - total))]


def unjudged(view: View, parameters: Parameters) -> list[Values]:
    """Number of documents without a grade among the top k, divided by k even if the run has fewer."""
    return [(np.minimum(view.n_returned, k) - counts(top(view.hits, k))) / float(k) for k in parameters.ranks]


def grades_of_top(view: View, parameters: Parameters) -> list[str]:
    """relstring: a character for each of the first documents of a topic."""
    depth = np.minimum(view.n_returned, max(0, int(parameters.numbers[0]))).tolist()
    letters = [["-"] * length for length in depth]
    named = top(view.named, max(depth, default=0))
    for topic, rank, grade in zip(
        named.topic.tolist(), named.rank.tolist(), named.grade.tolist(), strict=True
    ):
        letters[topic][rank - 1] = "." if grade < 0 else str(grade) if grade <= 9 else ">"
    return ["".join(topic_letters) for topic_letters in letters]
