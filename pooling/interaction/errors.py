"""Refusals about the interaction."""

from collections.abc import Sequence

from assay.errors import Refused
from assay.formats.reports import Complaint


class InteractionRefused(Refused):
    """The rules of the interaction do not allow it."""

    title = "The interaction was not changed"


class LogRefused(InteractionRefused):
    """A time log has errors."""

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__(" ".join(f"{complaint}. Accepted: {complaint.accepted}" for complaint in complaints))
        self.errors = [complaint.as_error() for complaint in complaints]
