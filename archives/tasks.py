"""Registers the job handlers of archives in every worker."""

import archives.services  # noqa: F401 - registers its handlers
