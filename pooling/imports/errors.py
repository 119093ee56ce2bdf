"""Refusals about imports of runs."""

from assay.errors import Refused


class ImportRefused(Refused):
    title = "The runs were not imported"
