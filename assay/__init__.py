"""Protocols, runs, pools, qrels and measures of information-retrieval evaluation, on files alone. Decision: ADR 19."""
