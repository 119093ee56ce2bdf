"""Refusals about qrels, leaderboards and analyses."""

from collections.abc import Sequence
from functools import partial

from assay.errors import Refused


class QrelsRefused(Refused):
    title = "No qrels were created"


class LeaderboardRefused(Refused):
    title = "The leaderboard was not changed"


class ReleaseHindered(LeaderboardRefused):
    """A check of the release failed, and nobody gave a reason to release anyway."""

    title = "The leaderboard was not released"

    def __init__(self, hindrances: Sequence[str]) -> None:
        super().__init__(f"{' '.join(hindrances)} Give a reason to release it anyway.")


later_run_refused = partial(Refused, code="later-run-refused", title="The run was not scored")
phase_refused = partial(Refused, code="phase-refused", title="The board of the phase was not changed")
analysis_refused = partial(Refused, code="analysis-refused", title="No analysis was started")
