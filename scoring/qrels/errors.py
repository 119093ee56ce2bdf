"""Refusals about qrels."""

from assay.errors import Refused


class QrelsRefused(Refused):
    """The qrels cannot be created."""

    title = "No qrels were created"
