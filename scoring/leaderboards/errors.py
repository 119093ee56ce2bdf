"""Refusals about leaderboards."""

from collections.abc import Sequence

from assay.errors import Refused


class LeaderboardRefused(Refused):
    """The leaderboard cannot be scored or released."""

    title = "The leaderboard was not changed"


class ReleaseHindered(LeaderboardRefused):
    """Something speaks against the release, and nobody gave a reason to release nevertheless."""

    title = "The leaderboard was not released"

    def __init__(self, hindrances: Sequence[str]) -> None:
        super().__init__(f"{' '.join(hindrances)} Give a reason to release it nevertheless.")
