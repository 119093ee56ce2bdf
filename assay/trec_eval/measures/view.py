"""What the measures look at: the judged documents of a run, and how many documents it has."""

from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, relevant
from assay.measures.registry import Values, kernel_of
from assay.protocols.measures import Measure
from assay.trec_eval.options import Options


class View:
    """A run against qrels, as the options ask for it.

    judged : the qrels, whose topics the values are of.
    found : the documents of the run that the qrels name; with -J, those with a grade, ranked among themselves.
    level : the grade from which a document is relevant.
    n_documents : in the collection; 0 if nobody said.
    """

    def __init__(self, judged: JudgedDocuments, found: Hits, *, level: int, n_documents: int) -> None:
        self.judged = judged
        self.found = found
        self.level = level
        self.n_documents = n_documents

    @classmethod
    def of(cls, run: RunColumns, judged: JudgedDocuments, options: Options) -> Self:
        """The depth cuts before unjudged documents are removed."""
        found = judged.found(run, depth=options.depth)
        kept = found.graded().judged_only() if options.is_judged_only else found
        return cls(judged, kept, level=options.level, n_documents=options.n_documents)

    @cached_property
    def hits(self) -> Hits:
        """The documents with a grade."""
        return self.found.graded()

    @cached_property
    def n_returned(self) -> NDArray[np.int64]:
        return self.found.n_returned

    @cached_property
    def n_relevant(self) -> NDArray[np.int64]:
        return self.judged.n_graded(self.level)

    @cached_property
    def relevant(self) -> Hits:
        """The relevant documents that the run found."""
        return relevant(self.hits, self.level)

    @cached_property
    def n_found(self) -> NDArray[np.int64]:
        """Of each topic, how many those are."""
        return counts(self.relevant)

    def value(self, family: str, k: int | None = None) -> Values:
        """What the kernel of a family computes."""
        return kernel_of(family)(self.hits, self.judged, Measure(family, self.level, k))

    @cached_property
    def hits_by_topic(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Ranks and grades of each topic's hits."""
        bounds = np.searchsorted(self.hits.topic, np.arange(self.judged.n_topics + 1)).tolist()
        return [(self.hits.rank[start:end], self.hits.grade[start:end]) for start, end in pairwise(bounds)]

    @cached_property
    def grades_by_topic(self) -> list[NDArray[np.int64]]:
        """The grades of each topic's judged documents, highest first."""
        ideal = self.judged.ideal
        bounds = np.searchsorted(ideal.topic, np.arange(self.judged.n_topics + 1)).tolist()
        return [ideal.grade[start:end] for start, end in pairwise(bounds)]
