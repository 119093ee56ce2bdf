"""Preferences between two documents: their files, and what follows from them.

`votes` reads and writes files, `values` computes Copeland and Bradley-Terry values and how far the votes contradict one
another. `assay.pools.next_pairs` chooses the pairs to judge. What rankings are worth by preferences is in
`assay_extensions.trec_eval.preferences`.
"""
