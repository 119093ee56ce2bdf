"""Refusals about tasks."""

from assay.errors import Refused


class NothingToUndo(Refused):
    title = "Nothing to undo"

    def __init__(self) -> None:
        super().__init__(
            "There is no judgment of yours to undo: you have judged nothing else, or it does not count."
        )


class NothingToReturn(Refused):
    title = "Nothing to return"

    def __init__(self) -> None:
        super().__init__(
            "This judgment is not a non-answer that counts: its assessor has changed it, or it was returned already."
        )


class AlreadySubmitted(Refused):
    title = "This task is submitted"

    def __init__(self) -> None:
        super().__init__(
            "You have submitted this task already. To change your judgment, submit another choice."
        )
