"""Measures of the quality of a run: a kernel for each family of `assay.protocols.measures`, per topic, before any mean.

Layout: a kernel takes the hits of a run (flat, ordered by topic and rank), the judged documents of the qrels, and the
`Measure` with its level and cutoff. It returns one float64 per topic of the qrels: 0.0 for a topic that is missing
from the run or has nothing relevant. A primed measure gets hits that are ranked among the judged documents only, so no
kernel needs to ask. A document is relevant from the measure's level; its gain is its grade. Sums run in rank order, as
trec_eval's do, so that values agree to the last digit. Unless a docstring says otherwise, values equal trec_eval 10.0.
"""
