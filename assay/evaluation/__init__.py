"""Evaluation of runs: the units that are scored, near-duplicates, curves, and tables of scores.

The kernels of the measures, and the matching of runs with qrels, are in `assay.measures`.
"""
