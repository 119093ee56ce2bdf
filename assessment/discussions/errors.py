"""Refusals about discussions."""

from assay.errors import Refused
from assay.protocols.schema import Grade


class NotTraining(Refused):
    def __init__(self, batch: object) -> None:
        super().__init__(f"“{batch}” is not a training round. Only training rounds are discussed.")


class NotJudged(Refused):
    def __init__(self, docno: str) -> None:
        super().__init__(f"Nobody has judged {docno} in this round, so there is nothing to discuss.")


class UnknownGrade(Refused):
    field = "grade"

    def __init__(self, grade: int, grades: list[Grade]) -> None:
        known = ", ".join(str(each.value) for each in grades)
        super().__init__(f"Grade {grade} is not in the protocol; use one of {known}.")
