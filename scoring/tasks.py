"""Importing the handlers of this room's jobs registers them with every worker."""

from scoring import analysis_services, leaderboard_services

__all__ = ["analysis_services", "leaderboard_services"]
