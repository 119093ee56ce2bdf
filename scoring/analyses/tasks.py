"""Registers the job handlers of analyses in every worker."""

import scoring.analyses.services  # noqa: F401 - registers its handlers
