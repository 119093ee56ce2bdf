"""What the rows of a run stand for when it is scored: what they name, or visually distinct formulae."""

from dataclasses import dataclass
from typing import NamedTuple

from corpus.formulae import Formulae
from pooling.columns import Ranked, RunColumns
from scoring.distinct_formulae import collapse_instances


class Prepared(NamedTuple):
    """A run ready to be scored, and what to say of how it was made so."""

    ranking: Ranked
    note: str


@dataclass(frozen=True, slots=True)
class Units:
    """Units that runs are scored by. `formulae`: instances count as their distinct formulae; None: rows as they are."""

    formulae: Formulae | None = None

    def prepared(self, run: RunColumns) -> Prepared:
        if self.formulae is None:
            return Prepared(run, "")
        collapsed = collapse_instances(run, self.formulae)
        note = f"{len(run)} instances, {len(collapsed.columns)} distinct formulae"
        skipped = (
            f", {collapsed.n_skipped} instances without a visual id skipped" if collapsed.n_skipped else ""
        )
        return Prepared(collapsed.columns, note + skipped)
