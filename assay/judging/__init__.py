"""Lets a local program judge units: what it is asked, its answers, and a file of its judgments."""
