"""Functions for researchers: score, compare and rank runs, measure agreement, build pools. Decision: ADR 19.

Each function does what the command of its name does, and the command calls the same code. All of them take files,
dictionaries and tables. `assay` offers them as `assay.evaluate` and so on, and imports them when they are first used.
"""
