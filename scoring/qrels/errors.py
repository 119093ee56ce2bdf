"""What the scoring room refuses, each in a whole sentence."""

from corpus.errors import Refused


class QrelsRefused(Refused):
    """Qrels that cannot be made."""

    title = "No qrels were made"


class LeaderboardRefused(Refused):
    """A leaderboard that cannot be scored or released."""

    title = "The leaderboard was not changed"


class AnalysisRefused(Refused):
    """An analysis that cannot be made."""

    title = "Nothing was analysed"
