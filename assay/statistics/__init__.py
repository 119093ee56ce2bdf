"""Statistics of scores and judgments: significance, intervals, agreement, rank correlation, reusability.

Scores are arrays of shape (runs, topics). Random draws follow from a seed alone, and sums do not depend on their order,
so the numbers are the same on every machine (docs/adr/0006-seeds-orders-and-members.md).
"""
