"""Measures whose mean is no mean over topics: a ratio of sums over all of them, of counts that each topic adds.

The value of a topic is the same ratio, of its own counts. So a topic with many documents has more weight in the mean.

Source
------
The scorer of SemEval-2016 Task 3 (Nakov et al., 2016): AvgRec, and accuracy, precision, recall and F1 of labels.
"""

import numpy as np
from numpy.typing import NDArray

from assay.errors import NotMeasurable
from assay.measures.kernels import Values, counts, relevant, share
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure

Counts = NDArray[np.float64]  # (topics, counts)


def recall_counts(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Counts:
    """(topics, 2 k) relevant documents among the top 1 to k, then the most that there can be."""
    ranks = np.arange(1, (measure.k or 1) + 1)
    retrieved = relevant(hits, measure.level)
    n_retrieved = np.stack([counts(retrieved.kept(retrieved.rank <= rank)) for rank in ranks], axis=1)
    n_possible = np.minimum(ranks, judged.n_graded(measure.level)[:, np.newaxis])
    return np.hstack([n_retrieved, n_possible]).astype(np.float64)


def average_recall(summed: Counts) -> Values:
    """(rows,) mean of the shares at each rank; 0 where nothing is relevant."""
    retrieved, possible = np.hsplit(summed, 2)
    mean: Values = share(retrieved, possible).mean(axis=1)
    return mean


def label_counts(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Counts:
    """(topics, 5) judged documents: rightly called relevant, wrongly so, relevant, rightly labeled, and all.

    A document that the run lacks has no right label.
    """
    lines, is_relevant = hits.lines, hits.grade >= measure.level
    label = None if lines is None else lines.run.label
    if lines is None or label is None:
        raise NotMeasurable(
            "the lines of the run have no label; measures of labels need a format with a column label",
            title="These measures need labels",
        )
    topic_of_run = np.full(len(hits.n_returned), -1)
    topic_of_run[lines.place[lines.place >= 0]] = np.flatnonzero(lines.place >= 0)
    is_called = label[lines.run.offsets[topic_of_run[hits.topic]] + hits.rank - 1]
    parts = (is_called & is_relevant, is_called & ~is_relevant, is_called == is_relevant)
    true, false, right = (counts(hits.kept(part)) for part in parts)
    columns = (true, false, judged.n_graded(measure.level), right, judged.n_graded(0))
    return np.stack(columns, axis=1).astype(np.float64)


def accuracy(summed: Counts) -> Values:
    """(rows,) share of the judged documents that are rightly labeled."""
    return share(summed[:, 3], summed[:, 4])


def precision(summed: Counts) -> Values:
    """(rows,) share of the documents called relevant that are relevant."""
    return share(summed[:, 0], summed[:, 0] + summed[:, 1])


def recall(summed: Counts) -> Values:
    """(rows,) share of the relevant documents that are called relevant."""
    return share(summed[:, 0], summed[:, 2])


def f_measure(summed: Counts) -> Values:
    """(rows,) harmonic mean of precision and recall."""
    return share(2.0 * precision(summed) * recall(summed), precision(summed) + recall(summed))
