"""The rows of a leaderboard: a run with its means, their intervals and tiers, and the gain over a baseline."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.protocols.run_answers import public_questions
from assay.protocols.schema import RunRules
from assay.statistics.leaderboard import Baselines
from assay.tables import shown
from pooling.models import Run
from scoring.models import Evaluation


class Cell(NamedTuple):
    """A mean with its interval. Runs that share a letter in `tier` do not differ significantly."""

    value: float
    text: str
    is_best: bool
    low: str
    high: str
    tier: str

    @property
    def is_near_best(self) -> bool:
        """Return whether the run is in the first tier: it does not differ significantly from the best run."""
        return self.tier.startswith("a")


class BoardRow(NamedTuple):
    """A run on a leaderboard, under the names that its reader reads. Shares are empty where they were not counted."""

    evaluation: Evaluation
    run: Run
    cells: list[Cell]
    is_own: bool
    may_open: bool
    is_after_release: bool  # submitted when the qrels of the track were known
    is_baseline: bool
    is_automatic_baseline: bool  # not an oracle
    as_kind: str  # the key of the kind that the run is pooled as
    is_of_judge_family: bool  # it declares a model of the family of the machine whose grades score it
    answers: Sequence[tuple[str, str]] = ()  # the columns of answers, with their labels

    @property
    def rules(self) -> RunRules:
        return self.evaluation.leaderboard.track.protocol.parsed.runs

    @property
    def public_answers(self) -> dict[str, Any]:
        """The answers to public questions, by key."""
        return {key: self.run.answers[key] for key in public_questions(self.rules) if key in self.run.answers}

    @property
    def pooled_as(self) -> str:
        """The kind of the run, or the other kind that it is pooled as."""
        name = self.rules.name_of(self.as_kind)
        return name if self.as_kind == self.run.kind else f"pooled as {name}"

    @property
    def judged_at_10(self) -> str:
        return shown_or_empty(self.evaluation.judged_at_10)

    @property
    def unjudged(self) -> str:
        return shown_or_empty(self.evaluation.unjudged)


class Gain(NamedTuple):
    """The best run of a team and the strongest baseline, and how many percent the first is above the second."""

    best: BoardRow
    baseline: BoardRow
    percent: float
    baselines: Baselines
    words: str
    others: list[tuple[Baselines, str]]  # with which the best run can be compared too
    value: str  # of the baseline

    @property
    def size(self) -> float:
        """The percent without its sign."""
        return abs(self.percent)


def number_of(text: str) -> float | None:
    """A number that a row shows; None where it is empty."""
    return float(text) if text else None


def shown_or_empty(value: float | None) -> str:
    return "" if value is None else shown(value)
