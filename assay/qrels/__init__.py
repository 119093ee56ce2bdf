"""Qrels from judgments: `freezing` decides which judgments of a unit count."""
