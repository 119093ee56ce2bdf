"""Refusals about leaderboards."""

from assay.errors import Refused


class LeaderboardRefused(Refused):
    """A leaderboard that cannot be scored or released."""

    title = "The leaderboard was not changed"
