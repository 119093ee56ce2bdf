"""Refusals about pools."""

from assay.errors import Refused


class PoolRefused(Refused):
    title = "The pool cannot be built"


class StatisticsMissing(PoolRefused):
    """A pool without statistics: Assay did not build it."""

    title = "The pool has no statistics"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Pool {name} has no statistics of its runs, so this page or file cannot be made. Its units can be judged."
        )


class IdsMissing(PoolRefused):
    """Submitted formulas need visual ids before a pool of distinct formulas can be previewed."""

    def __init__(self, n: int) -> None:
        super().__init__(
            f"{n:,} of the submitted formulas have no visual id yet. Make visual ids to see a preview. "
            "Building a pool also makes them."
        )
