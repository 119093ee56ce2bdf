"""Loads the job handlers of analyses into every worker."""

import scoring.analyses.services  # noqa: F401 - registers its handlers
