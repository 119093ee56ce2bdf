"""Refusals about analyses."""

from assay.errors import Refused


class AnalysisRefused(Refused):
    """An analysis that cannot be made."""

    title = "Nothing was analyzed"
