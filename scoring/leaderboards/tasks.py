"""Registers the job handlers of leaderboards in every worker."""

import scoring.leaderboards.services  # noqa: F401 - registers its handlers
