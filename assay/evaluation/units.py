"""What the rows of a run stand for when it is scored: what they name, or visually distinct formulas."""

from dataclasses import dataclass
from typing import NamedTuple

from assay.evaluation.distinct_formulas import collapse_instances
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formulas.columns import Formulas


class Prepared(NamedTuple):
    """A run ready to be scored, and what to say of how it was made so."""

    ranking: Ranked
    note: str


@dataclass(frozen=True, slots=True)
class Units:
    """Units that runs are scored by. `formulas`: instances count as their distinct formulas; None: rows as they are."""

    formulas: Formulas | None = None

    def prepared(self, run: RunColumns) -> Prepared:
        if self.formulas is None:
            return Prepared(run, "")
        collapsed = collapse_instances(run, self.formulas)
        note = f"{len(run)} instances, {len(collapsed.columns)} distinct formulas"
        skipped = (
            f", {collapsed.n_skipped} instances without a visual id skipped" if collapsed.n_skipped else ""
        )
        return Prepared(collapsed.columns, note + skipped)
