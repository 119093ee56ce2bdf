"""Refusals about qrels, leaderboards and analyses."""

from collections.abc import Sequence

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


class LaterRunRefused(Refused):
    title = "The run was not scored"


class PhaseRefused(Refused):
    title = "The board of the phase was not changed"


class AnalysisRefused(Refused):
    title = "No analysis was started"
