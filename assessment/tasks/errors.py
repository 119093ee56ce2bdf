"""Refusals about tasks."""

from assay.errors import Refused


class AlreadySubmitted(Refused):
    title = "This task is submitted"

    def __init__(self) -> None:
        super().__init__(
            "You have submitted this task already. To change your judgment, submit another choice."
        )
