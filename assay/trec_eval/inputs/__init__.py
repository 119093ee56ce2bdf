"""Reads the files of trec_eval: runs, qrels, groups and preferences."""
