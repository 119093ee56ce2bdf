"""Refusals about qrels."""

from assay.errors import Refused


class QrelsRefused(Refused):
    """The qrels cannot be created."""

    title = "No qrels were created"


class JudgmentsChanged(QrelsRefused):
    """What would be frozen is not what the preview showed."""

    def __init__(self) -> None:
        super().__init__(
            "Judgments, or the pool, changed since this preview was made. Read the new preview, then freeze it."
        )
