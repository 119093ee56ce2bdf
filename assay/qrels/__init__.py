"""Qrels from judgments."""
