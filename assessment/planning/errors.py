"""Refusals about planned rounds."""

from collections.abc import Sequence

from assay.errors import Refused


class NothingChosen(Refused):
    def __init__(self) -> None:
        super().__init__("No topic has a second assessor. Choose one for at least one topic.")


class UnknownUnits(Refused):
    def __init__(self, docnos: Sequence[str]) -> None:
        named = ", ".join(docnos[:5])
        super().__init__(f"{len(docnos)} of the documents are not in the pool for these topics: {named}")
