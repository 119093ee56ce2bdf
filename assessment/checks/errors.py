"""Refusals about hidden checks."""

from assay.errors import Refused


class NoChecksInKind(Refused):
    def __init__(self, batch: object, kind: str) -> None:
        super().__init__(f"“{batch}” is a batch of {kind}. Hidden checks are for main and dual batches.")


class NoGold(Refused):
    def __init__(self) -> None:
        super().__init__(
            "The track has no units with known grades. Add some first, from a training round or from a file."
        )


class NothingAgreed(Refused):
    def __init__(self) -> None:
        super().__init__("Choose at least one unit with an agreed grade from a closed training round.")
