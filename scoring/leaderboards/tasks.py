"""Loads the job handlers of leaderboards into every worker."""

import scoring.leaderboards.services  # noqa: F401 - registers its handlers
