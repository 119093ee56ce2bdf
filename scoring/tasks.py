"""Importing the handlers of this room's jobs registers them with every worker."""

from scoring import leaderboard_services

__all__ = ["leaderboard_services"]
