"""Average precision."""

from assay.measures.kernels import Values, kernel, relevant, share, sums, top
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic
from assay.protocols.measures import Measure


@kernel("AP", "GMAP")
def average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of the precision at their rank; a document that is not retrieved counts 0.

    Source
    ------
    Equals trec_eval's map, map_cut and, with the geometric mean over topics, gm_map.
    """
    retrieved = relevant(top(hits, measure.k), measure.level)
    n_so_far = position_in_topic(retrieved.topic, judged.n_topics) + 1
    return share(sums(retrieved, n_so_far / retrieved.rank), judged.n_graded(measure.level))
