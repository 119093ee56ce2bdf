"""Registers the admin pages of this app with Django, which looks for them here."""

from scoring.analyses.admin import AnalysisAdmin
from scoring.evaluations.admin import EvaluationAdmin
from scoring.leaderboards.admin import LeaderboardAdmin
from scoring.qrels.admin import QrelsAdmin

__all__ = ["AnalysisAdmin", "EvaluationAdmin", "LeaderboardAdmin", "QrelsAdmin"]
