"""The view of a run that measures use: its judged documents, and how many documents it has."""

from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.measures.kernels import Values, counts, relevant
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.scores import KERNELS
from assay.protocols.measures import Measure
from assay.trec_eval.options import Options


class View:
    """A run with qrels, after the options -J, -l and -M.

    judged : the qrels; values are for their topics.
    named : the documents of the run that the qrels name; with -J, only those with a grade, ranked among themselves.
    level : the lowest grade that counts as relevant.
    n_documents : number of documents in the collection; 0 if unknown.
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

    def value(self, family: str, k: int | None = None) -> Values:
        """The values that the kernel of a family computes."""
        return KERNELS[family](self.hits, self.judged, Measure(family, self.level, k))

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
