"""Preferences between two documents: their files, which pairs to judge next, and what follows from them.

`votes` reads and writes files, `pairs` chooses pairs, `values` computes Copeland and Bradley-Terry values and how far
the votes contradict one another. What rankings are worth by preferences is in `assay_extensions.trec_eval.preferences`.
"""
