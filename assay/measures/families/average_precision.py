"""Average precision."""

from assay.measures.matching import Hits, JudgedDocuments, position_in_topic
from assay.measures.parts import relevant, share, sums, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("AP", "GMAP")
def average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of the precision at the rank of each; one not found counts 0.

    Source
    ------
    Equals trec_eval's map, map_cut and, summed up by a geometric mean, gm_map.
    """
    found = relevant(top(hits, measure.k), measure.level)
    n_found = position_in_topic(found.topic, judged.n_topics) + 1
    return share(sums(found, n_found / found.rank), judged.n_graded(measure.level))
