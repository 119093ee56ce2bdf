"""Refusals about adjudication."""

from assay.errors import Refused


class NothingToAdjudicate(Refused):
    def __init__(self) -> None:
        super().__init__(
            "Every unit that differs like this is in an adjudication batch already. Choose another difference."
        )
