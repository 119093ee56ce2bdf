"""Refusals about analyses."""

from assay.errors import Refused


class AnalysisRefused(Refused):
    """The analysis cannot be computed."""

    title = "No analysis was started"
