"""Refusals about pools."""

from assay.errors import Refused


class PoolRefused(Refused):
    """A pool that cannot be built."""

    title = "The pool cannot be built"


class IdsMissing(PoolRefused):
    """A pool of distinct formulas that cannot be previewed before the submitted formulas have visual ids."""

    def __init__(self, n: int) -> None:
        super().__init__(
            f"{n:,} of the submitted formulas have no visual id yet. Building a pool makes them; to look at a preview "
            "before, have them made now."
        )
