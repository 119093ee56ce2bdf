"""Refusals about leaderboards."""

from assay.errors import Refused


class LeaderboardRefused(Refused):
    """The leaderboard cannot be scored or released."""

    title = "The leaderboard was not changed"
