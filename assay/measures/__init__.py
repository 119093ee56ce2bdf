"""Measures of the quality of a run: one kernel for each family of `assay.protocols.measures`.

`matching` joins a run with qrels, `kernels` and other modules compute values, `scores` summarizes them over topics.

Layout: a kernel takes the hits of a run (flat, ordered by topic and rank), the judged documents of the qrels, and the
`Measure` with its level and cutoff. It returns one float64 value per topic of the qrels, before any mean: 0.0 for a
topic that is missing from the run or has no relevant documents. For a primed measure, the hits are ranked among the
judged documents only. A document is relevant from the level of the measure; its gain is its grade. Terms are added in
the order of the ranks, as in trec_eval, so that values agree to the last digit. Unless a docstring says otherwise,
values equal those of trec_eval 10.0.
"""
